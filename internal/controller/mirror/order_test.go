package mirror

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// life is a sequence of script commands (see TestScenarios) for one object. The last command sets
// the object's final state.
type life []string

func lives() []life {
	var all []life
	for i := range 3 {
		n := fmt.Sprintf("n%d", i)
		all = append(all,
			life{"node " + n + " cpu=4", "gone node " + n, "node " + n + " cpu=16 gpus=4 parts=gpu.shared:16"},
			life{"topology " + n + " numa=0:0-7,1:8-15 ready=false", "topology " + n + " numa=0:0-7,1:8-15 holds=uid-c" + n + ":8-9" +
				" gpus=T4,T4,T4,T4 gpu-holders=uid-e" + n + ":1,uid-f" + n + ":0,lost:2,uid-g" + n + ":3::1,uid-h" + n + ":3::2"})
		for _, pod := range []life{
			{"pod a%s cpu=3 policy=random", "pod a%s cpu=3 policy=random node=%s placement=0:2,1:1"},
			{"pod b%s cpu=2 policy=single node=%s placement=1:2", "pod b%s cpu=2 policy=single node=%s placement=1:2 phase=Failed"},
			{"pod c%s cpu=2 policy=single scheduler=other", "pod c%s cpu=2 policy=single scheduler=other node=%s"},
			{"pod d%s cpu=1 node=%s", "gone pod d%s cpu=1 node=%s"},
			{"pod e%s cpu=1 gpus=1 scheduler=other", "pod e%s cpu=1 gpus=1 scheduler=other node=%s"},
			{"pod f%s cpu=1 gpus=1 node=%s gpu-placement=0", "pod f%s cpu=1 gpus=1 node=%s gpu-placement=0 phase=Failed"},
			{"pod g%s cpu=1 parts=gpu.shared:1 node=%s", "pod g%s cpu=1 parts=gpu.shared:1 node=%s phase=Failed"},
			{"pod h%s cpu=1 parts=gpu.shared:1", "pod h%s cpu=1 parts=gpu.shared:1 node=%s"},
		} {
			var events life
			for _, command := range pod {
				events = append(events, strings.ReplaceAll(command, "%s", n))
			}
			all = append(all, events)
		}
	}
	return all
}

// TestFreshMirrorComesToTheSame checks that a mirror that sees only the final versions of objects
// gets the same state as a mirror that has seen all their changes. The new mirror sees the final
// versions in another order, and some of them twice.
func TestFreshMirrorComesToTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 60 {
		old, fresh := newScene(t), newScene(t)
		all := lives()
		for len(all) > 0 {
			i := r.IntN(len(all))
			old.commands().Play(t, old.said, all[i][0])
			if all[i] = all[i][1:]; len(all[i]) == 0 {
				all = append(all[:i], all[i+1:]...)
			}
		}
		last := lives()
		last = append(last, last[:r.IntN(len(last))]...)
		r.Shuffle(len(last), func(i, j int) { last[i], last[j] = last[j], last[i] })
		for _, life := range last {
			fresh.commands().Play(t, fresh.said, life[len(life)-1])
		}
		if diff := cmp.Diff(old.show(), fresh.show()); diff != "" {
			t.Fatalf("books (-old +fresh):\n%s", diff)
		}
	}
}
