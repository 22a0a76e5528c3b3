// Package progress reports the steps of a long job and their durations.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is the interval at which a step that still runs is reported.
const heartbeat = 30 * time.Second

// Reporter reports the numbered steps of a job, which run one at a time.
type Reporter struct {
	Out   io.Writer
	Total int

	done int
}

// Step runs the function given as `do`, which is the next step of the job. At the start it reports
// the step, such as "[2/7] kubectl (about 1 min cold) ...". If the function returns no error, Step
// also reports how long the function took.
func (r *Reporter) Step(title string, do func() error) error {
	r.done++
	prefix := fmt.Sprintf("[%d/%d] %s", r.done, r.Total, title)
	fmt.Fprintf(r.Out, "%s ...\n", prefix)
	start := time.Now()
	stop := r.beat(prefix, start)
	err := do()
	stop()
	if err == nil {
		fmt.Fprintf(r.Out, "%s: %.1f s\n", prefix, time.Since(start).Seconds())
	}
	return err
}

// Skip reports that the next step is not needed, because its result is cached.
func (r *Reporter) Skip(title string) {
	r.done++
	fmt.Fprintf(r.Out, "[%d/%d] %s: cached\n", r.done, r.Total, title)
}

// beat writes a line at each heartbeat. The caller ends this with a call of the returned function.
func (r *Reporter) beat(prefix string, start time.Time) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				fmt.Fprintf(r.Out, "%s: still at it after %.0f s\n", prefix, now.Sub(start).Seconds())
			}
		}
	})
	return func() { close(done); wg.Wait() }
}
