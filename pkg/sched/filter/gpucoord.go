package filter

import "github.com/numalet/numalet/pkg/sched"

// gpuDimension is the name of a dimension that compares GPUs, and the function that makes the
// dimension. The function's parameter `text` is the dimension in the syntax of ParseDimension,
// such as "gpus:T4". Its parameter `kind` is the type of GPU in this text, or "" for all types.
type gpuDimension struct {
	name string
	make func(text, kind string) Dimension
}

func ofGPUs() []gpuDimension {
	return []gpuDimension{{"gpus", wholeGPUs}, {"gpu-share", largestShare}, {"gpu-total", totalGPU}}
}

// wholeGPUs returns the dimension that compares the number of entirely free GPUs of a node with the
// number of whole GPUs that a pod requests. The dimension considers only GPUs of one type (the
// parameter `kind`), or of all types if `kind` is "".
func wholeGPUs(name, kind string) Dimension {
	return Dimension{Name: name,
		Node: func(node *sched.Node) int64 {
			return sum(node, kind, func(gpu sched.GPU) int64 { return int64(max(0, gpu.Free) / sched.WholeGPU) })
		},
		Pod: func(pod *sched.Pod) int64 {
			if pod.GPUs.Milli < sched.WholeGPU {
				return 0
			}
			return of(pod, kind, int64(pod.GPUs.Count))
		}}
}

// largestShare returns the dimension that compares the largest free amount of a single
// GPU with the amount that a pod requests of each of its GPUs.
func largestShare(name, kind string) Dimension {
	return Dimension{Name: name,
		Node: func(node *sched.Node) int64 {
			most := sched.MilliGPU(0)
			for _, gpu := range node.GPUs {
				if kind == "" || gpu.Type == kind {
					most = max(most, gpu.Free)
				}
			}
			return int64(most)
		},
		Pod: func(pod *sched.Pod) int64 {
			if pod.GPUs.Count == 0 {
				return 0
			}
			return of(pod, kind, int64(pod.GPUs.Milli))
		}}
}

// totalGPU returns the dimension that compares the sum of the free amounts of a node's
// GPUs with the sum of the amounts that a pod requests.
func totalGPU(name, kind string) Dimension {
	return Dimension{Name: name,
		Node: func(node *sched.Node) int64 {
			return sum(node, kind, func(gpu sched.GPU) int64 { return int64(max(0, gpu.Free)) })
		},
		Pod: func(pod *sched.Pod) int64 { return of(pod, kind, int64(pod.GPUs.Count)*int64(pod.GPUs.Milli)) }}
}

func sum(node *sched.Node, kind string, weight func(sched.GPU) int64) int64 {
	total := int64(0)
	for _, gpu := range node.GPUs {
		if kind == "" || gpu.Type == kind {
			total += weight(gpu)
		}
	}
	return total
}

// The function `of` returns a pod's coordinate in a dimension that considers only GPUs of one type
// (the parameter `kind`), or of all types if `kind` is "". The argument `amount` is what the pod
// requests. If `kind` is "", or if the pod accepts only GPUs of this type, the coordinate is this
// amount. Otherwise it is 0, because the pod may need no GPU of this type.
func of(pod *sched.Pod, kind string, amount int64) int64 {
	if kind == "" || len(pod.GPUs.Types) == 1 && pod.GPUs.Types[0] == kind {
		return amount
	}
	return 0
}
