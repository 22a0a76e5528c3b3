package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/numalet/numalet/internal/controller/queueapi"
	"github.com/numalet/numalet/internal/platform/telemetry"
	"github.com/numalet/numalet/pkg/sched/queue"
)

const (
	// waitsLong is after how long a pod's author is told that others come first.
	waitsLong = 10 * time.Second
	// atOnce is how many authors are told so at one time.
	atOnce = 100
)

// newExplainer makes what answers numalet queue and numalet why.
func (c *controller) newExplainer(context.Context) (err error) {
	if c.cfg.QueueAddr == "" {
		return nil
	}
	answers := queueapi.New(queueapi.Source{List: c.queue.List, Explain: c.queue.Explain, Message: c.reporter.LastReport, Leads: c.schedules})
	if c.explains, err = telemetry.Listen(c.cfg.QueueAddr, answers); err != nil {
		return fmt.Errorf("%w: choose another --queue-addr", err)
	}
	return nil
}

// schedules reports whether this process schedules.
func (c *controller) schedules() bool {
	select {
	case <-c.leads:
		return true
	default:
		return false
	}
}

// answer answers those who ask until ctx ends.
func (c *controller) answer(ctx context.Context) error {
	if c.explains == nil {
		return nil
	}
	return c.explains.Run(ctx)
}

// tellWaiting tells authors of pods that have waited long for others, until ctx ends.
// Those whose pods were tried know why no node suits.
func (c *controller) tellWaiting(ctx context.Context) error {
	told := map[string]telling{}
	return every(ctx, waitsLong, func() { told = c.tellOnce(told) })
}

// telling is what was said of a pod, and the reason, which a place in the queue is
// not part of: it changes all the time.
type telling struct{ why, message string }

// tellOnce tells those whose reason is another than was told, and returns what all
// were told.
func (c *controller) tellOnce(told map[string]telling) map[string]telling {
	now, left := map[string]telling{}, atOnce
	if !c.schedules() {
		return now
	}
	for _, e := range c.queue.List() {
		if left == 0 || e.Waited < waitsLong || e.State != queue.Active && e.State != queue.WaitingOnPermit && e.WaitsFor != queue.ForGangPods {
			continue
		}
		before := told[e.UID]
		if said := c.reporter.LastReport(e.UID); said != before.message {
			continue
		}
		now[e.UID] = before
		if why := e.Reason(); why != before.why {
			now[e.UID] = telling{why, e.String()}
			c.reporter.Waits(e.Pod, e.String())
			left--
		}
	}
	return now
}
