package controller

import (
	"context"
	"time"

	"github.com/numalet/numalet/internal/controller/filters"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/reservation"
)

// tending is how often it is looked after what is held back for blocked pods.
const tending = 250 * time.Millisecond

// newKeeper makes what holds nodes back for blocked pods, with filters of its own.
func (c *controller) newKeeper(ctx context.Context) error {
	if c.cfg.ReserveAfter == 0 {
		return nil
	}
	own, err := filters.NewPlanner(ctx, c.filters.cluster, filters.API{Client: c.clients.watch, Informers: c.factory})
	if err != nil {
		return err
	}
	c.keeper = reservation.New(c.center, c.queue.Queue, reservation.Options{
		Wait: time.Duration(c.cfg.ReserveAfter),
		Ends: func(uid string) (end time.Time) {
			if a := c.center.Assignment(uid); a != nil {
				end = a.Ends
			}
			return end
		},
		Suits: func(pod *sched.Pod, planned []sched.Decision) func(*sched.Node) bool {
			own.Plan(planned)
			_, nowhere := own.Begin(pod)
			return func(node *sched.Node) bool { return !nowhere.Refuses() && !own.Check(node).Refuses() }
		},
	})
	return nil
}

// keep looks after what is held back until ctx ends, while this process schedules.
func (c *controller) keep(ctx context.Context) error {
	if c.keeper == nil {
		return nil
	}
	return every(ctx, tending, func() {
		if c.schedules() {
			c.keeper.Tend(time.Now())
		}
	})
}
