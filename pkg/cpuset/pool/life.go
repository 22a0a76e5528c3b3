package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
)

// The function `beside` reports whether the containers of claims[i] and claims[j] can run at the
// same time. App containers and sidecars of a pod all run together. While an init container runs,
// the only other running containers are the sidecars that started before it. Containers that come
// after the init container start only when it has ended, so they can reuse its CPUs. The kubelet
// has the same rule:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/cpumanager/policy_static.go
// (updateCPUsToReuse)
func beside(claims []Claim, i, j int) bool {
	first, second := claims[min(i, j)].Kind, claims[max(i, j)].Kind
	return first != podspec.Init && second != podspec.Init || first == podspec.Sidecar
}

// held returns every CPU that the claims hold, including CPUs that containers have given back
// (Claim.Leaving).
func held(claims []Claim) cpuset.Set {
	var all cpuset.Set
	for _, c := range claims {
		all = all.Union(c.held())
	}
	return all
}

// peak returns the largest amount that containers of a pod use at the same time. The function given
// as `weight` returns what the container of one claim uses, for example bytes of memory. The claims
// must be in the order in which their containers run. The formula is that of a pod's effective
// request in Kubernetes:
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
