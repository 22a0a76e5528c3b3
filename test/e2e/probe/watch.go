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

// report is what watch prints as JSON when it gets a signal to end.
type report struct {
	Passes     int      `json:"passes"`     // how often all containers of the node were read
	Readings   int      `json:"readings"`   // how often the effective cpuset of a container was read
	Exclusive  int      `json:"exclusive"`  // number of different containers with exclusive CPUs that were read
	Shared     int      `json:"shared"`     // number of different containers with shared CPUs that were read
	Violations []string `json:"violations"` // overlaps of containers, in words
	// Sandboxes counts how often a pause process was on exclusive CPUs of a container. This is no
	// violation: the runtime calls the agent (RunPodSandbox) only after the pause process has
	// started, so the agent cannot move this process earlier. Until then, the process only sleeps,
	// and no program of the pod runs.
	Sandboxes int   `json:"sandboxes"`
	LongestMS int64 `json:"longestMs"` // longest time from the end of one pass over all containers to the end of the next
}

// watch compares the effective cpusets of all containers again and again. When it gets a signal to
// end, it prints its report.
func watch(args []string) error {
	flags := flag.NewFlagSet("watch", flag.ContinueOnError)
	root := flags.String("root", "/sys/fs/cgroup", "cgroup v2 mount")
	pause := flags.Duration("every", 100*time.Millisecond, "pause between two passes over all containers")
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

// watcher reads the cpusets of all containers again and again. Each such reading is a pass. The map
// in the field `known` stores the role of each container, so that later passes only need to read
// cpusets.
type watcher struct {
	tree   tree
	known  map[string]role
	report report
}

// The method `pass` first reads the cpusets of all exclusive containers, and then those of all
// containers. In this order, CPUs that become exclusive cause no false alarm. Before the exclusive
// container gets them, the agent removes them from all other containers, and the method reads the
// cpusets of those containers later. If the cpuset of a container overlaps that of an exclusive
// container, the CPUs may have become shared in between. So the method reads the cpuset of the
// exclusive container again, and counts the overlap only if the container still has the same CPUs.
func (w *watcher) pass() {
	all := w.tree.containers()
	w.classify(all)
	type held struct {
		path string
		cpus cpulist
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

func (w *watcher) confirm(exclusive string, cpus cpulist, other string, its cpulist) {
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

func (w *watcher) read(path string) (cpulist, bool) {
	w.report.Readings++
	return w.tree.effective(path)
}

// classify finds the roles of containers whose roles are not known yet.
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
