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

// Matcher determines which GPUs a pod may use.
type Matcher struct {
	Groups *Registry
	Quotas *Quotas
	// Known returns nil if a tenant is known, and otherwise the reason why the tenant's pods have
	// to wait. A tenant is known if it has a Tenant object, or if the settings require none. If the
	// field Known is nil, all tenants are known.
	Known func(tenant string) error
}

// Complete restricts a pod with whole GPUs to the nodes and GPUs of the groups that serve the pod.
// If the pod names no group and none serves it, Complete restricts it to GPUs that are in no group.
// Complete also makes the pod wait while its tenant is unknown, and while a quota of its tenant is
// used up. The parameter `annotations` has the annotations of the pod. The caller must call Complete
// again when the groups in force change, when the tenant becomes known or unknown, and when the
// tenant's quotas change. The error is a sentence for the author of the pod.
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

// unknown returns the reason why the pods of a tenant have to wait if the tenant is not known.
// For a known tenant, it returns the empty reason.
func (m Matcher) unknown(tenant string) sched.Reason {
	if m.Known == nil {
		return sched.Reason{}
	}
	return nowhere(m.Known(tenant))
}

// limit is for pods that request no whole GPUs. It makes a pod wait as long as the pod would exceed
// a quota of its tenant.
func (m Matcher) limit(pod *sched.Pod) {
	if !m.Quotas.Limited(pod.Tenant) {
		return
	}
	pod.Wait = m.Quotas.Wait
	if pod.GPUs.Part.Count > 0 {
		pod.GPUs.Offer = func(node *sched.Node) sched.Offer { return m.offerParts(pod, node) }
	}
}

// offerParts refuses a node if a pod that requests parts of GPUs, such as MIG slices, would exceed
// a quota of its tenant on this node. The node's record says how much of a GPU each part counts as.
// offerParts checks two quotas of the tenant: the quota of GPUs of any type, and the quota of GPUs
// of the type to which these parts belong.
func (m Matcher) offerParts(pod *sched.Pod, node *sched.Node) sched.Offer {
	part := node.Parts[pod.GPUs.Part.Resource]
	for _, kind := range []string{sched.TypeAnyGPU, part.Type} {
		if err := m.Quotas.Over(group.Scope{Tenant: pod.Tenant, Type: kind}, sched.MilliGPU(pod.GPUs.Part.Count)*part.Milli); err != nil {
			return sched.Offer{Why: sched.Reason{Code: sched.Other, Detail: err.Error()}}
		}
	}
	return sched.Offer{}
}

// speaker returns the name of the container by which a group is matched with a pod. This is the
// container with the most GPUs, or the first of several containers with equally many. A group
// that serves only containers with certain names serves the pod only if this container has one of
// these names.
func speaker(wants []sched.ContainerGPUs) string {
	if len(wants) == 0 {
		return ""
	}
	return slices.MinFunc(wants, func(a, b sched.ContainerGPUs) int { return cmp.Compare(b.Count, a.Count) }).Container
}

// The function `both` returns the node names that are in both sorted lists a and b. A nil list
// stands for all nodes.
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

// claim determines which GPUs a pod may have. It uses the groups that were in force when Complete
// was called, and the current quotas.
type claim struct {
	pod    *sched.Pod
	match  group.Match
	quotas *Quotas
	asked  sched.MilliGPU
}

// wait returns the reason why the quotas keep the pod from all nodes, or the empty reason. A quota
// can be for one type of GPUs, so it may depend on the node whether the pod exceeds the quota. So
// the quotas keep the pod from all nodes only in three cases. First, the quota of GPUs of any type
// is used up. Second, the pod accepts only one type, and the quota of this type is used up. Third,
// the quotas of all suitable groups are used up.
func (c claim) wait(pod *sched.Pod) sched.Reason {
	if why := c.quotas.Wait(pod); why.Refuses() {
		return why
	}
	_, full := c.open()
	return nowhere(full)
}

// nowhere converts an error to the reason why no node suits a pod. A nil error becomes the empty
// reason.
func nowhere(err error) sched.Reason {
	if err == nil {
		return sched.Reason{}
	}
	return sched.Reason{Code: sched.Anywhere, Detail: err.Error()}
}

// offer returns the GPUs of a node that the pod may get now, or the reason why they are too few. If
// several groups serve the pod, these are the GPUs of one group. The result leaves out the GPUs of
// groups and types whose quotas are used up.
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
		over = 0 // sched.Offer.Over counts only GPUs of a group, and these GPUs are in no group
	}
	return sched.Offer{GPUs: gpus, Group: o.Group, Over: over}
}

// affordable returns the given GPUs, but leaves out a GPU if the pod would exceed its tenant's
// quota for the type of this GPU. If it leaves out GPUs, the error gives the reason for the first
// of them.
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

// open returns the groups whose GPUs can serve the pod (c.match), without the groups whose quotas
// the pod would exceed. It returns an error if c.match has groups and the pod would exceed the
// quotas of all of them.
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
