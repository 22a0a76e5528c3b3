package nri

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy passes data between the plugin and the container runtime, so that a test can close their
// connections. A test cannot do this by ending the runtime, because the runtime is part of the
// test's process and would leave its connections open.
type proxy struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
}

func newProxy(t *testing.T, from, to string) *proxy {
	t.Helper()
	l, err := net.Listen("unix", from)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l}
	go p.serve(to)
	t.Cleanup(p.cut)
	return p
}

func (p *proxy) serve(to string) {
	for {
		plugin, err := p.listener.Accept()
		if err != nil {
			return
		}
		runtime, err := net.Dial("unix", to)
		if err != nil {
			plugin.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, plugin, runtime)
		p.mu.Unlock()
		go io.Copy(plugin, runtime)
		go io.Copy(runtime, plugin)
	}
}

// cut closes all connections, as the kernel does after kill -9 of the container runtime.
func (p *proxy) cut() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}
