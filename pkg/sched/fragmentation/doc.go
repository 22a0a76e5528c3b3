// Package fragmentation ranks the nodes for a pod. On the best node, the pod would make the least
// free GPU capacity useless to other pods. To learn what other pods will request, the package
// counts the requests of the pods that it has seen.
//
// The package measures useless capacity as FGD does (Weng et al., "Beware of Fragmentation:
// Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023), and adds
// a second measure. The comment of the type `measure` has the formulas of the two measures.
//
//	r := fragmentation.New(fragmentation.Options{Now: time.Now})
//	r.Set(slot, record) // for each node, and whenever one has changed
//	r.See(pod)          // for each pod, once
//	slots := r.Best(nil, pod, 8)
//
// Scores are cached. Usually they are computed again only for nodes that have changed. The
// placement of a pod changes one node, so only a few scores are computed for each decision.
//
// The package neither decides whether a pod fits a node (package filter does) nor searches nodes by
// free amounts (package distbucket does).
package fragmentation
