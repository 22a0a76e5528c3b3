package machine

import (
	"strings"
	"testing"
)

// The rig promises that nothing it starts listens beyond this machine.
func TestListenersAreLocal(t *testing.T) {
	for _, f := range Flavours() {
		args := strings.Join(Boot{Flavour: f}.Args(), " ")
		for rest := args; ; {
			_, after, found := strings.Cut(rest, "hostfwd=tcp:")
			if !found {
				break
			}
			if !strings.HasPrefix(after, "127.0.0.1:") {
				t.Errorf("%s: a port is forwarded from elsewhere than loopback: %.40s", f.Name, after)
			}
			rest = after
		}
	}
}

func TestDistance(t *testing.T) {
	want := [numaNodes][numaNodes]int{
		{10, 12, 20, 20},
		{12, 10, 20, 20},
		{20, 20, 10, 12},
		{20, 20, 12, 10},
	}
	for a := range numaNodes {
		for b := range numaNodes {
			if got := distance(a, b); got != want[a][b] {
				t.Errorf("distance(%d, %d) = %d, want %d", a, b, got, want[a][b])
			}
		}
	}
}
