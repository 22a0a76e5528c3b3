package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
)

var (
	errStarting  = errors.New("not yet registered with the kubelet")
	errRestarted = errors.New("the kubelet restarted")
)

// session is what is served to one life of the kubelet.
type session struct {
	kubelet  os.FileInfo // its socket, as it was before registering
	servings []*serving
	dropped  chan *plugin
	conflict bool // another plugin serves one of the resources
}

// attend serves one life of the kubelet, or less. It returns why it ended.
func (p *Publisher) attend(ctx context.Context, hints <-chan struct{}) error {
	// 1. Nobody else serves the same sockets.
	held, err := lock(p.dir)
	if err != nil {
		return err
	}
	defer held.Close()
	// 2. What is there to publish?
	if p.refresh(ctx); p.unread != nil {
		return p.unread
	}
	// 3. Serve first: the kubelet calls back before Register returns.
	s := &session{dropped: make(chan *plugin)}
	defer s.close()
	if err := p.serveAll(s); err != nil {
		return err
	}
	// 4. Which kubelet is it? Asked late, for one that starts meanwhile will do.
	if s.kubelet, err = os.Lstat(p.registry); err != nil {
		return fmt.Errorf("the kubelet is away: %w", err)
	}
	// 5. Register.
	if err := p.registerAll(ctx, s); err != nil {
		return err
	}
	// 6. Keep the kubelet up to date.
	return p.hold(ctx, s, hints)
}

func (p *Publisher) serveAll(s *session) error {
	for _, plugin := range p.sorted() {
		one, err := serve(plugin, p.dir, s.dropped)
		if err != nil {
			return err
		}
		s.servings = append(s.servings, one)
	}
	return nil
}

func (p *Publisher) registerAll(ctx context.Context, s *session) error {
	if err := p.conflict(); err != nil {
		p.Log.Info("taking over", "reason", err.Error())
	}
	for _, one := range s.servings {
		if err := register(ctx, p.registry, one.plugin); err != nil {
			return err
		}
		p.metrics.registrations.WithLabelValues(one.resource).Inc()
		p.Log.V(2).Info("registered", "resource", one.resource, "socket", one.path)
	}
	if p.dropper != nil && sameFile(p.dropper, s.kubelet) {
		p.Log.Info("registered again with a kubelet that had ended a stream without restarting: does another device plugin register the same resource?")
	}
	p.dropper = nil
	return nil
}

// hold refreshes what is published until the session must end.
func (p *Publisher) hold(ctx context.Context, s *session, hints <-chan struct{}) error {
	p.setProblem(nil)
	for {
		if err := p.intact(s); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-hints:
		case <-p.news:
			if err := p.update(ctx, s); err != nil {
				return err
			}
		case gone := <-s.dropped:
			p.dropper = s.kubelet
			p.metrics.drops.WithLabelValues(gone.resource).Inc()
			return fmt.Errorf("the kubelet ended the stream of %s", gone.resource)
		case <-p.Tick:
			p.settled = true
			if err := p.tick(ctx, s); err != nil {
				return err
			}
		}
	}
}

// update publishes what changed. Its error ends the session: there is something
// to register.
func (p *Publisher) update(ctx context.Context, s *session) error {
	p.refresh(ctx)
	if len(p.plugins) > len(s.servings) {
		return errors.New("there is a resource that was not there before")
	}
	return nil
}

// tick is update, and looks whether the kubelet listens to this plugin. Its error
// ends the session.
func (p *Publisher) tick(ctx context.Context, s *session) error {
	if err := p.update(ctx, s); err != nil {
		return err
	}
	for _, one := range s.servings {
		if err := one.heard(); err != nil {
			return err
		}
	}
	conflict := p.conflict()
	if conflict == nil && s.conflict {
		return errors.New("the other device plugin is gone")
	}
	s.conflict = conflict != nil
	p.setProblem(errors.Join(p.unread, conflict))
	return nil
}

// intact returns why the kubelet and the publisher have lost each other.
func (p *Publisher) intact(s *session) error {
	now, err := os.Lstat(p.registry)
	if err != nil {
		return fmt.Errorf("the kubelet is away: %w", err)
	}
	if !sameFile(now, s.kubelet) {
		return errRestarted
	}
	for _, one := range s.servings {
		if err := one.intact(); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) close() {
	for _, one := range s.servings {
		one.close()
	}
}
