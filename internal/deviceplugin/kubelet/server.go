package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// maxSocketPath is the largest length of a socket's path in bytes: the size of sun_path without the
// final zero byte. See unix(7).
const maxSocketPath = 107

// stopTimeout is how long a stopping server waits for calls in progress.
const stopTimeout = 2 * time.Second

// server serves one plugin on a socket, during one session of the Publisher.
type server struct {
	*plugin
	path    string
	socket  os.FileInfo // the file of the socket when it was created; if `path` later names another file, another process has replaced the socket
	grpc    *grpc.Server
	stop    chan struct{}
	dropped chan<- *plugin // receives the plugin when the kubelet ends a stream, or when the server fails
	streams atomic.Int32   // number of open streams of ListAndWatch
	unheard int            // number of ticks (Options.Tick) in a row at which no stream was open, so that the kubelet could not receive changes

	listed   bool // whether the kubelet has listed healthy devices of the resource at a tick
	unlisted int  // number of ticks in a row at which it listed none, although the plugin has some
}

// serve starts a server for p on a socket in dir.
func serve(p *plugin, dir string, dropped chan<- *plugin, panicked func(call string, cause any)) (*server, error) {
	s := &server{plugin: p, path: filepath.Join(dir, endpoint(p)), grpc: grpc.NewServer(grpc.UnaryInterceptor(contain(panicked))), stop: make(chan struct{}), dropped: dropped}
	listener, err := listen(s.path)
	if err != nil {
		return nil, err
	}
	if s.socket, err = os.Lstat(s.path); err != nil {
		listener.Close()
		return nil, fmt.Errorf("serve %s: %w", p.resource, err)
	}
	pluginapi.RegisterDevicePluginServer(s.grpc, s)
	go func() {
		if s.grpc.Serve(listener) != nil {
			s.drop()
		}
	}()
	return s, nil
}

// contain makes a call from the kubelet fail if its handler panics. Without this function, the
// panic would end the process. After the restart of the process, the kubelet would repeat the call,
// and the handler would panic again.
func contain(panicked func(call string, cause any)) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (_ any, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				panicked(info.FullMethod, cause)
				err = status.Errorf(codes.Internal, "%s panicked: %v; please report this with the log of numalet-deviceplugin, which has the stack", info.FullMethod, cause)
			}
		}()
		return handle(ctx, request)
	}
}

// endpoint returns the file name of the plugin's socket. The function `register` passes it to the
// kubelet.
func endpoint(p *plugin) string { return "numalet-" + baseName(p.resource) + ".sock" }

// listen listens on a new socket at the given path. If an earlier process left a socket there, it is
// replaced.
func listen(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("listen on %s: the path has %d bytes, but a socket path can have at most %d; mount the kubelet's directory at a shorter path and set --kubelet-dir to it", path, len(path), maxSocketPath)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for the kubelet: %w", err)
	}
	l.SetUnlinkOnClose(false) // server.close removes the socket, unless another process has replaced it by then
	return l, nil
}

// ListAndWatch streams the list of devices until the kubelet ends the stream or the server stops.
func (s *server) ListAndWatch(_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	s.streams.Add(1)
	err := s.watch(stream, s.stop)
	s.streams.Add(-1)
	if err != nil {
		s.drop()
	}
	return err
}

func (s *server) drop() {
	select {
	case s.dropped <- s.plugin:
	case <-s.stop:
	}
}

// checkStream returns an error if there was no open stream of ListAndWatch at two ticks in a row.
// In that case, the kubelet accepted the registration but does not watch the devices.
func (s *server) checkStream() error {
	if s.streams.Load() > 0 {
		s.unheard = 0
		return nil
	}
	if s.unheard++; s.unheard < 2 {
		return nil
	}
	return fmt.Errorf("the kubelet does not watch %s; registering again", s.resource)
}

// checkListed returns an error if the kubelet no longer lists any healthy device of the resource at
// two ticks in a row, although it did before and the plugin has healthy devices. This happens if
// another plugin has registered the same devices and has ended since: the kubelet then counts all of
// them as unhealthy, and keeps the stream to this server open. The parameter `listed` says whether
// the kubelet lists a healthy device now.
// Source: PluginDisconnected in
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/devicemanager/manager.go
func (s *server) checkListed(listed bool) error {
	switch {
	case listed:
		s.listed, s.unlisted = true, 0
	case s.listed && s.hasHealthy():
		s.unlisted++
	default:
		s.unlisted = 0
	}
	if s.unlisted < 2 {
		return nil
	}
	return fmt.Errorf("the kubelet counts all devices of %s as unhealthy; registering again; check whether another device plugin has registered the same devices", s.resource)
}

// checkSocket returns an error if the socket was removed or replaced, so that the kubelet can no
// longer reach this server.
func (s *server) checkSocket() error {
	now, err := os.Lstat(s.path)
	if err != nil {
		return fmt.Errorf("the socket of %s was removed: %w", s.resource, err)
	}
	if !sameFile(now, s.socket) {
		return fmt.Errorf("the socket of %s was replaced; check whether a second numalet-deviceplugin runs on this node", s.resource)
	}
	return nil
}

// close ends the streams, lets calls in progress finish for at most stopTimeout, and removes the
// socket unless another process has replaced it.
func (s *server) close() {
	close(s.stop)
	hard := time.AfterFunc(stopTimeout, s.grpc.Stop)
	defer hard.Stop()
	s.grpc.GracefulStop()
	if s.checkSocket() == nil {
		os.Remove(s.path)
	}
}

// sameFile reports whether two sockets are the same. A new socket can get the inode number of a
// removed one, so sameFile also compares the modification times.
func sameFile(a, b os.FileInfo) bool { return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) }
