package fragmentation

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// stock has those free amounts of a node that measure.lost reads. GPUs with the same type and the
// same free amount form one lot. A node has only a few lots, so measuring lots is several times
// faster than measuring single GPUs.
type stock struct {
	cpu    sched.MilliCPU
	memory sched.Bytes
	lots   []lot // ascending by the field `free`; GPUs with nothing free are left out
}

// lot is a number of GPUs with the same type and the same free amount.
type lot struct {
	free  sched.MilliGPU
	model string
	n     int
}

// request has the parts of a pod's request that scores depend on.
type request struct {
	cpu    sched.MilliCPU
	memory sched.Bytes
	count  int
	milli  sched.MilliGPU
	types  []string // nil for any
}

func requestOf(pod *sched.Pod) request {
	return request{pod.Requests.CPU, pod.Requests.Memory, pod.GPUs.Count, pod.GPUs.Milli, pod.GPUs.Types}
}

// stockOf returns the free amounts in a node's record. It overwrites the given slice of lots, and
// uses the slice's memory for the result. If the node's GPUs have no IDs, the number of free GPUs
// is the free amount of an extended resource, which the argument `resource` names.
func stockOf(node *sched.Node, resource string, lots []lot) stock {
	s := stock{node.Free.CPU, node.Free.Memory, lots[:0]}
	if len(node.GPUs) > 0 && node.GPUs[0].ID == "" {
		s.add(sched.WholeGPU, node.GPUs[0].Type, int(max(0, min(int64(len(node.GPUs)), node.Free.Extended.Of(resource)))))
		return s
	}
	for i := range node.GPUs {
		s.add(node.GPUs[i].Free, node.GPUs[i].Type, 1)
	}
	return s
}

// add adds n GPUs of one type with the same free amount.
func (s *stock) add(free sched.MilliGPU, model string, n int) {
	if free <= 0 || n == 0 {
		return
	}
	i := 0
	for ; i < len(s.lots) && s.lots[i].free <= free; i++ {
		if s.lots[i].free == free && s.lots[i].model == model {
			s.lots[i].n += n
			return
		}
	}
	s.lots = slices.Insert(s.lots, i, lot{free, model, n})
}

// free returns the free capacity of all GPUs.
func (s *stock) free() (sum sched.MilliGPU) {
	for i := range s.lots {
		sum += s.lots[i].free * sched.MilliGPU(s.lots[i].n)
	}
	return sum
}

// fits reports whether CPU, memory and GPUs suffice for a pod.
func (s *stock) fits(r *request) bool {
	if r.cpu > 0 && r.cpu > s.cpu || r.memory > 0 && r.memory > s.memory {
		return false
	}
	able := 0
	for i := len(s.lots) - 1; i >= 0 && able < r.count && s.lots[i].free >= r.milli; i-- {
		if s.lots[i].of(r.types) {
			able += s.lots[i].n
		}
	}
	return able >= r.count
}

// The method `less` returns the stock that remains after the placement of a pod, which must fit. Of
// the GPUs that satisfy the request, the method takes those with the least free capacity. For most
// pods, package filter chooses GPUs with the same types and free amounts as the method. It may
// choose others for pods with exclusive CPUs, or if the node has GPUs of several models. The method
// overwrites the given slice `lots`, and uses the slice's memory for the result.
func (s *stock) less(r *request, lots []lot) stock {
	after := stock{s.cpu - r.cpu, s.memory - r.memory, append(lots[:0], s.lots...)}
	need := r.count
	for i := range s.lots {
		from := &s.lots[i]
		if need == 0 || from.free < r.milli || !from.of(r.types) {
			continue
		}
		n := min(need, from.n)
		after.remove(from, n)
		after.add(from.free-r.milli, from.model, n)
		need -= n
	}
	return after
}

// remove removes n GPUs from the lot that has the same type and free amount as the given lot.
func (s *stock) remove(from *lot, n int) {
	i := slices.IndexFunc(s.lots, func(l lot) bool { return l.free == from.free && l.model == from.model })
	if s.lots[i].n -= n; s.lots[i].n == 0 {
		s.lots = slices.Delete(s.lots, i, i+1)
	}
}

// The method `of` reports whether the GPUs of the lot are of one of the given types, or whether
// `types` is nil, which allows any type.
func (l *lot) of(types []string) bool { return types == nil || slices.Contains(types, l.model) }
