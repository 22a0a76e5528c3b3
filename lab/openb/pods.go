package openb

import (
	"fmt"
	"io"
	"strings"

	"github.com/numalet/numalet/pkg/sched"
)

// ReadPods reads pods from CSV with the columns name, cpu_milli, memory_mib, num_gpu and gpu_milli
// (the requested thousandths of each GPU). The optional column gpu_spec has the allowed GPU types,
// separated by "|". The pods are in the order of the file.
func ReadPods(r io.Reader) ([]*sched.Pod, error) {
	var pods []*sched.Pod
	err := eachPod(r, func(_ *row, pod *sched.Pod) { pods = append(pods, pod) })
	return pods, err
}

// eachPod calls the function given as `do` for each row, with the pod of the row. It returns an
// error if the file lacks a column that ReadPods requires, or one of the columns given as `more`.
func eachPod(r io.Reader, do func(*row, *sched.Pod), more ...string) error {
	t, err := open(r, append([]string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}, more...)...)
	if err != nil {
		return fmt.Errorf("read pods: %w", err)
	}
	if err := t.each(func(row *row) { do(row, pod(row)) }); err != nil {
		return fmt.Errorf("read pods: %w", err)
	}
	return nil
}

func pod(row *row) *sched.Pod {
	p := &sched.Pod{Name: row.name("name"), Requests: sched.Amounts{
		CPU: sched.MilliCPU(row.number("cpu_milli")), Memory: sched.Bytes(row.number("memory_mib") * mebibyte), Pods: 1,
	}}
	p.UID = p.Name
	milli := sched.MilliGPU(row.number("gpu_milli"))
	if p.GPUs.Count = int(row.upTo(gpusPerNode, "num_gpu")); p.GPUs.Count > 0 {
		p.GPUs.Milli = milli
		if milli < 1 || milli > sched.WholeGPU {
			row.wrong("gpu_milli", fmt.Sprintf("1 to %d thousandths of a GPU", sched.WholeGPU))
		}
	}
	if spec := row.text("gpu_spec"); spec != "" {
		p.GPUs.Types = strings.Split(spec, "|")
	}
	return p
}
