package gpu

// State says whether a GPU can be given away.
type State uint8

// The states. The zero value means that nobody watches the GPU.
const (
	UnknownState State = iota
	Healthy
	Unhealthy
)

// String returns "Unknown", "Healthy" or "Unhealthy", as NodeTopology has it.
func (s State) String() string {
	switch s {
	case Healthy:
		return "Healthy"
	case Unhealthy:
		return "Unhealthy"
	}
	return "Unknown"
}

// Health is the state of a card or slice. Package health finds it out.
type Health struct {
	State  State
	Reason string // what is wrong and how it gets well again; empty when healthy
}

// worse returns the worse of two: unhealthy, then unknown, then healthy. Of
// equals it is a.
func worse(a, b Health) Health {
	badness := [...]int{Healthy: 0, UnknownState: 1, Unhealthy: 2}
	if badness[b.State] > badness[a.State] {
		return b
	}
	return a
}
