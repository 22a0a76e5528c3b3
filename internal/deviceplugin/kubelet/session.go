package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

var (
	errStarting  = errors.New("not yet registered with the kubelet")
	errRestarted = errors.New("the kubelet restarted")
)

// session is the time from one registration of all resources until the resources must be
// registered again, for example because the kubelet restarted.
type session struct {
	kubelet  os.FileInfo // the kubelet's socket before the registration
	servers  []*server
	dropped  chan *plugin
	conflict bool // another plugin serves one of the resources
}

// runSession runs one session and returns why it ended.
func (p *Publisher) runSession(ctx context.Context, hints <-chan struct{}) error {
	// 1. Make sure that no other process serves the same sockets.
	held, err := lock(p.dir)
	if err != nil {
		return err
	}
	defer held.Close()
	// 2. List the devices.
	if p.refresh(ctx); p.listError != nil {
		return p.listError
	}
	// 3. Serve the sockets before registering, because the kubelet connects to them before
	//    Register returns.
	s := &session{dropped: make(chan *plugin)}
	defer s.close()
	servers, err := p.serveNew(s)
	if err != nil {
		return err
	}
	// 4. Remember the kubelet's socket. If the path has another socket later, the kubelet
	//    has restarted. A restart before this step does no harm, because the plugins
	//    register only in the next step.
	if s.kubelet, err = os.Lstat(p.registry); err != nil {
		return fmt.Errorf("the kubelet is not running: %w", err)
	}
	// 5. Register.
	if err := p.registerAll(ctx, s, servers); err != nil {
		return err
	}
	// 6. Publish changes.
	return p.follow(ctx, s, hints)
}

// serveNew starts and returns servers for the plugins that have no server in this session yet.
func (p *Publisher) serveNew(s *session) ([]*server, error) {
	before := len(s.servers)
	for _, plugin := range p.sorted() {
		if slices.ContainsFunc(s.servers[:before], func(one *server) bool { return one.plugin == plugin }) {
			continue
		}
		one, err := serve(plugin, p.dir, s.dropped, p.panicked)
		if err != nil {
			return nil, err
		}
		s.servers = append(s.servers, one)
	}
	return s.servers[before:], nil
}

// registerAll registers the resources of the given servers, which belong to the session s.
func (p *Publisher) registerAll(ctx context.Context, s *session, servers []*server) error {
	if err := p.conflict(); err != nil {
		p.Log.Info("replacing the registration of another device plugin", "reason", err.Error())
	}
	for _, one := range servers {
		if err := register(ctx, p.registry, one.plugin); err != nil {
			return err
		}
		p.metrics.registrations.WithLabelValues(one.resource).Inc()
		p.Log.V(2).Info("registered", "resource", one.resource, "socket", one.path)
	}
	if p.droppedBy != nil && sameFile(p.droppedBy, s.kubelet) {
		p.Log.Info("registered again with a kubelet that ended a stream without a restart; check whether another device plugin registers the same resource")
	}
	p.droppedBy = nil
	return nil
}

// follow publishes changes of the devices until the session must end.
func (p *Publisher) follow(ctx context.Context, s *session, hints <-chan struct{}) error {
	p.setNotReady(nil)
	for {
		if err := p.checkSession(s); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-hints:
		case <-p.changed:
			if err := p.update(ctx, s); err != nil {
				return err
			}
		case one := <-s.dropped:
			p.droppedBy = s.kubelet
			p.metrics.drops.WithLabelValues(one.resource).Inc()
			return fmt.Errorf("the kubelet ended the stream of %s", one.resource)
		case <-p.Tick:
			p.stable = true
			if err := p.tick(ctx, s); err != nil {
				return err
			}
		}
	}
}

// update lists the devices again and publishes changes. It registers new resources, and leaves the
// streams of the other resources open. After a stream has ended, the kubelet counts all devices of
// the resource as unhealthy until the resource is registered again. During that time, it rejects
// pods that request them.
func (p *Publisher) update(ctx context.Context, s *session) error {
	p.refresh(ctx)
	servers, err := p.serveNew(s)
	if err != nil || len(servers) == 0 {
		return err
	}
	return p.registerAll(ctx, s, servers)
}

// tick calls the method `update`, and checks that the kubelet watches the devices of each resource,
// and that it can allocate them. An error ends the session.
func (p *Publisher) tick(ctx context.Context, s *session) error {
	if err := p.update(ctx, s); err != nil {
		return err
	}
	for _, one := range s.servers {
		if err := one.checkStream(); err != nil {
			return err
		}
		if !p.answered {
			continue
		}
		if err := one.checkListed(len(p.allocations.healthy[one.resource]) > 0); err != nil {
			return err
		}
	}
	conflict := p.conflict()
	if conflict == nil && s.conflict {
		return errors.New("the other device plugin no longer serves the resource; registering again")
	}
	s.conflict = conflict != nil
	p.setNotReady(errors.Join(p.listError, conflict))
	return nil
}

// checkSession returns why the connection to the kubelet is lost, or nil.
func (p *Publisher) checkSession(s *session) error {
	now, err := os.Lstat(p.registry)
	if err != nil {
		return fmt.Errorf("the kubelet is not running: %w", err)
	}
	if !sameFile(now, s.kubelet) {
		return errRestarted
	}
	for _, one := range s.servers {
		if err := one.checkSocket(); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) close() {
	for _, one := range s.servers {
		one.close()
	}
}

// registerTimeout is the timeout of a Register call. During the call, the kubelet
// connects to the plugin with a timeout of 10 s.
const registerTimeout = 15 * time.Second

// register registers p with the kubelet at this socket. The kubelet connects to p
// before it answers, so p must be served already.
func register(ctx context.Context, socket string, p *plugin) error {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	conn, err := dial(socket)
	if err != nil {
		return fmt.Errorf("register %s: %w", p.resource, err)
	}
	defer conn.Close()
	_, err = pluginapi.NewRegistrationClient(conn).Register(ctx, &pluginapi.RegisterRequest{
		Version:      pluginapi.Version,
		Endpoint:     endpoint(p),
		ResourceName: p.resource,
		Options:      p.options(),
	})
	if err != nil {
		return fmt.Errorf("register %s with the kubelet at %s: %w", p.resource, socket, err)
	}
	return nil
}

// dial returns a client of a socket of the kubelet. It connects at the first call.
func dial(socket string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix:"+socket, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
}

// lock makes sure that only one numalet-deviceplugin runs on the node, until the
// returned file is closed or the process ends. It locks the directory of sockets and
// not a file in it, so that no lock file is left behind.
func lock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the kubelet's device plugin directory: %w; check that the kubelet is running and that --kubelet-dir is its root directory", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("another numalet-deviceplugin serves this node and holds the lock on %s; stop one of them", dir)
	}
	return nil, fmt.Errorf("lock %s: %w", dir, err)
}
