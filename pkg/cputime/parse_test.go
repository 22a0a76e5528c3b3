package cputime

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
)

// stat is a copy of lines of /proc/stat of Linux 6.18.
const stat = `cpu  9944 72080 18158 55724 443 0 133 67 0 0
cpu0 5045 35436 8872 28839 61 2 14 33 0 0
cpu3 4899 36643 9285 26885 381 0 119 34 7 0
intr 1529109 0 0 1 94567 0 8109
ctxt 2271822
btime 1795413414
softirq 325836 0 42728 5 14738 94561 0 1894 51486 0 120424
`

func TestParseStat(t *testing.T) {
	want := map[cpuset.CPU]Times{
		0: {Busy: 493690 * time.Millisecond, Interrupts: 160 * time.Millisecond},
		3: {Busy: 509460 * time.Millisecond, Interrupts: 1190 * time.Millisecond},
	}
	got, err := ParseStat(stat)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("ParseStat() error %v (-want +got):\n%s", err, diff)
	}
}

// tasks are copies of /proc/PID/stat of Linux 6.18, and an invented one with parentheses in the
// name.
var tasks = map[string]string{
	"kworker":   "12 (kworker/u8:0-ext4-rsv-conversion) I 2 0 0 0 -1 69238880 0 0 0 0 0 116 0 0 20 0 1 0 21 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
	"ksoftirqd": "14 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 6 7 0 0 20 0 1 0 21 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
	"init":      "1 (process_api) S 0 0 0 0 -1 4194560 46185 828295 0 399 78 279 1726 712 20 0 13 0 21 55644160 5463 18446744073709551615 1 1 0 0 0 0 0 4096 1256 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
	"odd":       "7 (a) b (c) S 0 0 0 0 -1 4194560 0 0 0 0 1 2 0 0 20 0 13 0 21 0 0 0 1 1 0 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0\n",
}

func TestParseTask(t *testing.T) {
	ms := time.Millisecond
	for name, want := range map[string]Task{
		"kworker":   {Name: "kworker/u8:0-ext4-rsv-conversion", Kernel: true, CPU: 1, Used: 1160 * ms, Start: 21},
		"ksoftirqd": {Name: "ksoftirqd/0", Kernel: true, CPU: 0, Used: 130 * ms, Start: 21},
		"init":      {Name: "process_api", CPU: 1, Used: 3570 * ms, Start: 21},
		"odd":       {Name: "a) b (c", CPU: 5, Used: 30 * ms, Start: 21},
	} {
		got, err := ParseTask(tasks[name])
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ParseTask(%s) error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// cpuStat is a copy of a cgroup's cpu.stat of Linux 6.12.
const cpuStat = "usage_usec 2518301\nuser_usec 1000000\nsystem_usec 1518301\nnice_usec 0\nnr_periods 0\n"

func TestParseUsage(t *testing.T) {
	if got, err := ParseUsage(cpuStat); got != 2518301*time.Microsecond || err != nil {
		t.Errorf("ParseUsage() = %s, %v", got, err)
	}
	if got, err := ParseUsagePerCPU("100 200 0 400 \n", cpuset.MustParse("1,3")); got != 600 || err != nil {
		t.Errorf("ParseUsagePerCPU() = %s, %v, want 600ns", got, err)
	}
}

// TestParseErrors checks that text that cannot be parsed causes an error, and does not count as
// zero. The error must say what is wrong.
func TestParseErrors(t *testing.T) {
	parseStat := func(text string) error { _, err := ParseStat(text); return err }
	parseTask := func(text string) error { _, err := ParseTask(text); return err }
	parseUsage := func(text string) error { _, err := ParseUsage(text); return err }
	perCPU := func(text string) error { _, err := ParseUsagePerCPU(text, cpuset.MustParse("1")); return err }
	for _, c := range []struct {
		parse func(string) error
		text  string
		want  string
	}{
		{parseStat, "", "no line of a CPU"},
		{parseStat, "cpu  1 2 3 4 5 6 7\n", "no line of a CPU"},
		{parseStat, "cpu0 1 2 3 4 5 6\n", "6 counters, want at least 7"},
		{parseStat, "cpu0 1 2 x 4 5 6 7\n", "cpu0"},
		{parseStat, "cpux 1 2 3 4 5 6 7\n", `"cpux"`},
		{parseStat, "cpu0 922337203686 2 3 4 5 6 7\n", "more than a machine can have run"},
		{parseTask, "12 kworker I 2", "no name in parentheses"},
		{parseTask, ")(", "no name in parentheses"},
		{parseTask, "12 (kworker) I 2", `"kworker": 2 fields`},
		{parseTask, strings.Replace(tasks["kworker"], " 69238880 ", " -1 ", 1), "flags"},
		{parseTask, strings.Replace(tasks["kworker"], " 116 ", " many ", 1), "system time"},
		{parseUsage, "user_usec 1\n", "no usage_usec"},
		{parseUsage, "usage_usec 18446744073709551615\n", "more than a machine can have run"},
		{perCPU, "100\n", "none with the number 1"},
		{perCPU, "100 -1\n", "CPU 1"},
	} {
		if err := c.parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("parse %q: error %v, want %q", c.text, err, c.want)
		}
	}
}

// FuzzParse checks that no text causes a panic, and that parsed values are plausible, for example
// not negative.
func FuzzParse(f *testing.F) {
	for _, text := range []string{stat, cpuStat, "100 200 0 400 \n", tasks["kworker"], tasks["odd"], "7 () S", "cpu0 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cpus, _ := ParseStat(text)
		for cpu, times := range cpus {
			if times.Interrupts > times.Busy && times.Busy >= 0 && times.Interrupts >= 0 {
				t.Errorf("CPU %d: %v", cpu, times)
			}
		}
		used, err := ParseUsage(text)
		if used < 0 && err == nil {
			t.Errorf("ParseUsage() = %s", used)
		}
		if used, err = ParseUsagePerCPU(text, cpuset.MustParse("0")); used < 0 && err == nil {
			t.Errorf("ParseUsagePerCPU() = %s", used)
		}
		if task, err := ParseTask(text); err == nil && !strings.Contains(text, "("+task.Name+")") {
			t.Errorf("ParseTask() = %+v", task)
		}
	})
}
