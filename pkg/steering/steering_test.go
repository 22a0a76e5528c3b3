package steering

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
)

func set(list string) cpuset.Set { return cpuset.MustParse(list) }

// text returns the names and contents of files as text, in the order of the names.
func text(files map[string]cpuset.Set) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, fmt.Sprintf("%s=%s", name, files[name]))
	}
	return strings.Join(out, " ")
}

func TestPlan(t *testing.T) {
	files := map[string]cpuset.Set{"default": set("0-7"), "24": set("0-7"), "25": set("2"), "26": set("0-1")}
	state := State{}
	online := set("0-7")
	for _, step := range []struct {
		name     string
		change   func()
		isolated string
		writes   string
		files    string // contents after the writes
		left     string // names of the files whose original contents the State has after the writes
	}{
		{"nothing is isolated", func() {}, "", "", "24=0-7 25=2 26=0-1 default=0-7", ""},
		{"two CPUs", func() {}, "2-3", "24=0-1,4-7 25=0-1,4-7 default=0-1,4-7", "24=0-1,4-7 25=0-1,4-7 26=0-1 default=0-1,4-7", "24 25 26 default"},
		{"the same again", func() {}, "2-3", "", "24=0-1,4-7 25=0-1,4-7 26=0-1 default=0-1,4-7", "24 25 26 default"},
		{"a new file", func() { files["27"] = set("0-1,4-7") }, "2-3", "", "24=0-1,4-7 25=0-1,4-7 26=0-1 27=0-1,4-7 default=0-1,4-7", "24 25 26 27 default"},
		{"another program changes one", func() { files["24"] = set("3-4") }, "2-3", "24=4", "24=4 25=0-1,4-7 26=0-1 27=0-1,4-7 default=0-1,4-7", "24 25 26 27 default"},
		{"more CPUs", func() {}, "1-5", "24=0,6-7 25=0,6-7 26=0 27=0,6-7 default=0,6-7", "24=0,6-7 25=0,6-7 26=0 27=0,6-7 default=0,6-7", "24 25 26 27 default"},
		{"one goes away", func() { delete(files, "26") }, "1-5", "", "24=0,6-7 25=0,6-7 27=0,6-7 default=0,6-7", "24 25 27 default"},
		{"fewer CPUs", func() {}, "4", "24=3 25=2 27=0-3,5-7 default=0-3,5-7", "24=3 25=2 27=0-3,5-7 default=0-3,5-7", "24 25 27 default"},
		{"none", func() {}, "", "24=3-4 27=0-7 default=0-7", "24=3-4 25=2 27=0-7 default=0-7", ""},
	} {
		step.change()
		var writes map[string]cpuset.Set
		state, writes = state.Plan(files, "default", set(step.isolated), online)
		maps.Copy(files, writes)
		state, _ = state.Plan(files, "default", set(step.isolated), online)
		left := strings.Join(slices.Sorted(maps.Keys(state)), " ")
		if diff := cmp.Diff([]string{step.writes, step.files, step.left}, []string{text(writes), text(files), left}); diff != "" {
			t.Errorf("%s: writes, files, remembered (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestPlanOffline checks a machine whose CPUs 2 and 3 go offline while they are isolated. The kernel
// refuses a set of CPUs without any online CPU. So a file whose original set has only these CPUs gets
// this set back when one of them is online again. In the meantime, another program may write other
// files, even a set that they had while CPUs were isolated.
func TestPlanOffline(t *testing.T) {
	files := map[string]cpuset.Set{"default": set("0-7"), "24": set("1-2"), "25": set("2-3")}
	state := State{}
	for _, step := range []struct{ isolated, online, files, left string }{
		{"2-3", "0-7", "24=1 25=0-1,4-7 default=0-1,4-7", "24 25 default"},
		{"", "0-1,4-7", "24=1-2 25=0-1,4-7 default=0-7", "25"},
		{"4-7", "0-1,4-7", "24=1-2 25=0-1 default=0-3", "24 25 default"},
		{"", "0-1,4-7", "24=1-2 25=0-1 default=0-7", "25"},
		{"", "0-1,4-7", "24=1 25=0-1 default=0-7", "25"},
		{"", "0-2,4-7", "24=1 25=2-3 default=0-7", ""},
	} {
		if strings.HasPrefix(step.files, "24=1 ") && step.isolated == "" {
			files["24"] = set("1") // the other program
		}
		var writes map[string]cpuset.Set
		state, writes = state.Plan(files, "default", set(step.isolated), set(step.online))
		for name, cpus := range writes {
			if !cpus.Overlaps(set(step.online)) {
				t.Errorf("isolated %q, online %s: the kernel refuses CPUs %s of file %s", step.isolated, step.online, cpus, name)
			}
		}
		maps.Copy(files, writes)
		state, _ = state.Plan(files, "default", set(step.isolated), set(step.online))
		left := strings.Join(slices.Sorted(maps.Keys(state)), " ")
		if diff := cmp.Diff([]string{step.files, step.left}, []string{text(files), left}); diff != "" {
			t.Errorf("isolated %q, online %s: files, remembered (-want +got):\n%s", step.isolated, step.online, diff)
		}
	}
}

// TestPlanSurvivesAnyEnd simulates a process that ends after it has saved the state and before it
// has written all files. It checks that another process can continue, and that in the end each file
// has its original content.
func TestPlanSurvivesAnyEnd(t *testing.T) {
	online := set("0-15")
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		files := map[string]cpuset.Set{}
		for i := range 1 + r.IntN(5) {
			files[fmt.Sprint(i)] = some(r)
		}
		original, saved := maps.Clone(files), State{}
		for range 30 {
			isolated := some(r).Minus(set("0"))
			next, writes := saved.Plan(files, "0", isolated, online)
			saved = next
			for name, want := range writes {
				if r.IntN(3) > 0 {
					files[name] = want
				}
			}
			if r.IntN(2) == 0 {
				continue // the process has ended
			}
			maps.Copy(files, writes)
			for name, now := range files {
				if now.Overlaps(isolated) {
					t.Fatalf("seed %d: file %s has %s, isolated are %s", seed, name, now, isolated)
				}
			}
		}
		_, writes := saved.Plan(files, "0", cpuset.Set{}, online)
		maps.Copy(files, writes)
		if diff := cmp.Diff(text(original), text(files)); diff != "" {
			t.Fatalf("seed %d: files at the end (-want +got):\n%s", seed, diff)
		}
	}
}

// The function `some` returns one to four random CPUs.
func some(r *rand.Rand) cpuset.Set {
	var cpus []cpuset.CPU
	for range 1 + r.IntN(4) {
		cpus = append(cpus, cpuset.CPU(r.IntN(16)))
	}
	return cpuset.Of(cpus...)
}
