package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// agentMetrics is what an agent with two containers serves at the path /metrics. One container has
// foreign time on its exclusive CPUs, and the other has none.
const agentMetrics = `# TYPE numalet_container_exclusive_cpu_seconds_total counter
numalet_container_exclusive_cpu_seconds_total{container="main",namespace="b",pod="q",uid="2"} 50
numalet_container_exclusive_cpu_seconds_total{container="main",namespace="a",pod="p",uid="1"} 400
# TYPE numalet_container_foreign_cpu_seconds_total counter
numalet_container_foreign_cpu_seconds_total{container="main",namespace="a",pod="p",source="interrupts",uid="1"} 4
numalet_container_foreign_cpu_seconds_total{container="main",namespace="a",pod="p",source="kernel",uid="1"} 2
numalet_container_foreign_cpu_seconds_total{container="main",namespace="a",pod="p",source="other",uid="1"} 1
`

func TestNoise(t *testing.T) {
	text := agentMetrics
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
	defer agent.Close()
	want := `NAMESPACE  POD  CONTAINER  FOREIGN  INTERRUPTS  KERNEL  OTHER  CPU TIME
a          p    main       1.75%    1.00%       0.50%   0.25%  400s
b          q    main       0.00%    0.00%       0.00%   0.00%  50s
`
	if diff := cmp.Diff(want, numalet("noise", "--agent", agent.URL).stdout); diff != "" {
		t.Errorf("numalet noise (-want +got):\n%s", diff)
	}
	if got := numalet("noise", "--agent", agent.URL, "-o", "json").stdout; !strings.Contains(got, `"foreignPercent": 1.75`) {
		t.Errorf("numalet noise -o json: %s", got)
	}
	text = "other_metric 1\n"
	if got := numalet("noise", "--agent", agent.URL).stdout; got != "no container with exclusive CPUs was measured\n" {
		t.Errorf("without containers: %q", got)
	}
}

func TestNoiseErrors(t *testing.T) {
	broken := httptest.NewServer(http.NotFoundHandler())
	defer broken.Close()
	for want, args := range map[string][]string{
		"404 Not Found":                {"noise", "--agent", broken.URL},
		"shorter than the interval":    {"noise", "--for", "1s"},
		"on a node with numalet-agent": {"noise", "--agent", "127.0.0.1:1"},
	} {
		if got := numalet(args...); got.status == 0 || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: status %d, %q, want %q", args, got.status, got.stderr, want)
		}
	}
}

// TestNoiseSince checks what "numalet noise --for" shows: the difference of two readings of the
// agent's metrics, or the whole second reading if the agent has restarted between the two.
func TestNoiseSince(t *testing.T) {
	before := noises{"a": {CPUSeconds: 100, Other: 10}, "b": {CPUSeconds: 100, Other: 10}}
	now := noises{"a": {CPUSeconds: 200, Other: 11}, "b": {CPUSeconds: 50, Other: 5}, "c": {CPUSeconds: 10}}
	want := []containerNoise{{CPUSeconds: 100, Other: 1, ForeignPercent: 1}, {CPUSeconds: 50, Other: 5, ForeignPercent: 10}, {CPUSeconds: 10}}
	if diff := cmp.Diff(want, now.since(before)); diff != "" {
		t.Errorf("since (-want +got):\n%s", diff)
	}
}

// TestServerAddress checks which values a flag with the address of a server accepts.
func TestServerAddress(t *testing.T) {
	for text, want := range map[string]server{
		"http://host:1": "http://host:1", "host:1": "http://host:1", "https://host": "https://host", // an address without a scheme is accepted, as in curl
		"ftp://host": "", "http://": "", "%%": "", "": "",
	} {
		var got server
		if err := got.Set(text); got != want || (err == nil) != (want != "") {
			t.Errorf("Set(%q) is %q, %v; want %q", text, got, err, want)
		}
	}
}
