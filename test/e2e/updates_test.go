//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// updatesLog is the file on the node with the output of the NRI plugin test/e2e/updates.
const updatesLog = "/run/updates.log"

// timeUpdates measures how long the creation of a container takes while the NRI plugin
// test/e2e/updates moves n shared containers to fewer CPUs at each creation. For comparison, it
// then measures creations at which no container is moved. Numalet's agent must not run meanwhile.
func timeUpdates(ctx context.Context, t *testing.T, n int) []e2eutil.Timing {
	t.Helper()
	create(ctx, t, e2eutil.Crowd("crowd", n))
	sets := []string{"0-11", "0-7", "0-3"} // one for each run
	plugin := startUpdates(ctx, t, n, sets)
	for _, cpus := range sets {
		createTrigger(ctx, t)
		crowd(ctx, t, n).check(ctx, t, cpuset.MustParse(cpus)) // the plugin does not move the sandbox
	}
	for range latencyRuns {
		createTrigger(ctx, t)
	}
	made := stopUpdates(ctx, t, plugin)
	must(t, cluster.Delete(ctx, "crowd"))
	return split(t, n, sets, made)
}

func createTrigger(ctx context.Context, t *testing.T) {
	t.Helper()
	create(ctx, t, e2eutil.Crowd("trigger", 1))
	must(t, cluster.Delete(ctx, "trigger"))
}

// creation is a line that the NRI plugin (test/e2e/updates) has printed about the creation of a
// container.
type creation struct {
	took  time.Duration // from the plugin's response until the container was created
	moved int           // number of containers that were moved
	cpus  string        // CPUs to which the containers were moved
}

// split checks how many containers each creation moved, and to which CPUs. It separates the
// creations that moved containers from those that did not.
func split(t *testing.T, n int, sets []string, made []creation) []e2eutil.Timing {
	t.Helper()
	var got, want []string
	updates := e2eutil.Timing{What: "NRI updates: from the answer until it is created", Shared: n}
	alone := e2eutil.Timing{What: "no updates: the same", Shared: n}
	for _, c := range made {
		got = append(got, fmt.Sprintf("%d to %s", c.moved, c.cpus))
		if c.moved > 0 {
			updates.Took = append(updates.Took, c.took)
		} else {
			alone.Took = append(alone.Took, c.took)
		}
	}
	for _, cpus := range sets {
		want = append(want, fmt.Sprintf("%d to %s", n, cpus))
	}
	for range latencyRuns {
		want = append(want, "0 to none")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("what creations moved (-want +got):\n%s", diff)
	}
	return []e2eutil.Timing{updates, alone}
}

// startUpdates starts the NRI plugin (test/e2e/updates), and waits until it has found n containers
// in the pod "crowd".
func startUpdates(ctx context.Context, t *testing.T, n int, sets []string) *exec.Cmd {
	t.Helper()
	_, err := cluster.Shell(ctx, "rm -f "+updatesLog)
	must(t, err)
	plugin, _, err := cluster.Spawn(ctx, fmt.Sprintf("exec /usr/local/bin/updates crowd %s >%s", strings.Join(sets, " "), updatesLog))
	must(t, err)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err = cluster.Shell(ctx, fmt.Sprintf("until grep -q '^synchronized %d$' %s; do sleep 0.2; done", n, updatesLog))
	must(t, err)
	return plugin
}

// stopUpdates stops the NRI plugin (test/e2e/updates), and returns the creations that it has
// measured.
func stopUpdates(ctx context.Context, t *testing.T, plugin *exec.Cmd) []creation {
	t.Helper()
	_, err := cluster.Shell(ctx, "kill $(pidof updates)")
	must(t, err)
	must(t, plugin.Wait())
	text, err := cluster.Shell(ctx, "grep created "+updatesLog)
	must(t, err)
	var made []creation
	for line := range strings.Lines(text) {
		var c creation
		if _, err := fmt.Sscanf(line, "created %d %d %s", &c.took, &c.moved, &c.cpus); err != nil {
			t.Fatalf("the plugin printed %q: %v", line, err)
		}
		made = append(made, c)
	}
	return made
}
