package node

import (
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/podspec"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// annotationSource is the annotation that says where the kubelet got a pod from: "api", or "file"
// or "http" for static pods. The kubelet overwrites this annotation, so the author of a pod cannot
// forge it.
// Source: k8s.io/kubernetes/pkg/kubelet/types, ConfigSourceAnnotationKey.
const annotationSource = "kubernetes.io/config.source"

// isStatic reports whether the sandbox's pod is a static pod.
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

// poolPod converts a pod's request to the type that the ledger of exclusive CPUs takes.
func poolPod(uid string, request v1alpha1.CPURequest) *pool.Pod {
	return &pool.Pod{UID: uid, Policy: request.Policy, Seed: seed(uid), Containers: request.Containers}
}

// seed returns the seed of the random numbers for the CPU policy "random". The seed is a hash of
// the pod's UID, so it is the same at each attempt for one pod.
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
