package apiwriter

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// patience is how long a connection may take to be made.
const patience = 10 * time.Second

// connect returns the way to an API server with the credentials of config: a pool,
// or client-go's own transport where that way is a special one.
func connect(config *rest.Config, base *url.URL, header http.Header) (way, error) {
	with, err := config.TransportConfig()
	if err != nil {
		return nil, err
	}
	if special(with, base) {
		by, err := transport.New(with)
		return through{by, base, header}, err
	}
	head, err := newHead(with, base, header)
	return &pool{dial: dialer(config, base), head: head}, err
}

// special reports whether requests go through a proxy, or through what a caller or
// a plugin for credentials has put into the transport's place or around it.
func special(with *transport.Config, base *url.URL) bool {
	proxy := with.Proxy
	if proxy == nil {
		proxy = utilnet.NewProxierWithNoProxyCIDR(http.ProxyFromEnvironment)
	}
	by, err := proxy(&http.Request{URL: base})
	return with.Transport != nil || with.WrapTransport != nil || by != nil || err != nil
}

// dialer returns what connects. It reads certificates anew each time.
func dialer(config *rest.Config, base *url.URL) func(context.Context) (net.Conn, error) {
	address := base.Host
	if base.Port() == "" {
		address = net.JoinHostPort(base.Hostname(), map[string]string{"http": "80", "https": "443"}[base.Scheme])
	}
	return func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		with, err := config.TransportConfig()
		if err != nil {
			return nil, err
		}
		dial := (&net.Dialer{}).DialContext
		if with.DialHolder != nil {
			dial = with.DialHolder.Dial
		}
		c, err := dial(ctx, "tcp", address)
		if err != nil || base.Scheme == "http" {
			return c, err
		}
		return secure(ctx, with, base, c)
	}
}

// secure makes a connection one of TLS.
func secure(ctx context.Context, with *transport.Config, base *url.URL, plain net.Conn) (net.Conn, error) {
	settings, err := transport.TLSConfigFor(with)
	if err != nil {
		plain.Close()
		return nil, err
	}
	if settings == nil {
		settings = &tls.Config{}
	}
	if settings.ServerName == "" {
		settings.ServerName = base.Hostname()
	}
	c := tls.Client(plain, settings)
	if err := c.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, fmt.Errorf("connect to %s: %w", base.Host, err)
	}
	return c, nil
}
