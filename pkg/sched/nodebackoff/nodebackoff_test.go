package nodebackoff_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodebackoff"
)

// TestBackoff checks that the back-off of an owner from a node doubles with each rejection, and
// that other owners and nodes are not affected. It also checks that the back-off begins with
// Backoff.First again if there was no rejection for the time Backoff.Most.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var over []string
		env := nodebackoff.Env{
			After: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
			Over:  func(node string) { over = append(over, fmt.Sprintf("%s after %s", node, time.Since(start))) },
		}
		l := nodebackoff.New(env, sched.Backoff{First: 10 * time.Second, Most: 60 * time.Second})
		check := func(at time.Duration, avoids bool) {
			t.Helper()
			time.Sleep(at - time.Since(start))
			synctest.Wait()
			if got := l.Avoids("job", "n1"); got != avoids {
				t.Errorf("after %s: avoids %v, want %v", at, got, avoids)
			}
		}
		check(0, false)
		l.Refused("job", "n1")
		check(9*time.Second, true)
		if l.Avoids("job", "n2") || l.Avoids("other", "n1") {
			t.Error("another node, or another's pods, are avoided too")
		}
		check(10*time.Second, false)
		l.Refused("job", "n1") // at 10 s: the node is avoided until 30 s
		check(29*time.Second, true)
		l.Refused("job", "n1") // at 29 s: the node is avoided until 69 s
		check(30*time.Second, true)
		check(69*time.Second, false)
		l.Refused("job", "n1") // at 69 s: the node is avoided until 129 s, because the back-off is never longer than Most
		check(128*time.Second, true)
		check(129*time.Second, false)
		time.Sleep(61 * time.Second)
		l.Refused("job", "n1") // at 190 s: the node is avoided until 200 s, because the earlier rejections were forgotten at 189 s
		check(199*time.Second, true)
		check(200*time.Second, false)
		want := []string{"n1 after 10s", "n1 after 1m9s", "n1 after 2m9s", "n1 after 3m20s"}
		if diff := cmp.Diff(want, over); diff != "" {
			t.Errorf("Over calls (-want +got):\n%s", diff)
		}
	})
}
