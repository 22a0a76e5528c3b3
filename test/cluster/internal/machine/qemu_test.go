package machine

import (
	"strings"
	"testing"
)

// TestListenersAreLocal checks that QEMU forwards only ports on the host's loopback, so that no
// other computer can connect to the virtual machines.
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
	for name, want := range map[string][][]int{
		"a NUMA node is a socket":      {{10, 20}, {20, 10}},
		"a NUMA node is half a socket": {{10, 12, 20, 20}, {12, 10, 20, 20}, {20, 20, 10, 12}, {20, 20, 12, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			for a := range want {
				for b := range want {
					if got := distance(len(want)/sockets, a, b); got != want[a][b] {
						t.Errorf("distance from %d to %d is %d, want %d", a, b, got, want[a][b])
					}
				}
			}
		})
	}
}

func TestNUMAArgs(t *testing.T) {
	const want = "-object memory-backend-ram,id=mem0,size=3072M -numa node,nodeid=0,cpus=0-7,memdev=mem0 " +
		"-object memory-backend-ram,id=mem1,size=3072M -numa node,nodeid=1,cpus=8-15,memdev=mem1 " +
		"-numa dist,src=0,dst=0,val=10 -numa dist,src=0,dst=1,val=20 -numa dist,src=1,dst=0,val=20 -numa dist,src=1,dst=1,val=10"
	if got := strings.Join(numaArgs(2), " "); got != want {
		t.Errorf("two NUMA nodes are laid out as\n%s, want\n%s", got, want)
	}
}
