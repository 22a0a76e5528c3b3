package jobplan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestRandom applies 60 random commands to each of 500 jobs. After each command, the plans that
// Next returns are carried out. TestRandom then checks that Next returns no further step, that no
// success is forgotten, that the number of counted failures is correct, and that a finished job
// stays finished.
func TestRandom(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := &scene{now: morning, answer: &scenario.Answer{}}
		commands := s.commands()
		commands.Play(t, s.answer, fmt.Sprintf("job replicas=%d backoffLimit=%d deadline=5m", 1+r.IntN(4), r.IntN(4)))
		failed := 0
		for range 60 {
			before := s.progress
			command := anything(r, s)
			if !before.Phase.Over() && failsNow(s, command) {
				failed++
			}
			commands.Play(t, s.answer, strings.Join(command, " "))
			s.check(t, before, failed)
			if t.Failed() {
				t.Fatalf("seed %d, after %v: %+v\n%+v", seed, command, s.progress, s.pods)
			}
		}
	}
}

// anything returns a random command that is possible in the job's present state.
func anything(r *rand.Rand, s *scene) []string {
	index := strconv.Itoa(r.IntN(s.job.Replicas))
	alive := slices.ContainsFunc(s.pods, func(pod Pod) bool {
		return strconv.Itoa(pod.Index) == index && (pod.State == Waiting || pod.State == Running)
	})
	commands := []string{"wait", "suspend", "resume", "gone", "lose", "forget"}
	if alive {
		commands = append(commands, "run", "run", "succeed", "fail", "fail", "disrupt")
	}
	switch command := commands[r.IntN(len(commands))]; command {
	case "wait":
		return []string{command, strconv.Itoa(r.IntN(30)) + "s"}
	case "suspend", "resume", "forget":
		return []string{command}
	default:
		return []string{command, index}
	}
}

// failsNow reports whether a command makes a pod fail. A pod that is being deleted does not count.
func failsNow(s *scene, command []string) bool {
	return command[0] == "fail" && slices.ContainsFunc(s.pods, func(pod Pod) bool {
		return strconv.Itoa(pod.Index) == command[1] && !pod.Deleting
	})
}

func (s *scene) check(t *testing.T, before Progress, failed int) {
	t.Helper()
	progress := s.progress
	if got := progress.Failed(); got != failed {
		t.Errorf("%d failures are counted, and there were %d", got, failed)
	}
	if before.Phase.Over() && progress.Phase != before.Phase {
		t.Errorf("the job was over, %s, and is %s", before.Phase, progress.Phase)
	}
	for _, i := range before.Done {
		if !progress.Done.Has(i) {
			t.Errorf("pod %d succeeded, and that is forgotten", i)
		}
	}
	if progress.Failed() > s.job.BackoffLimit != (progress.Phase == Broken && progress.Reason == ReasonLimit) {
		t.Errorf("%d failures of %d, and the job is %s", progress.Failed(), s.job.BackoffLimit, progress.Phase)
	}
	indexes := map[int]bool{}
	for _, pod := range s.pods {
		if indexes[pod.Index] || progress.Done.Has(pod.Index) && pod.State != Succeeded && !pod.Deleting {
			t.Errorf("pod %d is there twice, or again", pod.Index)
		}
		indexes[pod.Index] = true
	}
	again := Next(s.job, progress, s.pods, s.now)
	if diff := cmp.Diff(progress, again.Progress); diff != "" || len(again.Create)+len(again.Delete)+len(again.Events) > 0 {
		t.Errorf("not at rest: make %v, delete %v, news %v (-before +after):\n%s", again.Create, again.Delete, again.Events, diff)
	}
}
