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
// A dimension is one resource. A node's coordinate in a dimension is ⌈free/θ⌉, where free is the
// free amount and the granularity θ is configured. A bucket is the set of nodes whose coordinates
// share a prefix, such as (5,*). If nodes are sorted by coordinate, those of a bucket are
// contiguous. So buckets are not stored: nodes are the entries of a B-tree that is sorted by
// coordinate, and a bucket is a range of its entries.
//
//	separators  (3,1)                          (5,2)
//	maxima      {3,5} {4,4}                    {5,5} {6,4}
//	              │                              │
//	entries     (3,1) (3,5) (4,1) (4,2) (4,4)  (5,2) (5,5) (6,1) (6,4)
//	                        └─ bucket (4,*) ┘
//
// For each child, an inner page has the first key of the child (the separator) and up to three
// maxima of the free amounts of the nodes below it. A search skips each child whose maxima are too
// small for the request. If a request fits no node, the search usually ends at the root.
//
// # Complexity
//
// For n nodes, Add, Update and Remove take O(log n) time. The base of the logarithm is about 7: with
// 100,000 nodes, they read six pages. A search reads about as many pages to find the next node that
// fits. In the worst case it reads all pages, if maxima cannot separate nodes that fit from nodes
// that do not.
//
// The DistBuckets paper has an array of children in each bucket instead, and takes O(1) time for a
// fixed number of possible coordinates. But its memory grows with that number, the product of
// capacity/θ over all dimensions. This is 10¹¹ for CPU in millicores and memory in MiB with θ = 1.
// If θ is large enough for arrays, a leaf bucket has thousands of nodes, which need an order of
// their own. Also, each update would copy a whole array per dimension, or make readers wait. The
// B-tree takes O(n) memory for every θ, and its versions share pages.
//
// # Concurrency
//
// One goroutine writes an Index. Index.View returns an immutable snapshot of the index, without
// copying it. Any number of goroutines may search this view without locks. The writer copies each
// page that a view can reach before it changes the page (copy-on-write). All other pages stay
// shared.
//
// A view is outdated when the writer makes further changes. It may return a node whose resources
// have been allocated meanwhile. So the caller must check the node's newest state in Query.Accept,
// and again when it allocates resources of the node. A view may also miss a node whose free
// resources have grown meanwhile. So the caller must search a newer view before it concludes that no
// node fits. Package nodestate counts how often resources were released. The count in nodestate.View
// tells whether a newer view can have more free resources.
//
// # Invariants
//
//   - Entries and pages that a view can reach never change.
//   - Each node has a label, an integer. Labels have the same order as the names of the nodes, so
//     trees compare integers instead of strings.
//   - In a view, the maxima and exactMax of a page cover the free amounts of all nodes below the
//     page. They may be too high, but never too low.
//   - The tree by coordinate lacks at most the deltaSize newest updates. Every view has a list of
//     these updates.
//
// # Files
//
// Read them in this order. space.go: vectors, granularity θ, coordinates. entry.go: what is stored
// for each node. key.go: coordinates as integers, orders, ranges. maxima.go: upper bounds of many
// vectors. page.go, tree.go: the copy-on-write B-tree. iterator.go: positions in the tree, and which
// pages a search skips. names.go: labels, and cursors. log.go: updates that are not yet in the tree.
// index.go: Index, Handle and View. query.go: queries and policies. scan.go, pick.go: how each
// policy finds its nodes. reserving.go: an index in which nodes can be reserved for tasks. The tests
// compare AppendPick with two other implementations: naive_test.go sorts all nodes for each query,
// and buckets_test.go has the iterator over buckets from the paper.
package distbucket
