// Package distbucket finds nodes for tasks without scanning all nodes. It implements DistBuckets, a
// multi-dimensional index of free resources. It stores names and vectors of amounts, and does not
// know what the amounts mean.
//
//	x, err := distbucket.New(distbucket.Config{Theta: distbucket.Vector{1, 1}})
//	err = x.Add(distbucket.Node{Name: "a", Free: distbucket.Vector{4, 4}})
//	nodes := x.View().AppendPick(nil, distbucket.Query{Request: distbucket.Vector{1, 2}}, 3)
//
// # What is stored
//
// A node's coordinate is ⌈free/θ⌉ in each dimension. A bucket is the set of nodes whose coordinates
// share a prefix, such as (5,*). Sorted lexicographically, the nodes of a bucket are contiguous, so
// no bucket is stored: nodes are the entries of a B-tree by coordinate, and a bucket is a range of it.
//
//	separators  (3,1)                          (5,2)
//	maxima      {3,5} {4,4}                    {5,5} {6,4}
//	              │                              │
//	entries     (3,1) (3,5) (4,1) (4,2) (4,4)  (5,2) (5,5) (6,1) (6,4)
//	                        └─ bucket (4,*) ┘
//
// Inner pages keep, for each child, its first key (the separator) and the maxima of what is free
// below it. A search skips each subtree whose maxima do not cover the request. A request that fits
// nowhere usually ends at the root.
//
// # Complexity
//
// Add, Update and Remove are O(log n), with a base of about 7: they read six pages at 100,000
// nodes. Finding the next node that fits reads about as many pages. The worst case is O(n), if
// maxima cannot separate nodes that fit from nodes that do not. The DistBuckets paper has O(1) for
// a fixed space, with an array of children in each bucket. That constant is the number of
// coordinates: memory grows with Π (capacity/θ), which is 10¹¹ for CPU in millicores and memory in
// MiB at θ = 1, and with a θ coarse enough for arrays, a leaf holds thousands of nodes that need an
// order of their own. And each update would copy a whole array per level, or make readers wait. The
// tree takes O(n) memory for every θ, and its versions share pages.
//
// # Concurrency
//
// One goroutine writes an Index. Index.View returns an immutable version without copying; any number
// of goroutines search it without locks. After a view the writer copies a page before it changes it
// (copy-on-write), so all other pages stay shared.
//
// A view is stale once the writer makes further changes. It may return a node whose resources have
// been allocated since, so the caller must check the node's newest state, in Query.Accept and again
// at commit. It may miss a node whose free resources have grown since, so the caller must search
// again before it concludes that nothing fits. Package nodestate counts the releases of resources.
// The count in its View tells whether a failed search was stale.
//
// # Invariants
//
//   - An entry never changes once a view can reach it; nor does a page.
//   - Labels order nodes as their names do, so trees compare integers instead of strings.
//   - In a view, a page's maxima and exactMax cover everything below it. They may be too high, never
//     too low.
//   - The tree by coordinate lags by at most deltaSize updates; every view carries those updates.
//
// # Files
//
// Read them in this order. space.go: vectors, granularity θ, coordinates. entry.go: what is
// stored of a node. key.go: coordinates as integers, orders, ranges. maxima.go: upper bounds
// of many vectors. page.go, tree.go: the copy-on-write B-tree. iterator.go: positions in it,
// and pruning. names.go: labels, and cursors. log.go: updates that are not yet in the tree.
// index.go: Index, Handle and View. query.go: queries and policies. scan.go, pick.go: how each
// policy finds its nodes. reserving.go: an index in which tasks reserve. In the tests,
// naive_test.go is an obvious implementation and buckets_test.go is the paper's iterator over
// buckets; Pick is compared with both.
package distbucket
