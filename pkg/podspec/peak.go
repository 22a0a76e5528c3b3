package podspec

// Peak returns the most that a pod's containers, in the order in which they
// run, weigh at one time:
//
//	max( initᵢ + Σ sidecars before i,  Σ apps + Σ sidecars )
//
// https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
func Peak(containers []Container, weight func(i int) int64) int64 {
	var sidecars, inits, apps int64
	for i, c := range containers {
		switch c.Kind {
		case Init:
			inits = max(inits, sidecars+weight(i))
		case Sidecar:
			sidecars += weight(i)
		case App:
			apps += weight(i)
		}
	}
	return max(inits, sidecars+apps)
}
