package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
)

// beside reports whether two containers may run at the same time: apps and
// sidecars do; an init container does only with the sidecars started before it.
// So a later container may reuse an init container's CPUs, by the kubelet's rule:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/cpumanager/policy_static.go (updateCPUsToReuse)
func beside(claims []Claim, i, j int) bool {
	first, second := claims[min(i, j)].Kind, claims[max(i, j)].Kind
	return first != podspec.Init && second != podspec.Init || first == podspec.Sidecar
}

// held returns every CPU of the claims.
func held(claims []Claim) cpuset.Set {
	var all cpuset.Set
	for _, c := range claims {
		all = all.Union(c.CPUs)
	}
	return all
}

// peak returns the most that the claims of a pod, in the order in which they
// run, weigh at one time:
//
//	max( initᵢ + Σ sidecars before i,  Σ apps + Σ sidecars )
//
// which is how Kubernetes counts a pod's requests.
// https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
func peak(claims []Claim, weight func(Claim) uint64) uint64 {
	var sidecars, inits, apps uint64
	for _, c := range claims {
		switch c.Kind {
		case podspec.Init:
			inits = max(inits, sidecars+weight(c))
		case podspec.Sidecar:
			sidecars += weight(c)
		case podspec.App:
			apps += weight(c)
		}
	}
	return max(inits, sidecars+apps)
}
