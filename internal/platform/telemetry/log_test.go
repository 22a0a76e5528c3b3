package telemetry

import (
	"bytes"
	"errors"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLogShape checks the format of log lines, on which users and programs rely.
func TestLogShape(t *testing.T) {
	for name, tc := range map[string]struct {
		options LogOptions
		want    string
	}{
		"text, facts only": {LogOptions{}, `time=T level=INFO msg="published CPUs" logger=plugin resource=numalet.dev/numa0-cpu capacity=4
time=T level=ERROR msg="register resource" logger=plugin err="kubelet is away"
`},
		"text, decisions": {LogOptions{Verbosity: 2}, `time=T level=INFO msg="published CPUs" logger=plugin resource=numalet.dev/numa0-cpu capacity=4
time=T level=V2 msg=allocate logger=plugin ids=numa0-cpu-1
time=T level=ERROR msg="register resource" logger=plugin err="kubelet is away"
`},
		"json": {LogOptions{JSON: true}, `{"time":"T","level":"INFO","msg":"published CPUs","logger":"plugin","resource":"numalet.dev/numa0-cpu","capacity":4}
{"time":"T","level":"ERROR","msg":"register resource","logger":"plugin","err":"kubelet is away"}
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log := NewLogger(&out, tc.options).WithName("plugin")
			log.Info("published CPUs", "resource", "numalet.dev/numa0-cpu", "capacity", 4)
			log.V(2).Info("allocate", "ids", "numa0-cpu-1")
			log.Error(errors.New("kubelet is away"), "register resource")
			if diff := cmp.Diff(tc.want, withoutTime(out.String())); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

func withoutTime(log string) string {
	return regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`).ReplaceAllString(log, "T")
}
