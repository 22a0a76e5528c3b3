package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
)

// beside reports whether two containers may run at the same time. App containers and
// sidecars do. An init container runs only with the sidecars started before it, so later
// containers may reuse its CPUs. This is the kubelet's rule:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/cpumanager/policy_static.go (updateCPUsToReuse)
func beside(claims []Claim, i, j int) bool {
	first, second := claims[min(i, j)].Kind, claims[max(i, j)].Kind
	return first != podspec.Init && second != podspec.Init || first == podspec.Sidecar
}

// held returns every CPU of the claims.
func held(claims []Claim) cpuset.Set {
	var all cpuset.Set
	for _, c := range claims {
		all = all.Union(c.held())
	}
	return all
}

// peak returns the maximal total weight of a pod's claims that run at the same time. The
// claims are in the order in which they run. As for a pod's requests in Kubernetes, it is
//
//	max( initᵢ + Σ sidecars before i,  Σ apps + Σ sidecars )
//
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
