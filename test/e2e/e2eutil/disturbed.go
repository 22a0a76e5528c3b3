package e2eutil

// Disturbed is how much a pod with exclusive CPUs was disturbed, as TestLatencyIsolation measures
// it.
type Disturbed struct {
	Isolation     string             // the value of the annotation numalet.dev/isolation; "" without it
	ForeignMillis map[string]float64 // time of an exclusive CPU that others used, in ms per second: "interrupts", "kernel" (threads) and "other" (processes)
	MedianMicros  float64            // wake-up latency: p50, p99.9 and maximum
	P999Micros    float64
	MaxMicros     float64
	Wakeups       int
}
