package controller

import (
	"context"
	"time"

	"github.com/numalet/numalet/internal/controller/filters"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/reservation"
)

// tending is how often reservations are updated.
const tending = 250 * time.Millisecond

// newReservations creates the reservations of nodes for blocked pods. They have their own
// filters.
func (c *controller) newReservations(ctx context.Context) error {
	if c.cfg.ReserveAfter == 0 {
		return nil
	}
	own, err := filters.NewPlanner(ctx, c.filters.cluster, c.filters.api)
	if err != nil {
		return err
	}
	c.reservations = reservation.New(c.state, c.queue.Queue, reservation.Options{
		Wait: time.Duration(c.cfg.ReserveAfter),
		Ends: func(uid string) (end time.Time) {
			if a := c.state.Assignment(uid); a != nil {
				end = a.Ends
			}
			return end
		},
		Fits: func(pod *sched.Pod, planned []sched.Decision) func(*sched.Node) bool {
			own.Plan(planned)
			_, nowhere := own.Begin(pod)
			return func(node *sched.Node) bool { return !nowhere.Refuses() && !own.Check(node).Refuses() }
		},
	})
	return nil
}

// tendReservations updates the reservations until ctx ends, while this process schedules.
func (c *controller) tendReservations(ctx context.Context) error {
	if c.reservations == nil {
		return nil
	}
	return every(ctx, tending, func() {
		if c.schedules() {
			c.reservations.Tend(time.Now())
		}
	})
}
