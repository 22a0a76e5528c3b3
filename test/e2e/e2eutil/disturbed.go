package e2eutil

// Disturbed is how much a pod with exclusive CPUs was disturbed, as TestLatencyIsolation measures
// it.
type Disturbed struct {
	Isolation     string             // the value of the annotation numalet.dev/isolation; "" without it
	ForeignMillis map[string]float64 // time of an exclusive CPU that others used, in ms per second: "interrupts", "kernel" (threads) and "other" (processes)
	MedianMicros  float64            // p50 of the wake-up latency
	P999Micros    float64            // p99.9 of the wake-up latency
	MaxMicros     float64            // maximum of the wake-up latency
	Wakeups       int
}
