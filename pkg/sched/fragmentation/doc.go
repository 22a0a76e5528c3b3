// Package fragmentation ranks nodes by how little of their free GPU capacity a pod would make
// useless to other pods. It learns what other pods request from the pods that it has seen.
//
// The measure is the sum of that of FGD (Weng et al., "Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023) and another one; see
// measure.
//
//	r := fragmentation.New(fragmentation.Options{Now: time.Now})
//	r.Set(slot, record) // for each node, and whenever one has changed
//	r.See(pod)          // for each pod, once
//	slots := r.Best(nil, pod, 8)
//
// It computes only scores that have changed. A placement changes one node, so for each kind of pods
// only the scores of a few nodes are computed again.
//
// It neither decides whether a pod fits a node (package filter does) nor searches by amounts
// (package distbucket does).
package fragmentation
