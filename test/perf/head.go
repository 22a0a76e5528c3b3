package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// head returns a text that says what was measured, on which machine, and under which conditions.
func head(o options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Machine: %s\nCommit: %s, %s\nSizes: %d nodes, %d pods, then %d pods one by one\nRuns: %d of each round, in turn; the rates and the CPU time are medians\n", machine(), commit(o), runtime.Version(), o.Nodes, o.Pods, o.Steady, o.Repeat)
	fmt.Fprintf(&b, "Cluster: %s\nWhat favors Numalet here:\n", cluster(o))
	for _, line := range favors(o) {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	return b.String()
}

// commit returns the commit of the repository. The suffix -dirty says that files have changed since
// the commit.
func commit(o options) string {
	out, err := exec.Command("git", "-C", repository(o), "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// repository returns the root of the repository, which contains build/rig.
func repository(o options) string { return filepath.Dir(filepath.Dir(o.Rig)) }

// cluster describes how busy the cluster is.
func cluster(o options) string {
	if !o.busy() {
		return "empty: no other pods, no taints; the pods have no affinity and no spread, and no pods wait that cannot be placed"
	}
	fill, _ := o.Fill.MarshalText()
	text := fmt.Sprintf("busy: nodes %s %% full, a tenth with a taint; a fifth of the pods with required affinity or spread", fill)
	if o.Waiting > 0 {
		text += fmt.Sprintf("; without and with %d pods that cannot be placed, and for Numalet a gang with one member too many", o.Waiting)
	}
	return text
}

// favors lists the ways in which the setup of the measurement gives Numalet an advantage.
func favors(o options) []string {
	all := []string{
		"nodes are objects without kubelets, etcd does not sync to disk, and all programs share one machine",
		"Numalet writes events behind the bindings: bound does not include them, told does",
		"Numalet collects garbage with GOGC=400; kube-scheduler does so only in the row that says so",
		"kube-scheduler scores by criteria that Numalet does not have; the row without scores has none of them",
	}
	if o.busy() {
		return append(all, "one large pod holds what is not free of a node; the pods have required rules only, no preferences")
	}
	return append(all, "the cluster is empty: make perf-busy measures busy ones")
}

// machine describes the machine of the measurement.
func machine() string {
	model := "unknown CPU"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, after, ok := strings.Cut(string(info), "model name"); ok {
			line, _, _ := strings.Cut(after, "\n")
			model = strings.TrimLeft(line, "\t :")
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	return fmt.Sprintf("%d CPUs, %s; load average at the end %s", runtime.NumCPU(), model, strings.Join(strings.Fields(string(load))[:3], ", "))
}
