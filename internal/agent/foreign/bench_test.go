package foreign

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// BenchmarkProc measures how long it takes to read the CPU times from the /proc of this machine.
func BenchmarkProc(b *testing.B) {
	p := procfs{root: os.DirFS("/proc")}
	for b.Loop() {
		if _, err := p.read(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(p.known)), "processes")
}

// BenchmarkLargeMachine measures one call of Monitor.Sample, which measures the foreign time (the
// CPU time that others used on exclusive CPUs) of all containers. It uses a fake machine with 512
// CPUs, 4,096 kernel threads, and 64 containers of 8 CPUs each. The agent calls Sample every 10 s,
// so the measured time, divided by 10 s, is the share of one CPU that the agent uses for this.
func BenchmarkLargeMachine(b *testing.B) {
	proc := b.TempDir()
	write := func(name, text string) {
		path := filepath.Join(proc, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	stat := ""
	for cpu := range 512 {
		stat += "cpu" + strconv.Itoa(cpu) + " 105045 35436 18872 2228839 61 2 14 33 0 0\n"
	}
	write("stat", stat)
	for pid := range 4096 {
		write(strconv.Itoa(pid+2)+"/stat", taskOf("kworker", 0x200000, 5, pid/8))
	}
	machine := newMachine()
	o := machine.monitor().o
	o.Proc = os.DirFS(proc)
	o.Now = time.Now
	o.Containers = func() (all []Container) {
		for i := range 64 {
			c := machine.c
			c.Pod.UID, c.CPUs = strconv.Itoa(i), cpuset.Range(cpuset.CPU(8*i), cpuset.CPU(8*i+7))
			all = append(all, c)
		}
		return all
	}
	monitor := New(o)
	for b.Loop() {
		if err := monitor.Sample(); err != nil {
			b.Fatal(err)
		}
	}
}
