// Package distbucket finds nodes for tasks without scanning all nodes. It implements DistBuckets, a
// multi-dimensional index of the free resources of nodes. For each node, the index stores the name
// and a vector of free amounts. It does not know what the amounts mean.
//
//	x, err := distbucket.New(distbucket.Config{Theta: distbucket.Vector{1, 1}})
//	err = x.Add(distbucket.Node{Name: "a", Free: distbucket.Vector{4, 4}})
//	nodes := x.View().AppendPick(nil, distbucket.Query{Request: distbucket.Vector{1, 2}}, 3)
//
// # What is stored
//
// A dimension is one resource. The coordinate of a node has a number ⌈free/θ⌉ for each dimension,
// where free is the free amount and the granularity θ is configured. A bucket is the set of nodes
// whose coordinates begin with the same numbers, such as (5,*). A leaf bucket is the set of nodes
// whose coordinates are equal. If nodes are sorted by coordinate, the nodes of a bucket are
// contiguous. So buckets are not stored: nodes are the entries of a B-tree that is sorted by
// coordinate, and a bucket is a range of its entries.
//
//	separators  (3,1)                          (5,2)
//	maxima      {3,5} {4,4}                    {5,5} {6,4}
//	              │                              │
//	entries     (3,1) (3,5) (4,1) (4,2) (4,4)  (5,2) (5,5) (6,1) (6,4)
//	                        └─ bucket (4,*) ┘
//
// A page of the B-tree that is not a leaf has child pages. For each child, it stores the first key
// in the child (the separator), and up to three maxima of the free amounts of the nodes below the
// child. A search skips each child whose maxima are too small for the request. If a request fits no
// node, the search usually ends at the root.
//
// # Complexity
//
// For n nodes, Add, Update and Remove take O(log n) time. There is one exception, which is rare: an
// Add that has to give new labels to all nodes takes O(n log n) time. (A label is an integer that
// is compared instead of a node's name; see Invariants.) The base of the logarithm is about 7: with
// 100,000 nodes, each call reads about six pages of a B-tree. A search also reads about six pages
// to find the next node that fits. In the worst case, the maxima exclude no page although few nodes
// fit, and the search reads all pages.
//
// The original DistBuckets has no B-tree: each bucket stores an array of its child buckets. An
// operation finds a child bucket by its index in the array, so it takes O(1) time for a fixed
// number of possible coordinates. But the memory grows with the number of possible
// coordinates, which is the product of capacity/θ over all dimensions. With θ = 1, CPU in
// millicores and memory in MiB have 10¹¹ possible coordinates. If θ is so large that the arrays fit
// into memory, a leaf bucket has thousands of nodes, which must be sorted within the bucket. Also,
// an update would have to copy a whole array for each dimension, or change the arrays in place while
// readers wait. The B-tree takes O(n) memory for n nodes and every θ, and its snapshots share pages.
//
// # Concurrency
//
// One goroutine, the writer, changes an Index. Index.View returns a view, which is an immutable
// snapshot of the index, without copying the index. Any number of goroutines may search a view
// without locks. Before the writer changes a page that a view can reach, it copies the page
// (copy-on-write). Pages that do not change stay shared.
//
// A view becomes outdated when the writer makes further changes. A search of an outdated view may
// return a node whose resources have been allocated meanwhile. So the caller must check the node's
// newest state in Query.Accept, and again when it allocates resources of the node. A search may
// also miss a node whose free resources have grown meanwhile. So the caller must search a newer
// view before it concludes that no node fits. A newer view can have more free resources only if
// resources were released. Package nodestate counts the releases (FreedSeq), and its View has the
// count at the time when the View was made. As long as the current count equals this one, no newer
// view is needed.
//
// # Invariants
//
//   - Entries and pages that a view can reach never change.
//   - Each node has a label, an integer. Labels have the same order as the names of the nodes, so
//     trees compare integers instead of strings.
//   - In a view, the maxima and exactMax (upper bounds that a page stores) cover the free amounts
//     of all nodes below the page. They may be too high, but never too low.
//   - The tree that is sorted by coordinate gets updates with a delay. It lacks at most the newest
//     deltaSize updates (the delta). Every view has a list of the updates that its tree lacks.
//
// # Files
//
// The files are best read in this order. space.go: vectors, granularity θ, coordinates. entry.go:
// what is stored for each node. key.go: coordinates as integers, orders, ranges. maxima.go: upper
// bounds of many vectors. page.go, tree.go: the copy-on-write B-tree. iterator.go: positions in the
// tree, and which pages a search skips. names.go: labels, and cursors. log.go: updates that are not
// yet in the tree. index.go: Index, Handle and View. query.go: queries and policies. scan.go,
// pick.go: how each policy finds its nodes. reserving.go: an index in which nodes can be reserved
// for tasks. The tests compare AppendPick with two other implementations: naive_test.go sorts all
// nodes for each query, and buckets_test.go has the iterator of the original DistBuckets.
package distbucket
