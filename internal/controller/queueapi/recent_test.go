package queueapi

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/numalet/numalet/pkg/sched/queue"
)

// TestRecent checks how often the queue is listed for many requests.
func TestRecent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		r := &recent{list: func() []queue.Explanation {
			lists++
			runtime.Gosched() // so that others ask meanwhile
			return make([]queue.Explanation, lists)
		}}
		ask := func(want int) {
			var asking sync.WaitGroup
			for range 100 {
				asking.Go(func() {
					if got := len(r.get()); got != want {
						t.Errorf("list %d, want list %d", got, want)
					}
				})
			}
			asking.Wait()
		}
		ask(1)
		time.Sleep(shareFor / 2)
		ask(1)
		time.Sleep(shareFor / 2)
		ask(2)
	})
}
