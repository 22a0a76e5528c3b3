package docstest

import "testing"

func TestStable(t *testing.T) {
	for _, tc := range []struct{ name, output, want string }{
		{"pods", "NAME            READY   AGE\nnumalet-7bd4x   1/1     9s\n", "NAME READY AGE\nnumalet-RANDOM 1/1 TIME"},
		{"a pod of a Deployment", "numalet-controller-7d9c5b6f4-x2m5s   2m5s", "numalet-controller-RANDOM TIME"},
		{"a holder of a Lease", "numalet-controller-7d9c5b6f4-x2m5s_1b4e28ba-2fa1-11d2-883f-0016d3cca427 leads", "numalet-controller-RANDOM leads"},
		{"names without a random part", "numalet-cores numa-plain\n", "numalet-cores numa-plain"},
		{"waiting", "Waiting for daemon set \"numalet\" rollout to finish: 0 of 1 updated pods are available...\ndaemon set \"numalet\" successfully rolled out\n", "daemon set \"numalet\" successfully rolled out"},
		{"a release", "LAST DEPLOYED: Wed Nov 25 01:16:27 2026\nSTATUS: deployed\n", "TIME\nSTATUS: deployed"},
		{"CPUs", "Cpus_allowed_list:\t2-3\n", "Cpus_allowed_list: 2-3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Stable(tc.output); got != tc.want {
				t.Errorf("Stable(%q) = %q, want %q", tc.output, got, tc.want)
			}
		})
	}
}
