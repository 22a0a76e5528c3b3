package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const nodes = "sn,cpu_milli,memory_mib,gpu,model\na,4000,100,2,T4\n"
	const pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nhalf,1000,10,1,500\nmost,1000,10,1,600\none,1000,10,1,1000\ntwo,1000,10,2,1000\nplain,4000,10,0,\n"
	for name, tc := range map[string]struct {
		placed string
		want   string
	}{
		"sound":              {"half,a,0:500\none,a,1:1000\n", ""},
		"nothing":            {"", ""},
		"GPU overflows":      {"half,a,0:500\nmost,a,0:600\n", "GPU a/0: 1100 thousandths"},
		"whole and part":     {"half,a,0:500\none,a,0:1000\n", "GPU a/0: 1500 thousandths"},
		"other amount":       {"half,a,0:400\n", "0:400: want 500"},
		"too few GPUs":       {"two,a,0:1000\n", "1 GPUs, want 2"},
		"one GPU twice":      {"two,a,0:1000;0:1000\n", "each GPU once"},
		"no such GPU":        {"half,a,2:500\n", "unknown nodes"},
		"no such node":       {"plain,b,\n", "unknown nodes"},
		"unknown pod":        {"none,a,\n", "unknown pod"},
		"pod twice":          {"half,a,0:500\nhalf,a,1:500\n", "twice"},
		"too few CPUs":       {"half,a,0:500\nplain,a,\n", "node a: 5000 thousandths of a CPU"},
		"GPUs for no reason": {"plain,a,0:0\n", "1 GPUs, want 0"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return path
			}
			_, err := check(file("nodes", nodes), file("pods", pods), file("placed", "pod,node,gpus\n"+tc.placed))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	if mean, got := spread([]float64{1, 2, 3}); mean != 2 || got != "2.00 ± 1.00 %" {
		t.Errorf("got %q", got)
	}
}
