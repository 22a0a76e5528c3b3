package telemetry

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/runtest"
)

func TestReadyz(t *testing.T) {
	good := Check{Name: "kubelet", Ready: func() error { return nil }}
	bad := Check{Name: "runtime", Ready: func() error { return errors.New("no socket at /run/nri.sock") }}
	for name, tc := range map[string]struct {
		checks []Check
		status int
		body   string
	}{
		"no checks": {nil, 200, ""},
		"all pass":  {[]Check{good}, 200, "[+] kubelet\n"},
		"one fails": {[]Check{bad, good}, 503, "[-] runtime: no socket at /run/nri.sock\n[+] kubelet\n"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := fetch(t, serve(t, tc.checks...)+"/readyz")
			if status != tc.status {
				t.Errorf("status %d, want %d", status, tc.status)
			}
			if diff := cmp.Diff(tc.body, body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHealthzAndMetrics(t *testing.T) {
	url := serve(t)
	if status, body := fetch(t, url+"/healthz"); status != 200 || body != "ok\n" {
		t.Errorf("/healthz: %d %q", status, body)
	}
	_, body := fetch(t, url+"/metrics")
	if want := `numalet_build_info{binary="test",version="v0"} 1`; !strings.Contains(body, want) {
		t.Errorf("/metrics lacks %q", want)
	}
}

// TestHealthz checks that /healthz fails only if the process needs a restart, and not if it is
// merely not ready. The kubelet restarts a container whose /healthz fails.
func TestHealthz(t *testing.T) {
	var hangs atomic.Bool
	live := func() error {
		if hangs.Load() {
			return errors.New("it hangs")
		}
		return nil
	}
	url := serve(t, Check{Name: "slow", Ready: func() error { return errors.New("not yet") }}, Check{Name: "library", Ready: live, Live: live})
	if status, body := fetch(t, url+"/healthz"); status != 200 || body != "ok\n" {
		t.Errorf("/healthz: %d %q", status, body)
	}
	hangs.Store(true)
	if status, body := fetch(t, url+"/healthz"); status != 503 || body != "[-] library: it hangs\n" {
		t.Errorf("/healthz of a hung process: %d %q", status, body)
	}
}

func TestNewServerSaysWhatToDoWhenTheAddressIsTaken(t *testing.T) {
	first, err := NewServer("127.0.0.1:0", NewRegistry("test", "v0"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.listener.Close()
	_, err = NewServer(first.Addr(), NewRegistry("test", "v0"))
	if err == nil || !strings.Contains(err.Error(), "--health-addr") {
		t.Errorf("NewServer on a taken address: %v", err)
	}
}

// serve runs a server until the test ends, and checks that Run then returns no error.
func serve(t *testing.T, checks ...Check) string {
	t.Helper()
	s, err := NewServer("127.0.0.1:0", NewRegistry("test", "v0"), checks...)
	if err != nil {
		t.Fatal(err)
	}
	runtest.Run(t, s)
	return "http://" + s.Addr()
}

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
