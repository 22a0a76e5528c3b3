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

// hosted has instances of kube-scheduler's filters, one for each user of filters.
type hosted struct {
	api       filters.API
	cluster   *filters.Cluster
	proposers []pipeline.ProposerOptions
	committer *filters.Committer
	explain   func(*sched.Pod) string // must be called from one goroutine
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

// explainPod returns why no node suits a pod. If that panics, the panic is reported instead. The
// pod probably causes it in the proposers, too.
func (c *controller) explainPod(explainer *pipeline.Proposer, pod *sched.Pod) (text string) {
	defer func() {
		if cause := recover(); cause != nil {
			c.panicked("pod "+pod.String(), cause)
			text = fmt.Sprintf("why no node suits the pod is not known: %v", cause)
		}
	}()
	return why(explainer, pod)
}

// kind returns a text that is equal only for pods with the same explanation. It returns "" for
// gangs, for pods that avoid nodes, and for pods to which only certain GPUs are offered.
func (h *hosted) kind(pod *sched.Pod) string {
	if pod.Gang != nil || pod.Avoid != nil || pod.GPUs.Offer != nil || pod.Waits().Refuses() {
		return ""
	}
	if rules := h.cluster.Kind(pod.Foreign.(*filters.Pod)); rules != "" {
		return wakeindex.ShapeOf(pod) + rules
	}
	return ""
}

// why returns why no node suits a pod, or why too few nodes suit its gang.
func why(explainer *pipeline.Proposer, pod *sched.Pod) string {
	planned, tally := explainer.Explain(pod)
	if _, need := pod.Together(); need == 1 || pod.Waits().Refuses() {
		return tally.String()
	}
	text := fmt.Sprintf("too few nodes have room for %d pods of gang %s, which start together", pod.Gang.Need, pod.Gang.ID)
	if len(tally) > 0 {
		text += fmt.Sprintf(": after %d of them, %s", planned, tally)
	}
	return text
}

// configuration reads the profiles from the settings and the KubeSchedulerConfiguration.
func configuration(cfg config.Controller) (*filters.Configuration, error) {
	return filters.ReadConfiguration(cfg.Kubescheduler, filters.Options{SchedulerName: cfg.SchedulerName, GPUResource: cfg.GPUResource, Rated: cfg.Rated})
}
