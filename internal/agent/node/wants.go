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

// annotationSource is where the kubelet got a pod from: "api", or "file" and
// "http" of static pods. The kubelet sets it; no author can forge it.
// Source: k8s.io/kubernetes/pkg/kubelet/types, ConfigSourceAnnotationKey.
const annotationSource = "kubernetes.io/config.source"

// lookup finds a pod by UID.
type lookup func(ctx context.Context, uid string) (*corev1.Pod, bool)

// wants returns what has to be reserved before the container may run, nil when
// it shares. Sandbox and container annotations tell whether a pod asks at all,
// so that the others never wait for the informer. It takes no lock: the lookup
// may wait.
func (n *Node) wants(ctx context.Context, c workload.Container, find lookup) (*pool.Pod, error) {
	tokens := v1alpha1.ParseAllocated(c.Annotations)
	told := len(tokens) > 0 || v1alpha1.MayAsk(c.Sandbox.Annotations) && !n.placedWithoutCPUs(c.Sandbox)
	switch {
	case told && n.cfg.Disabled:
		return nil, refuse(SwitchedOff, "exclusive CPUs are switched off on this node; delete the pod and let it run on a node labelled %s=true",
			v1alpha1.LabelExclusiveCPUs)
	case !told && (n.cfg.Disabled || !n.asksUntold(c.Sandbox)):
		return nil, nil
	}
	pod, known := n.find(ctx, c, find)
	if !known && isStatic(c.Sandbox) {
		return n.staticWants(c, tokens)
	}
	if !known {
		return nil, refuse(PodUnknown, "the pod asks for exclusive CPUs, but the API server has not told this node's agent about it yet; the kubelet will try again")
	}
	then := asCreated(pod, c.Sandbox)
	request, err := v1alpha1.ReadCPURequest(then)
	if err != nil {
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

// asksUntold reports whether a pod that is known asks although no annotation
// tells: explicitly, but another device plugin answered the kubelet, or badly, by
// labels. A pod that is not known yet is not waited for.
func (n *Node) asksUntold(s workload.Sandbox) bool {
	pod, known := n.env.Pods.Pod(s.Pod.UID)
	if !known {
		return false
	}
	request, err := v1alpha1.ReadCPURequest(asCreated(pod, s))
	return err != nil || request.Form != v1alpha1.None
}

// find looks a pod up; a static one is not waited for, since nobody knows
// whether it has a mirror pod.
func (n *Node) find(ctx context.Context, c workload.Container, find lookup) (*corev1.Pod, bool) {
	if isStatic(c.Sandbox) {
		return n.env.Pods.Pod(c.Sandbox.Pod.UID)
	}
	return find(ctx, c.Sandbox.Pod.UID)
}

func isStatic(s workload.Sandbox) bool {
	source := s.Annotations[annotationSource]
	return source != "" && source != "api"
}

// asCreated returns the pod with the numalet.dev annotations that it had when
// its sandbox was made: later edits of a running pod mean nothing.
func asCreated(pod *corev1.Pod, s workload.Sandbox) *corev1.Pod {
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

// admit checks a request against what this node serves and against the device
// tokens that the container was given, and reports whether it is exclusive.
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

// poolPod returns what the ledger has to reserve for a pod.
func poolPod(uid string, request v1alpha1.CPURequest) *pool.Pod {
	return &pool.Pod{UID: uid, Policy: request.Policy, Seed: seed(uid), Containers: request.Containers}
}

// seed makes the random policy choose alike for one pod and differently for two.
func seed(uid string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(uid))
	return h.Sum64()
}

// onlyContainer narrows a pod's wants to one container, which then has a grant
// of its own and reuses nothing.
func onlyContainer(p pool.Pod, name string) pool.Pod {
	i := slices.IndexFunc(p.Containers, func(w podspec.Container) bool { return w.Name == name })
	want := p.Containers[i]
	want.Kind = podspec.App
	p.UID, p.Containers = key(p.UID, name), []podspec.Container{want}
	return p
}
