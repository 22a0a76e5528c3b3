// Command openbcheck runs Alibaba's openb GPU trace with numalet simulate, and checks the
// placements. For each seed, the pods are in a different random order. Some pods are repeated, so
// that all pods together request as many GPUs as the nodes have. The check shares no code with
// Numalet. The last line of the output has the mean and the standard deviation of the results of
// all seeds. The GPU results in docs/benchmarks/logs/performance.md are from this command:
//
//	go build -o build/numalet ./cmd/numalet
//	go run ./lab/openbcheck -numalet build/numalet -trace DIR -least 95.5
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	numalet := flag.String("numalet", "numalet", "Path of the program to check.")
	trace := flag.String("trace", "", "Directory with openb_node_list_all_node.csv and openb_pod_list_default.csv.")
	policy := flag.String("policy", "fragmentation", "Policy of numalet simulate.")
	seeds := flag.Uint64("seeds", 10, "Number of random orders of the pods.")
	least := flag.Float64("least", 0, "Fail if the mean of the allocated GPUs is less than this percentage.")
	flag.Parse()
	nodes := filepath.Join(*trace, "openb_node_list_all_node.csv")
	pods := filepath.Join(*trace, "openb_pod_list_default.csv")
	if err := simulate(run{*numalet, nodes, pods, *policy}, *seeds, *least); err != nil {
		log.Fatal(err)
	}
}

// run has the arguments for numalet simulate.
type run struct{ numalet, nodes, pods, policy string }

// outcome is the part of the JSON output of numalet simulate that this program uses.
type outcome struct {
	Placed     int
	Allocated  float64 `json:"gpuAllocatedPercent"`
	Fragmented float64 `json:"gpuFragmentedPercent"`
	Rate       float64 `json:"decisionsPerSecond"`
}

func simulate(r run, seeds uint64, least float64) error {
	dir, err := os.MkdirTemp("", "openb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var allocated, fragmented []float64
	var rate float64
	for seed := uint64(1); seed <= seeds; seed++ {
		o, err := r.seed(dir, seed)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		fmt.Printf("seed %2d  %d placed, %.2f %% of GPUs allocated, %.2f %% fragmented, %.0f decisions/s\n", seed, o.Placed, o.Allocated, o.Fragmented, o.Rate)
		allocated, fragmented = append(allocated, o.Allocated), append(fragmented, o.Fragmented)
		rate += o.Rate / float64(seeds)
	}
	mean, text := spread(allocated)
	_, free := spread(fragmented)
	fmt.Printf("%s, %d seeds: allocated %s, fragmented %s, %.0f decisions/s\n", r.policy, seeds, text, free, rate)
	if mean < least {
		return fmt.Errorf("%s allocates %.2f %% of the GPUs: want at least %.2f %%", r.policy, mean, least)
	}
	return nil
}

// seed puts the pods into the random order of one seed, simulates them, and checks the placements.
func (r run) seed(dir string, seed uint64) (o outcome, err error) {
	pods, placed := filepath.Join(dir, "pods.csv"), filepath.Join(dir, "placed.csv")
	if err := shuffle(r.nodes, r.pods, pods, seed); err != nil {
		return o, err
	}
	cmd := exec.Command(r.numalet, "simulate", "--nodes", r.nodes, "--pods", pods, "--policy", r.policy, "--seed", fmt.Sprint(seed), "--placements", placed, "-o", "json")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return o, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		return o, fmt.Errorf("decode the output of %v: %w", cmd.Args, err)
	}
	percent, err := check(r.nodes, pods, placed)
	if err == nil && math.Abs(percent-o.Allocated) > 1e-6 {
		err = fmt.Errorf("the output says that %f %% of the GPUs are allocated, but the placements allocate %f %%", o.Allocated, percent)
	}
	return o, err
}

// spread returns the mean of a sample, and a text with the mean and the standard deviation.
func spread(x []float64) (mean float64, text string) {
	squares := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return mean, fmt.Sprintf("%.2f ± %.2f %%", mean, math.Sqrt(squares/float64(max(1, len(x)-1))))
}
