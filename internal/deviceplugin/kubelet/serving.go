package kubelet

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// maxSocketPath is what sockaddr_un holds, less the closing zero byte: unix(7).
const maxSocketPath = 107

// stopGrace is how long a stopping server waits for calls under way.
const stopGrace = 2 * time.Second

// serving is one resource on a socket, for one life of the kubelet.
type serving struct {
	*plugin
	path    string
	socket  os.FileInfo // as created: a different file there is not ours
	server  *grpc.Server
	stop    chan struct{}
	dropped chan<- *plugin // hears when the kubelet ends a stream
	streams atomic.Int32   // open now
	deaf    int            // ticks in a row without a stream
}

// serve starts answering for p on a socket in dir.
func serve(p *plugin, dir string, dropped chan<- *plugin) (*serving, error) {
	s := &serving{plugin: p, path: filepath.Join(dir, endpoint(p)), server: grpc.NewServer(), stop: make(chan struct{}), dropped: dropped}
	listener, err := listen(s.path)
	if err != nil {
		return nil, err
	}
	if s.socket, err = os.Lstat(s.path); err != nil {
		listener.Close()
		return nil, fmt.Errorf("serve %s: %w", p.resource, err)
	}
	pluginapi.RegisterDevicePluginServer(s.server, s)
	go func() {
		if s.server.Serve(listener) != nil {
			s.drop()
		}
	}()
	return s, nil
}

// endpoint is the name of the socket, which Register tells the kubelet.
func endpoint(p *plugin) string { return "numalet-" + local(p.resource) + ".sock" }

// listen replaces what an earlier process left at path.
func listen(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("listen on %s: the path has %d bytes, a socket's may have %d: mount the kubelet's directory at a shorter path and give it with --kubelet-dir", path, len(path), maxSocketPath)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for the kubelet: %w", err)
	}
	l.SetUnlinkOnClose(false) // by then the path may be another's
	return l, nil
}

// ListAndWatch streams the list until the kubelet leaves or the server stops.
func (s *serving) ListAndWatch(_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	s.streams.Add(1)
	err := s.watch(stream, s.stop)
	s.streams.Add(-1)
	if err != nil {
		s.drop()
	}
	return err
}

func (s *serving) drop() {
	select {
	case s.dropped <- s.plugin:
	case <-s.stop:
	}
}

// heard returns an error when the kubelet has not listened for two ticks: it
// took the registration but never asked for the list.
func (s *serving) heard() error {
	if s.streams.Load() > 0 {
		s.deaf = 0
		return nil
	}
	if s.deaf++; s.deaf < 2 {
		return nil
	}
	return fmt.Errorf("the kubelet does not listen to %s", s.resource)
}

// intact returns why the kubelet can no longer reach the socket, or nil.
func (s *serving) intact() error {
	now, err := os.Lstat(s.path)
	if err != nil {
		return fmt.Errorf("the socket of %s is gone: %w", s.resource, err)
	}
	if !sameFile(now, s.socket) {
		return fmt.Errorf("the socket of %s was replaced: is a second numalet-deviceplugin running on this node?", s.resource)
	}
	return nil
}

// close ends the streams, lets calls under way finish, and removes the socket
// if it is still ours.
func (s *serving) close() {
	close(s.stop)
	hard := time.AfterFunc(stopGrace, s.server.Stop)
	defer hard.Stop()
	s.server.GracefulStop()
	if s.intact() == nil {
		os.Remove(s.path)
	}
}

// sameFile tells a socket from one made anew that got the same inode number.
func sameFile(a, b os.FileInfo) bool { return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) }
