package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// kubeSettings has the settings in which a contender differs from the default kube-scheduler.
type kubeSettings struct {
	name    string
	env     []string
	percent int    // percentageOfNodesToScore; 0 is the default, which depends on the number of nodes
	plugins string // plugins of its profile, as YAML
}

// kubeSchedulers returns kube-scheduler several times: once with its default settings, and then
// each time with one other setting that could explain why it is slower than Numalet. The settings
// correspond to three differences: Numalet collects garbage less often, scores nodes by fewer
// criteria, and visits fewer nodes.
func kubeSchedulers() []contender {
	var all []contender
	for _, s := range []kubeSettings{
		{name: kubeName},
		{name: kubeName + ", GOGC=400", env: []string{"GOGC=400"}}, // the controller sets the same value (gcPercent)
		{name: kubeName + ", no scores", plugins: `{score: {disabled: [{name: "*"}]}, preScore: {disabled: [{name: "*"}]}}`},
		{name: kubeName + ", 1 % of nodes", percent: 1}, // the minimum is 100 nodes, which no setting lowers
	} {
		all = append(all, contender{name: s.name, scheduler: "default-scheduler", start: s.start})
	}
	return all
}

// schedulerConfig is kube-scheduler's default configuration without its rate limit of 50 requests a
// second. With the rate limit, the result would depend only on this limit.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 10000, burst: 10000}
leaderElection: {leaderElect: true, resourceNamespace: kube-system, resourceName: %s}
percentageOfNodesToScore: %d
profiles:
- schedulerName: default-scheduler
  plugins: %s
`

func (s kubeSettings) start(ctx context.Context, f *field, _ load) (started, error) {
	l := lease{f.api, "kube-system", "kube-scheduler"}
	if err := l.hold(ctx); err != nil {
		return started{}, err
	}
	config := f.plane.File("scheduler.yaml")
	plugins := s.plugins
	if plugins == "" {
		plugins = "{}"
	}
	text := fmt.Appendf(nil, schedulerConfig, f.plane.File("kube-scheduler.kubeconfig"), l.name, s.percent, plugins)
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return started{}, fmt.Errorf("write configuration of kube-scheduler: %w", err)
	}
	process, err := f.plane.StartWith(s.env, "kube-scheduler", filepath.Join(f.plane.Bin, "kubeone"), "kube-scheduler",
		"--config="+config, "--secure-port=0")
	return started{process: process, fire: l.release}, err
}
