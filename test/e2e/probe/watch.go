package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// report is the output of watch, as JSON, when it gets a signal to end.
type report struct {
	Passes     int      `json:"passes"`     // over all containers of the node
	Readings   int      `json:"readings"`   // of one container's effective cpuset
	Exclusive  int      `json:"exclusive"`  // distinct exclusive containers seen
	Shared     int      `json:"shared"`     // distinct shared containers seen
	Violations []string `json:"violations"` // overlaps of containers, in words
	// Sandboxes counts readings of pause processes on exclusive CPUs. A new pause process
	// sleeps there until the sandbox is ready and the runtime calls the agent
	// (RunPodSandbox). No program of the pod runs before that.
	Sandboxes int   `json:"sandboxes"`
	LongestMS int64 `json:"longestMs"` // longest time between two passes
}

// watch compares the effective cpusets of all containers, over and over.
func watch(args []string) error {
	flags := flag.NewFlagSet("watch", flag.ContinueOnError)
	root := flags.String("root", "/sys/fs/cgroup", "cgroup v2 mount")
	pause := flags.Duration("every", 100*time.Millisecond, "rest between two passes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
	w := watcher{tree: tree{*root}, known: map[string]role{}}
	fmt.Println("watching")
	for last := time.Now(); ; {
		select {
		case <-stop:
			return json.NewEncoder(os.Stdout).Encode(w.report)
		case <-time.After(*pause):
		}
		w.pass()
		w.report.LongestMS = max(w.report.LongestMS, time.Since(last).Milliseconds())
		last = time.Now()
	}
}

// watcher stores the role of each container, so that a pass reads only cpusets.
type watcher struct {
	tree   tree
	known  map[string]role
	report report
}

// pass reads every exclusive container, then every container, and counts an overlap only if
// the exclusive one still runs on the same CPUs afterwards. This order causes no false alarm.
// CPUs that become exclusive were removed from the other containers before, and CPUs that
// become shared are read a second time.
func (w *watcher) pass() {
	all := w.tree.containers()
	w.classify(all)
	type held struct {
		path string
		cpus mask
	}
	var exclusive []held
	for _, path := range all {
		if w.known[path] == exclusiveRole {
			if cpus, ok := w.read(path); ok {
				exclusive = append(exclusive, held{path, cpus})
			}
		}
	}
	for _, path := range all {
		cpus, ok := w.read(path)
		if !ok || w.known[path] == unknownRole {
			continue
		}
		for _, e := range exclusive {
			if e.path != path && e.cpus.overlaps(cpus) {
				w.confirm(e.path, e.cpus, path, cpus)
			}
		}
	}
	w.report.Passes++
}

func (w *watcher) confirm(exclusive string, cpus mask, other string, its mask) {
	again, ok := w.read(exclusive)
	if !ok || again != cpus {
		return
	}
	if w.known[other] == sandboxRole {
		w.report.Sandboxes++
		return
	}
	w.report.Violations = append(w.report.Violations, fmt.Sprintf("%s (%s) on %s overlaps exclusive %s on %s",
		other, w.known[other], its, exclusive, cpus))
}

func (w *watcher) read(path string) (mask, bool) {
	w.report.Readings++
	return w.tree.effective(path)
}

// classify finds the role of new containers.
func (w *watcher) classify(all []string) {
	for _, path := range all {
		if w.known[path] != unknownRole {
			continue
		}
		switch w.known[path] = w.tree.role(path); w.known[path] {
		case exclusiveRole:
			w.report.Exclusive++
		case sharedRole:
			w.report.Shared++
		}
	}
}
