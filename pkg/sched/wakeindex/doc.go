// Package wakeindex finds the unschedulable pods that a change may help, without a visit to
// all of them.
//
// It groups pods by shape: everything that decides whether a node fits a pod. A Deployment
// with 10,000 pending replicas is one shape. Shapes are in an index by what they request,
// so a node with few free resources leads only to shapes that request no more than these.
//
//	x := wakeindex.New(space)
//	x.Add(pod)                                  // no node fits it
//	for _, pod := range x.Helped(record) { … }  // resources became free on this node
//
// # Complexity
//
// Helped costs O(log shapes), plus O(1) for each shape whose amounts fit and for each pod
// that it returns. In the worst case, where maxima do not separate what fits from what does
// not, it costs O(shapes). Add and Remove cost O(log shapes).
//
// Lists of pods by resource were rejected. Each list would be sorted by request, and a pod would be
// in the list of the resource that it lacks. A pod that lacks memory on one half of the nodes and
// CPUs on the other has no such resource.
package wakeindex
