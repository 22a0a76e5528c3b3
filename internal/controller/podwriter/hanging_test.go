package podwriter

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	clienttesting "k8s.io/client-go/testing"

	"github.com/numalet/numalet/pkg/sched"
)

// hang makes the patches of conditions in the namespace "slow" take an hour of simulated time, as if
// a webhook for this namespace did not answer. It returns the number of these patches so far.
func (w *world) hang() *atomic.Int32 {
	began := &atomic.Int32{}
	w.Reporter.client = slowClient{w.client, func(namespace string) time.Duration {
		if namespace != "slow" {
			return 0
		}
		began.Add(1)
		return time.Hour
	}}
	return began
}

func podIn(namespace, name string) *sched.Pod {
	p := pod(name)
	p.Namespace = namespace
	return p
}

// conditions returns the names of the pods of a namespace whose conditions were patched.
func (w *world) conditions(namespace string) (all []string) {
	for _, action := range w.client.Actions() {
		if action.GetVerb() == "patch" && action.GetNamespace() == namespace {
			all = append(all, action.(clienttesting.PatchAction).GetName())
		}
	}
	slices.Sort(all)
	return all
}

// TestHangingPatches checks that the conditions of other pods are written while the patches of one
// namespace hang, however many pods this namespace has.
func TestHangingPatches(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		began := w.hang()
		for i := range 100 {
			w.Waits(podIn("slow", fmt.Sprint("slow-", i)), "it waits for its turn")
		}
		w.Waits(pod("a"), "it waits for its turn")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a"}, w.conditions("default")); diff != "" {
			t.Errorf("conditions written in the other namespace (-want +got):\n%s", diff)
		}
		if n := began.Load(); n > 2*conditionWriters { // more than conditionWriters patches begin, because the first conditionWriters patches do not all count as hanging from the same moment on
			t.Errorf("%d patches of the namespace hang, want at most %d", n, 2*conditionWriters)
		}
		time.Sleep(100 * time.Hour)
		synctest.Wait()
		if n := len(w.conditions("slow")); n != 100 {
			t.Errorf("%d of 100 conditions are written after the patches have ended", n)
		}
	})
}

// TestHangingPatchOfOnePod checks a pod whose patch hangs, and which gets a second message in the
// meantime. The conditions of other pods must be written while the patch hangs. The second message
// must be written after the patch has ended.
func TestHangingPatchOfOnePod(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.hang()
		w.Waits(podIn("slow", "s"), "first")
		synctest.Wait()
		w.Waits(podIn("slow", "s"), "second")
		w.Waits(pod("a"), "it waits for its turn")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a"}, w.conditions("default")); diff != "" {
			t.Errorf("conditions written of the other pod (-want +got):\n%s", diff)
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		written := strings.Join(w.written(), "\n")
		if !strings.Contains(written, "status of s: second") {
			t.Errorf("the second message is not written:\n%s", written)
		}
	})
}
