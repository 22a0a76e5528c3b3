package openb

import (
	"fmt"
	"io"
	"strings"

	"github.com/numalet/numalet/pkg/sched"
)

// ReadPods reads pods from CSV with the columns name, cpu_milli, memory_mib,
// num_gpu, gpu_milli (of each card) and, optionally, gpu_spec: the types of card
// allowed, separated by "|". They stay in the order of the file.
func ReadPods(r io.Reader) ([]*sched.Pod, error) {
	var pods []*sched.Pod
	err := eachPod(r, func(_ *row, p *sched.Pod) { pods = append(pods, p) })
	return pods, err
}

// eachPod calls do for every row, which may need more columns.
func eachPod(r io.Reader, do func(*row, *sched.Pod), more ...string) error {
	t, err := open(r, append(more, "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")...)
	if err != nil {
		return fmt.Errorf("read pods: %w", err)
	}
	known := map[string]bool{}
	err = t.each(func(row *row) error {
		p := pod(row)
		if known[p.Name] || p.Name == "" {
			return fmt.Errorf("pod %q: names must be there, each once", p.Name)
		}
		if ask := p.GPUs; ask.Count > 0 && (ask.Milli < 1 || ask.Milli > sched.WholeGPU) {
			return fmt.Errorf("pod %q asks for %d thousandths of a card: want 1 to %d", p.Name, ask.Milli, sched.WholeGPU)
		}
		known[p.Name] = true
		do(row, p)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read pods: %w", err)
	}
	return nil
}

func pod(row *row) *sched.Pod {
	p := &sched.Pod{UID: row.text("name"), Name: row.text("name"), Requests: sched.Amounts{
		CPU: sched.MilliCPU(row.number("cpu_milli")), Memory: sched.Bytes(row.number("memory_mib") * mebibyte), Pods: 1,
	}}
	p.GPUs.Count = int(row.number("num_gpu"))
	p.GPUs.Milli = sched.MilliGPU(row.number("gpu_milli"))
	if p.GPUs.Count == 0 {
		p.GPUs.Milli = 0
	}
	if spec := row.text("gpu_spec"); spec != "" {
		p.GPUs.Types = strings.Split(spec, "|")
	}
	return p
}
