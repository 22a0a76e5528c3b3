package queue

// heaped is an element of a heapOf: it knows who is before whom, and where it is.
type heaped[T any] interface {
	before(T) bool
	moved(to int)
}

// heapOf is a heap for container/heap.
type heapOf[T heaped[T]] []T

func (h heapOf[T]) Len() int           { return len(h) }
func (h heapOf[T]) Less(i, j int) bool { return h[i].before(h[j]) }

func (h heapOf[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].moved(i)
	h[j].moved(j)
}

func (h *heapOf[T]) Push(x any) {
	x.(T).moved(len(*h))
	*h = append(*h, x.(T))
}

func (h *heapOf[T]) Pop() any {
	var none T
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = none
	*h = (*h)[:last]
	return x
}
