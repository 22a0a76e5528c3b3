package controller

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/numalet/numalet/internal/controller/filters"
	"github.com/numalet/numalet/internal/controller/queueapi"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// whatIfRate is how many what-if requests are allowed per second, and whatIfBurst how many at once,
// for all users together. A what-if request asks with which changes a pending pod would fit a node.
const (
	whatIfRate  = 2
	whatIfBurst = 5
)

// rehearsal answers what-if requests: it searches for a node for changed copies of a pod, but
// assigns no nodes. Its field `proposer` lists the nodes that a pod fits. The rehearsal does not
// share this proposer with the scheduling goroutines, because only one goroutine may use a proposer
// at a time.
type rehearsal struct {
	limit flowcontrol.RateLimiter
	read  filters.Reader
	mu    struct {
		sync.Mutex
		proposer *pipeline.Proposer
	}
}

// newRehearsal creates the rehearsal that answers what-if requests, with its own proposer.
func (c *controller) newRehearsal(ctx context.Context) error {
	own, err := filters.NewProposer(ctx, c.filters.cluster, c.filters.api)
	if err != nil {
		return err
	}
	c.whatIf = &rehearsal{limit: flowcontrol.NewTokenBucketRateLimiter(whatIfRate, whatIfBurst), read: filters.Reader{Cluster: c.filters.cluster, Configuration: c.filters.api.Configuration}}
	c.whatIf.mu.proposer = pipeline.NewProposer(c.state.View, pipeline.ProposerOptions{Filter: own})
	return nil
}

// try searches for a node for each variant of a pod, and returns the results. It returns false if
// there are too many requests. Each search takes as long as a search in scheduling, because it uses
// the same index of nodes and the same filters.
func (r *rehearsal) try(pod *sched.Pod) ([]queueapi.Variant, bool) {
	if !r.limit.TryAccept() {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	found := []queueapi.Variant{}
	for _, v := range r.variants(pod) {
		answer := queueapi.Variant{Change: v.change}
		if list := r.mu.proposer.Propose(v.pod); len(list.Candidates) > 0 {
			answer.Fits, answer.Node = true, list.Candidates[0].Node.Name
		}
		found = append(found, answer)
	}
	return found, true
}

// variant is a changed copy of a pod, with a text that describes the change.
type variant struct {
	change string
	pod    *sched.Pod
}

// variants returns the variants of a pod for which the method `try` searches for a node. If GPU
// groups limit which GPUs the pod may get (GPURequest.Offer), no variant changes its GPU request,
// because Offer is valid only for the original request.
func (r *rehearsal) variants(pod *sched.Pod) []variant {
	all := append([]variant{{"as it is", pod}}, fewerCPUs(pod)...)
	all = append(all, otherPolicies(pod)...)
	if len(pod.GPUs.Types) > 0 && pod.GPUs.Offer == nil {
		changed := *pod
		changed.GPUs.Types = nil
		all = append(all, variant{"with GPUs of any type", &changed})
	}
	return append(all, r.looser(pod)...)
}

// fewerCPUs returns variants with 1/2, 1/4 and 1/8 of a pod's CPUs. It leaves out variants in which
// a container would get less than one exclusive CPU. It returns no variants if a container with
// exclusive CPUs requests a number of CPUs on each NUMA node (PerNode), because fewerCPUs does not
// divide these numbers.
func fewerCPUs(pod *sched.Pod) (all []variant) {
	for part := 2; part <= 8 && int64(pod.Requests.CPU)/int64(part) >= 1; part *= 2 {
		changed := *pod
		changed.Requests.CPU /= sched.MilliCPU(part)
		changed.Exclusive = make([]podspec.Container, len(pod.Exclusive))
		for i, container := range pod.Exclusive {
			if container.PerNode != nil || container.CPUs < part {
				return all
			}
			container.CPUs /= part
			changed.Exclusive[i] = container
		}
		cpus := strconv.FormatFloat(float64(changed.Requests.CPU)/1000, 'g', 4, 64)
		all = append(all, variant{fmt.Sprintf("with 1/%d of its CPUs (%s)", part, cpus), &changed})
	}
	return all
}

func otherPolicies(pod *sched.Pod) (all []variant) {
	if len(pod.Exclusive) == 0 {
		return nil
	}
	for _, policy := range []podspec.Policy{podspec.Random, podspec.Spread, podspec.Single} {
		if policy == pod.CPUPolicy {
			continue
		}
		changed := *pod
		changed.CPUPolicy = policy
		all = append(all, variant{fmt.Sprintf("with the policy %v", policy), &changed})
	}
	return all
}

// looser returns variants of a pod with looser rules. Each variant either drops one rule that
// restricts the pod to certain nodes, or tolerates all taints.
func (r *rehearsal) looser(pod *sched.Pod) (all []variant) {
	for _, rule := range []struct {
		change string
		drop   func(*corev1.PodSpec) bool
	}{
		{"without its affinity", func(s *corev1.PodSpec) bool { had := s.Affinity != nil; s.Affinity = nil; return had }},
		{"without its nodeSelector", func(s *corev1.PodSpec) bool { had := len(s.NodeSelector) > 0; s.NodeSelector = nil; return had }},
		{"without its topology spread constraints", func(s *corev1.PodSpec) bool {
			had := len(s.TopologySpreadConstraints) > 0
			s.TopologySpreadConstraints = nil
			return had
		}},
		{"with a toleration of all taints", func(s *corev1.PodSpec) bool {
			s.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			return true
		}},
	} {
		if changed, err := r.read.Changed(pod, rule.drop); err == nil && changed != nil {
			all = append(all, variant{rule.change, changed})
		}
	}
	return all
}
