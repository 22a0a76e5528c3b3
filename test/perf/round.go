package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

// round starts one contender, lets it bind the backlog of one load, and measures the contender's
// rate, CPU time and memory. Then it creates more pods one by one, and measures how long they wait.
func (f *field) round(ctx context.Context, c contender, l load) (r result, err error) {
	r.contender, r.load = c.name, l
	if err := f.fill(ctx, l.fill); err != nil {
		return r, err
	}
	if err := f.settle(ctx, c, l); err != nil {
		return r, err
	}
	s, err := c.start(ctx, f, l)
	if err != nil {
		return r, err
	}
	defer func() { _ = s.process.Stop(10 * time.Second) }()
	// 1. The contender fills its caches.
	if err := awaitIdle(ctx, s.process); err != nil {
		return r, err
	}
	before, err := s.process.Usage()
	if err != nil {
		return r, err
	}
	profiled := f.profile(ctx, s, l)
	// 2. The backlog is created, and the contender reads it.
	binds, err := f.plane.CountBinds(ctx, namespace)
	if err != nil {
		return r, err
	}
	defer binds.Stop()
	if err := f.make(ctx, l, c.scheduler); err != nil {
		return r, err
	}
	if err := awaitIdle(ctx, s.process); err != nil {
		return r, err
	}
	// 3. The contender begins, and binds all pods, or as many as it can within the limit.
	began, err := s.fire(ctx)
	if err != nil {
		return r, err
	}
	if r.stopped, err = f.await(ctx, binds, f.Pods, f.Limit); err != nil {
		return r, err
	}
	r.fillRate(began, time.Now(), binds.At())
	// 4. The contender writes the events of the backlog, and then becomes idle. If there are pods
	//    that fit no node, the program does not wait until the contender is idle: a scheduler
	//    retries these pods and may never be idle. This step is left out if the time limit has
	//    passed before all pods were bound.
	if !r.stopped {
		var events int
		var last time.Time
		events, last, err = f.countEvents(ctx, c)
		r.fillTold(began, last, events)
		if err == nil && l.waiting == 0 {
			err = awaitIdle(ctx, s.process)
		}
	}
	if err != nil {
		return r, err
	}
	after, err := s.process.Usage()
	if err != nil {
		return r, err
	}
	r.fillUsage(before, after)
	// 5. More pods are created one by one.
	if c.scheduler != "" && !r.stopped {
		if r.steady, err = f.steady(ctx, c, l, binds); err != nil {
			return r, err
		}
	}
	say("%s", r)
	return r, errors.Join(profiled(), f.clear(ctx, s))
}

// profile starts profiles if -profile is set, and returns a function that waits until they are
// written.
func (f *field) profile(ctx context.Context, s started, l load) func() error {
	if f.Profile == "" || s.profile == nil {
		return func() error { return nil }
	}
	over := make(chan error, 1)
	go func() { over <- s.profile(ctx, filepath.Join(f.Profile, l.name)) }()
	return func() error { return <-over }
}

// clear stops the contender, and then deletes the pods and events of the round. In this order, the
// contender does not have to handle the deletions.
func (f *field) clear(ctx context.Context, s started) error {
	if err := s.process.Stop(10 * time.Second); err != nil {
		return err
	}
	if f.Waiting > 0 {
		if err := f.plane.Clear(ctx, waitingNamespace); err != nil {
			return err
		}
	}
	return f.plane.Clear(ctx, namespace)
}
