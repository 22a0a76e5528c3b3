package apiwriter

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// TestWay: requests go the way that the configuration says, over HTTP/1.1.
func TestWay(t *testing.T) {
	var heard []string
	hear := func(by string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			heard = append(heard, by+" "+r.Host+" "+r.Proto)
			w.WriteHeader(http.StatusCreated)
		}
	}
	plain, secured := httptest.NewServer(hear("plain")), httptest.NewTLSServer(hear("secured"))
	defer plain.Close()
	defer secured.Close()
	ca := rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secured.Certificate().Raw})}
	named := ca
	named.ServerName = "example.com"
	at, _ := url.Parse(plain.URL)
	to := func(address string) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	}
	for name, tc := range map[string]struct {
		config rest.Config
		want   string
	}{
		"plain":      {rest.Config{Host: plain.URL}, "plain " + at.Host + " HTTP/1.1"},
		"secured":    {rest.Config{Host: secured.URL, TLSClientConfig: ca}, "secured " + secured.Listener.Addr().String() + " HTTP/1.1"},
		"named":      {rest.Config{Host: secured.URL, TLSClientConfig: named}, "secured " + secured.Listener.Addr().String() + " HTTP/1.1"},
		"its dialer": {rest.Config{Host: "http://api.invalid", Dial: to(at.Host)}, "plain api.invalid HTTP/1.1"},
		"a proxy":    {rest.Config{Host: "http://api.invalid", Proxy: http.ProxyURL(at)}, "plain api.invalid HTTP/1.1"},
		"unknown CA": {rest.Config{Host: secured.URL}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			heard = nil
			c, err := New(&tc.config)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			if err := c.Bind(t.Context(), binding()); (err != nil) != (want == nil) {
				t.Errorf("Bind = %v", err)
			}
			if diff := cmp.Diff(want, heard); diff != "" {
				t.Errorf("heard (-want +got):\n%s", diff)
			}
		})
	}
}
