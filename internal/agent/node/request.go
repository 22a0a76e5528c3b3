package node

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/podspec"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// annotationSource is the annotation that says from where the kubelet has a pod: "api", or "file"
// or "http" for static pods. The kubelet overwrites this annotation, so the author of a pod cannot
// forge it.
// Source: k8s.io/kubernetes/pkg/kubelet/types, ConfigSourceAnnotationKey.
const annotationSource = "kubernetes.io/config.source"

// lookup returns the API object of a pod that the container runtime names.
type lookup func(context.Context, workload.Pod) (*corev1.Pod, bool)

// request returns the CPUs to reserve before the container may run. It returns nil if the container
// gets no exclusive CPUs. It calls find, which may wait until the pod informer has the pod, only
// for a pod that may request exclusive CPUs. This is a pod for which announces or
// requestsWithoutAnnotation returns true. request does not lock n.mu, because find may wait.
func (n *Node) request(ctx context.Context, c workload.Container, find lookup) (*pool.Pod, error) {
	tokens := v1alpha1.ParseAllocated(c.Annotations)
	announced := n.announces(c)
	switch {
	case announced && n.cfg.Disabled:
		return nil, refuse(SwitchedOff, "exclusive CPUs are switched off on this node; delete the pod and let it run on a node labelled %s=true",
			v1alpha1.LabelExclusiveCPUs)
	case !announced && (n.cfg.Disabled || !n.requestsWithoutAnnotation(c.Sandbox)):
		return nil, nil
	}
	pod, known := n.find(ctx, c, find)
	if !known && isStatic(c.Sandbox) {
		return n.staticRequest(c, tokens)
	}
	if !known {
		return nil, refuse(PodUnknown, "the pod asks for exclusive CPUs, but the API server has not told this node's agent about it yet")
	}
	then := withSandboxAnnotations(pod, c.Sandbox)
	request, err := v1alpha1.ReadCPURequest(then)
	if err != nil {
		return nil, err
	}
	if err := n.checkIsolation(request); err != nil {
		return nil, err
	}
	placed, err := n.placed(c.Sandbox, then, request)
	if err != nil {
		return nil, err
	}
	if exclusive, err := n.admit(c, request, tokens); err != nil || !exclusive {
		return nil, err
	}
	return poolPod(c.Sandbox.Pod.UID, placed), nil
}

// announces reports whether the annotations of a container or of its sandbox show that its
// pod may request exclusive CPUs.
func (n *Node) announces(c workload.Container) bool {
	return len(v1alpha1.ParseAllocated(c.Annotations)) > 0 || v1alpha1.MayRequest(c.Sandbox.Annotations) && !n.placedWithoutCPUs(c.Sandbox)
}

// requestsWithoutAnnotation reports whether a pod requests exclusive CPUs although the annotations
// that the container runtime passes do not show it. Such a request is possible if another device
// plugin allocated the CPUs. requestsWithoutAnnotation also returns true for an invalid request,
// for example if the author wrote labels instead of annotations by mistake. It does not wait for a
// pod that the pod informer does not have, but returns false.
func (n *Node) requestsWithoutAnnotation(s workload.Sandbox) bool {
	pod, known := n.env.Pods.Pod(s.Pod)
	if !known {
		return false
	}
	request, err := v1alpha1.ReadCPURequest(withSandboxAnnotations(pod, s))
	return err != nil || request.Form != v1alpha1.None
}

// find returns the API object of a container's pod. It does not wait for a static pod, which may
// have no mirror pod.
func (n *Node) find(ctx context.Context, c workload.Container, find lookup) (*corev1.Pod, bool) {
	if isStatic(c.Sandbox) {
		return n.env.Pods.Pod(c.Sandbox.Pod)
	}
	return find(ctx, c.Sandbox.Pod)
}

func isStatic(s workload.Sandbox) bool {
	source := s.Annotations[annotationSource]
	return source != "" && source != "api"
}

// withSandboxAnnotations replaces the numalet.dev annotations of the pod by those of its sandbox.
// Edits of these annotations after the creation of the sandbox then have no effect.
func withSandboxAnnotations(pod *corev1.Pod, s workload.Sandbox) *corev1.Pod {
	ours := func(name, _ string) bool { return strings.HasPrefix(name, v1alpha1.Group+"/") }
	then := *pod
	then.Annotations = maps.Clone(pod.Annotations)
	maps.DeleteFunc(then.Annotations, ours)
	for name, value := range s.Annotations {
		if ours(name, value) {
			if then.Annotations == nil {
				then.Annotations = map[string]string{}
			}
			then.Annotations[name] = value
		}
	}
	return &then
}

// admit reports whether the container gets exclusive CPUs. It returns an error if this node does
// not serve the form of the pod's request (a CPU policy, or limits by NUMA node). It also returns
// an error if the container's limits do not match the device tokens that the kubelet allocated to
// the container. A token stands for one CPU of a NUMA node.
func (n *Node) admit(c workload.Container, request v1alpha1.CPURequest, tokens map[topology.NodeID]int) (exclusive bool, err error) {
	if request.Form != v1alpha1.None && request.Form != n.cfg.RequestForm && !n.cfg.Controller {
		return false, refuse(FormNotServed, "the pod requests CPUs in the %s form, but this node serves the %s form (--cpu-request-form=%s); use that form, or run the pod on a node that serves its own",
			request.Form, n.cfg.RequestForm, n.cfg.RequestForm)
	}
	want, exclusive := request.Exclusive(c.Name)
	if len(tokens)+len(want.PerNode) > 0 && !maps.Equal(tokens, want.PerNode) {
		return false, refuse(NotAsked, "the kubelet allocated %v exclusive CPUs per NUMA node to container %q, whose limits say %v; delete the pod, so that it is made and allocated anew (if that does not help, another device plugin serves these resources: see /readyz of numalet-deviceplugin)",
			tokens, c.Name, want.PerNode)
	}
	return exclusive, nil
}

// poolPod converts a pod's request to the type that the ledger of exclusive CPUs takes.
func poolPod(uid string, request v1alpha1.CPURequest) *pool.Pod {
	return &pool.Pod{UID: uid, Policy: request.Policy, Seed: seed(uid), Containers: request.Containers}
}

// seed returns the seed of the random numbers for the CPU policy random. The seed is a hash of the
// pod's UID, so it is the same at each attempt for one pod.
func seed(uid string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(uid))
	return h.Sum64()
}

// onlyContainer returns the part of a pod's request that is for one container. The container gets a
// grant of its own, so it reuses no CPUs of other containers.
func onlyContainer(p pool.Pod, name string) pool.Pod {
	i := slices.IndexFunc(p.Containers, func(w podspec.Container) bool { return w.Name == name })
	want := p.Containers[i]
	want.Kind = podspec.App
	p.UID, p.Containers = key(p.UID, name), []podspec.Container{want}
	return p
}
