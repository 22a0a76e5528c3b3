// Package ui serves a web page that shows a cluster: the free CPUs and GPUs of its nodes, the pods
// that hold the other CPUs and GPUs, the scheduling queue, the tenants and the GPU groups.
//
// The page has the rights of the user who runs the command, as kubectl proxy does. So the server
// listens on a loopback address, and answers only requests that have a secret token. Other users of
// the computer, and other pages in the browser, do not know the token and cannot read the data.
package ui

import (
	"context"
	"crypto/subtle"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"
)

// cookieFor returns the name of the cookie that has the server's token, for the Host header of a
// request. The answer to the browser's first request sets the cookie. The name contains the port,
// because browsers send the cookies of a host to all its ports: otherwise two servers would overwrite
// each other's cookie.
func cookieFor(host string) string {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		return "numalet-ui"
	}
	return "numalet-ui-" + port
}

// contentPolicy is the Content-Security-Policy of the page. It lets the page load files only from
// this server. It does not affect the library that draws charts: this library sets styles as
// properties of DOM elements, which a Content-Security-Policy never forbids.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed static
var static embed.FS

// New returns the HTTP handler for the web page and its data. Each request needs the token, in the
// query parameter "token" or in a cookie. The answer to a request with the query parameter sets the
// cookie.
func New(token string, source Source) (http.Handler, error) {
	files, err := fs.Sub(static, "static")
	if err != nil {
		return nil, fmt.Errorf("open the page: %w", err)
	}
	mux := http.NewServeMux()
	source.handle(mux)
	mux.Handle("GET /", http.FileServerFS(files))
	return guard{token, mux}, nil
}

// guard is a handler that passes a request to another handler (the field `next`) only if the request
// has the token.
type guard struct {
	token string
	next  http.Handler
}

// ServeHTTP implements http.Handler.
func (g guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", contentPolicy)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	if !isLoopback(r.Host) {
		http.Error(w, "this page is served on a loopback address only", http.StatusForbidden)
		return
	}
	if g.matches(r.URL.Query().Get("token")) {
		http.SetCookie(w, &http.Cookie{Name: cookieFor(r.Host), Value: g.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, r.URL.Path, http.StatusSeeOther)
		return
	}
	if c, err := r.Cookie(cookieFor(r.Host)); err != nil || !g.matches(c.Value) {
		http.Error(w, "open the address that kubectl numalet ui printed: it has the token", http.StatusForbidden)
		return
	}
	g.next.ServeHTTP(w, r)
}

func (g guard) matches(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) == 1
}

// isLoopback reports whether a Host header names this computer. It protects against DNS rebinding:
// if the host name of a malicious page resolves to a loopback address, the browser still sends this
// host name in the Host header, so the request is refused.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Serve accepts connections on a listener and passes requests to a handler, until ctx ends.
func Serve(ctx context.Context, on net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(on); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}
