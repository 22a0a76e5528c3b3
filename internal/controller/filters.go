package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/numalet/numalet/internal/controller/filters"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/pipeline"
	"github.com/numalet/numalet/pkg/sched/wakeindex"
)

// hosted has the filters: instances of kube-scheduler's filter plugins. Each goroutine that runs
// filters has its own instances. Only the plugins for volumes and devices are shared (see
// filters.Claims).
type hosted struct {
	api       filters.API
	cluster   *filters.Cluster
	proposers []pipeline.ProposerOptions
	committer *filters.Committer
	explain   func(*sched.Pod) string // returns why no node suits a pod; only one goroutine may call it
}

func (c *controller) newFilters(ctx context.Context) (err error) {
	f := &c.filters
	f.cluster = filters.NewCluster(c.state)
	api := filters.API{Client: c.clients.watch, Informers: c.factory}
	if api.Configuration, err = configuration(c.cfg); err != nil {
		return err
	}
	if api.Claims, err = filters.NewClaims(ctx, api); err != nil {
		return err
	}
	f.api = api
	seed := uint64(time.Now().UnixNano())
	for i := range c.cfg.Proposers {
		own, err := filters.NewProposer(ctx, f.cluster, api)
		if err != nil {
			return err
		}
		f.proposers = append(f.proposers, pipeline.ProposerOptions{Filter: own, Rand: rand.New(rand.NewPCG(seed, uint64(i)))})
	}
	own, err := filters.NewProposer(ctx, f.cluster, api)
	if err != nil {
		return err
	}
	explainer := pipeline.NewProposer(c.state.View, pipeline.ProposerOptions{Filter: own})
	f.explain = func(pod *sched.Pod) string { return c.explainPod(explainer, pod) }
	f.committer, err = filters.NewCommitter(ctx, f.cluster, api, c.groups.quotas)
	return err
}

// explainPod returns why no node suits a pod. If the search for the reason panics, explainPod
// logs the panic and returns it as the reason. Such a pod probably makes the scheduling
// goroutines panic as well.
func (c *controller) explainPod(explainer *pipeline.Proposer, pod *sched.Pod) (text string) {
	defer func() {
		if cause := recover(); cause != nil {
			c.panicked("pod "+pod.String(), cause)
			text = fmt.Sprintf("why no node suits the pod is not known: %v", cause)
		}
	}()
	return why(explainer, pod)
}

// kind returns a key for a pod. An explanation of why no node suits a pod is also valid for each
// other pod with the same key, unless the key is "". The key is "" for pods that name their nodes in
// their node affinity, that use volumes or devices, or that have already run (see Cluster.Kind of
// package filters). It is also "" for gangs, for pods that avoid certain nodes for now
// (sched.Pod.Avoid), for pods that may use only certain GPUs, and for pods that have to wait for
// something other than nodes, such as a quota.
func (h *hosted) kind(pod *sched.Pod) string {
	if pod.Gang != nil || pod.Avoid != nil || pod.GPUs.Offer != nil || pod.Waits().Refuses() {
		return ""
	}
	if rules := h.cluster.Kind(pod.Foreign.(*filters.Pod)); rules != "" {
		return wakeindex.ShapeOf(pod) + rules
	}
	return ""
}

// why returns a text that says why no node suits a pod. The pods of a gang start together, so one
// pod can represent all of them in the queue. For such a pod, the text says why too few nodes have
// room for the gang's pods.
func why(explainer *pipeline.Proposer, pod *sched.Pod) string {
	planned, tally := explainer.Explain(pod)
	if _, need := pod.Together(); need == 1 || pod.Waits().Refuses() {
		return tally.String()
	}
	text := fmt.Sprintf("too few nodes have room for %d pods of gang %s, which start together", pod.Gang.Need, pod.Gang.ID)
	if len(tally) > 0 {
		text += fmt.Sprintf(": with %d of them placed, %s", planned, tally)
	}
	return text
}

// configuration reads the KubeSchedulerConfiguration in the controller's settings. What the
// KubeSchedulerConfiguration does not say, such as the name of the default profile, comes from the
// other settings.
func configuration(cfg config.Controller) (*filters.Configuration, error) {
	return filters.ReadConfiguration(cfg.Kubescheduler, filters.Options{SchedulerName: cfg.SchedulerName, GPUResource: cfg.GPUResource, Rated: cfg.Rated})
}
