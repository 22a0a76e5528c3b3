package groups

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
)

// Matcher decides which GPUs a pod may use.
type Matcher struct {
	Groups *Registry
	Quotas *Quotas
	// Known returns why the pods of a tenant have to wait, or nil. If Known is nil, all tenants are
	// known.
	Known func(tenant string) error
}

// Complete restricts a pod to the nodes and GPUs of the groups that serve it, or to GPUs
// in no group. It also makes the pod wait while its tenant is unknown, or while a quota of
// its tenant is used up. The annotations are the pod's. The pod gets the groups in force now,
// so it must be completed again when they change. The error is a sentence for the pod's
// author.
func (m Matcher) Complete(pod *sched.Pod, annotations map[string]string) error {
	if unknown := m.unknown(pod.Tenant); unknown.Refuses() {
		pod.Wait = func(*sched.Pod) sched.Reason { return unknown }
		return nil
	}
	named := annotations[v1alpha1.AnnotationGPUGroup]
	switch {
	case named == "" && m.Groups.Empty() && !m.Quotas.Limited(pod.Tenant):
		return nil
	case pod.GPUs.Count == 0 && named != "":
		return fmt.Errorf("the annotation %s names %q, but no container asks for whole GPUs: give one a limit of them, or remove the annotation",
			v1alpha1.AnnotationGPUGroup, named)
	case pod.GPUs.Count == 0:
		m.limit(pod)
		return nil
	}
	match, err := m.Groups.Match(group.Request{
		Tenant: pod.Tenant, Group: named, Container: speaker(pod.GPUs.PerContainer), Form: gpu.Physical, GPURequest: pod.GPUs,
	})
	if err != nil {
		return err
	}
	if groups := match.Groups(); len(groups) == 1 {
		pod.GPUs.Group = groups[0]
	}
	pod.Candidates = both(pod.Candidates, match.Nodes())
	c := claim{pod: pod, match: match, quotas: m.Quotas, asked: sched.MilliGPU(pod.GPUs.Count) * pod.GPUs.Milli}
	pod.GPUs.Offer, pod.Wait = c.offer, c.wait
	return nil
}

// unknown returns why the pods of a tenant have to wait, if the tenant is not known.
func (m Matcher) unknown(tenant string) sched.Reason {
	if m.Known == nil {
		return sched.Reason{}
	}
	return nowhere(m.Known(tenant))
}

// limit makes a pod without whole GPUs wait for its tenant's quotas.
func (m Matcher) limit(pod *sched.Pod) {
	if !m.Quotas.Limited(pod.Tenant) {
		return
	}
	pod.Wait = m.Quotas.Wait
	if pod.GPUs.Part.Count > 0 {
		pod.GPUs.Offer = func(node *sched.Node) sched.Offer { return m.offerParts(pod, node) }
	}
}

// offerParts returns whether a pod's parts of GPUs on a node are within two quotas: that
// of all GPUs, and that of the parts' type.
func (m Matcher) offerParts(pod *sched.Pod, node *sched.Node) sched.Offer {
	part := node.Parts[pod.GPUs.Part.Resource]
	for _, kind := range []string{sched.TypeAnyGPU, part.Type} {
		if err := m.Quotas.Over(group.Scope{Tenant: pod.Tenant, Type: kind}, sched.MilliGPU(pod.GPUs.Part.Count)*part.Milli); err != nil {
			return sched.Offer{Why: sched.Reason{Code: sched.Other, Detail: err.Error()}}
		}
	}
	return sched.Offer{}
}

// speaker returns the container whose name groups match: the one with the most GPUs, the
// first of several.
func speaker(wants []sched.ContainerGPUs) string {
	if len(wants) == 0 {
		return ""
	}
	return slices.MinFunc(wants, func(a, b sched.ContainerGPUs) int { return cmp.Compare(b.Count, a.Count) }).Container
}

// both returns the nodes in both lists, which are sorted. Nil means all nodes.
func both(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return append([]string{}, slices.DeleteFunc(slices.Clone(a), func(name string) bool {
		_, found := slices.BinarySearch(b, name)
		return !found
	})...)
}

// claim is what a pod may have, according to the groups at the time when it was completed and to
// the quotas as they are now.
type claim struct {
	pod    *sched.Pod
	match  group.Match
	quotas *Quotas
	asked  sched.MilliGPU
}

// wait returns why no node would suit, as far as this is known without reading nodes: the quota of
// all GPUs, of the only suitable type, or of every suitable group is used up.
func (c claim) wait(pod *sched.Pod) sched.Reason {
	if why := c.quotas.Wait(pod); why.Refuses() {
		return why
	}
	_, full := c.open()
	return nowhere(full)
}

// nowhere returns an error as the reason why no node would suit.
func nowhere(err error) sched.Reason {
	if err == nil {
		return sched.Reason{}
	}
	return sched.Reason{Code: sched.Anywhere, Detail: err.Error()}
}

// offer returns the GPUs that a node has for the pod now, of groups and types whose quotas
// are not used up.
func (c claim) offer(node *sched.Node) sched.Offer {
	open, full := c.open()
	if full != nil {
		return sched.Offer{Why: sched.Reason{Code: sched.Other, Detail: full.Error()}}
	}
	o, ok := open.On(node)
	if !ok {
		return sched.Offer{Why: sched.Reason{Code: sched.Other, Detail: fmt.Sprintf("Insufficient GPUs: too few of %s are free", open)}}
	}
	gpus, poor := c.affordable(o.GPUs, node)
	if len(gpus) < c.pod.GPUs.Count {
		return sched.Offer{Why: sched.Reason{Code: sched.Other, Detail: poor.Error()}}
	}
	over := o.Over
	if o.Group == "" {
		over = 0 // the rest counts only within groups
	}
	return sched.Offer{GPUs: gpus, Group: o.Group, Over: over}
}

// affordable returns the GPUs whose types' quotas are not used up. The error is the first
// reason why one is left out.
func (c claim) affordable(gpus []sched.GPUShare, node *sched.Node) (left []sched.GPUShare, poor error) {
	if !c.quotas.Limited(c.pod.Tenant) {
		return gpus, nil
	}
	kinds := map[string]string{}
	for _, gpu := range node.GPUs {
		kinds[gpu.ID] = gpu.Type
	}
	for _, g := range gpus {
		err := c.quotas.Over(group.Scope{Tenant: c.pod.Tenant, Type: kinds[g.ID]}, c.asked)
		if poor = cmp.Or(poor, err); err == nil {
			left = append(left, g)
		}
	}
	return left, poor
}

// open returns the match without groups whose quotas are used up, and an error if that
// leaves none.
func (c claim) open() (group.Match, error) {
	var first error
	left := c.match.Without(func(name string) bool {
		err := c.quotas.Over(group.Scope{Tenant: c.pod.Tenant, Group: name}, c.asked)
		first = cmp.Or(first, err)
		return err != nil
	})
	if len(c.match.Groups()) > 0 && len(left.Groups()) == 0 {
		return left, first
	}
	return left, nil
}
