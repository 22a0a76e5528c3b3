package controller

import (
	"context"
	"time"

	"github.com/numalet/numalet/internal/controller/filters"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/reservation"
)

// tending is the interval at which reservations are updated. A reservation keeps resources of a
// node free for a pod that has waited long, so that smaller pods do not take them first.
const tending = 250 * time.Millisecond

// newReservations creates the component that reserves nodes for pods that have waited long. It
// creates none if reservations are switched off (ReserveAfter is 0). The component has its own
// instance of the filters. For a gang, the component plans a node for one pod after another. When
// the filters check a node for the next pod, they treat the planned pods as if they were already on
// the nodes planned for them.
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
		Held: c.chargeReservation,
		Fits: func(pod *sched.Pod, planned []sched.Decision) func(*sched.Node) bool {
			own.Plan(planned)
			_, nowhere := own.Begin(pod)
			return func(node *sched.Node) bool { return !nowhere.Refuses() && !own.Check(node).Refuses() }
		},
	})
	return nil
}

// chargeReservation charges the tenant of a pod for the resources that are reserved for the pod, as
// if the pod were running. If the list `holds` is empty, nothing is reserved for the pod any more,
// and the charge ends.
func (c *controller) chargeReservation(pod *sched.Pod, holds []fairshare.Charge) {
	task := fairshare.Task{UID: "reservation " + pod.Claim(), Tenant: pod.Tenant, Holds: holds}
	if len(holds) == 0 {
		c.ledger.Forget(task.UID)
		return
	}
	c.ledger.Start(task)
}

// tendReservations updates the reservations of nodes at intervals while this process leads,
// until ctx is done.
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
