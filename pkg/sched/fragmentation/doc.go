// Package fragmentation ranks nodes by how little of their free GPU capacity a pod would make
// useless to other pods. To learn what pods request, it counts the pods that it has seen.
//
// It measures useless capacity as FGD does (Weng et al., "Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023), and adds a second
// measure. The type measure has both formulas.
//
//	r := fragmentation.New(fragmentation.Options{Now: time.Now})
//	r.Set(slot, record) // for each node, and whenever one has changed
//	r.See(pod)          // for each pod, once
//	slots := r.Best(nil, pod, 8)
//
// Scores are cached and computed again only for nodes that have changed. A placement changes one
// node, so only a few scores are computed for each decision.
//
// It neither decides whether a pod fits a node (package filter does) nor searches by amounts
// (package distbucket does).
package fragmentation
