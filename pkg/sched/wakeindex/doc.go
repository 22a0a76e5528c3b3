// Package wakeindex finds the unschedulable pods that may fit a node on which resources became
// free. It does not have to check every unschedulable pod.
//
// The package groups pods by shape. Pods of one shape are equal in everything that decides whether
// they fit a node. For example, 10,000 pending replicas of a Deployment have one shape. Shapes are
// indexed by what they request, so a search skips most shapes that request more than the node has
// free.
//
//	x := wakeindex.New(space)
//	x.Add(pod)                                  // a pod that fits no node now
//	for _, pod := range x.Helped(record) { … }  // resources became free on this node
//
// # Complexity
//
// Let S be the number of shapes. Add and Remove take O(log S) steps. Helped usually takes O(log S)
// steps, plus one for each shape that the search finds, plus one for each pod of the shapes that
// really fit the node. (The search compares only rounded amounts of resources, such as CPU and
// memory.) The search skips a set of shapes if, for one of the resources, even the smallest request
// in the set is more than the node has free. In the worst case, no set can be skipped, and the
// search visits all S shapes.
//
// An alternative was rejected: one list of pods for each resource. Each pod would be in the list of
// the resource that it lacks, sorted by request. But a pod need not lack the same resource on all
// nodes: it may lack memory on one half of the nodes, and CPUs on the other half.
package wakeindex
