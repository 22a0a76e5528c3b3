package main

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRounds checks which rounds are run in an empty cluster, in a busy cluster, and with -only.
func TestRounds(t *testing.T) {
	for name, tc := range map[string]struct {
		o    options
		want []string
	}{
		"empty": {options{}, []string{
			"floor, no events plain", "floor plain", "client with informers plain", "kube-scheduler plain", "kube-scheduler, GOGC=400 plain",
			"kube-scheduler, no scores plain", "kube-scheduler, 1 % of nodes plain", "numalet plain",
			"floor gpu", "client with informers gpu", "kube-scheduler gpu", "numalet gpu", "numalet single",
		}},
		"busy": {options{Fill: fills{50, 95}, Waiting: 300}, []string{
			"kube-scheduler 50 % full", "kube-scheduler, GOGC=400 50 % full", "kube-scheduler, no scores 50 % full", "kube-scheduler, 1 % of nodes 50 % full", "numalet 50 % full",
			"kube-scheduler 50 % full, 300 waiting", "numalet 50 % full, 300 waiting",
			"kube-scheduler 95 % full", "numalet 95 % full", "kube-scheduler 95 % full, 300 waiting", "numalet 95 % full, 300 waiting",
		}},
		"chosen":         {options{Only: "scores (plain|gpu)"}, []string{"kube-scheduler, no scores plain", "kube-scheduler, no scores gpu"}},
		"chosen, busy":   {options{Fill: fills{95}, Waiting: 3, Only: "1 %.*waiting|floor"}, []string{"kube-scheduler, 1 % of nodes 95 % full, 3 waiting"}},
		"impossible one": {options{Only: "kube-scheduler single"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range rounds(tc.o, regexp.MustCompile(tc.o.Only)) {
				got = append(got, r.contender.name+" "+r.load.name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("rounds (-want +got):\n%s", diff)
			}
		})
	}
}
