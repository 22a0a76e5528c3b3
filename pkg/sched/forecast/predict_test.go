package forecast

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestPredict checks forecasts for states of one node with two GPUs. The only recorded run time is
// ten minutes.
func TestPredict(t *testing.T) {
	held := func(*sched.Pod) sched.Reason { return sched.Reason{Code: sched.Other, Detail: "quota"} }
	at := func(m int) Answer { return Answer{P50: now.Add(minutes(m)), P90: now.Add(minutes(m))} }
	for name, tc := range map[string]struct {
		state func(*scene)
		want  Answer
	}{
		"an idle node":            {func(*scene) {}, at(0)},
		"one of two GPUs is free": {func(s *scene) { s.run(1, 3) }, at(0)},
		"full":                    {func(s *scene) { s.run(2, 3) }, at(7)},
		"the first of two to end": {func(s *scene) { s.run(1, 3); s.run(1, 6) }, at(4)},
		"both must end":           {func(s *scene) { s.run(1, 3); s.run(1, 6); s.pod(2) }, at(7)},
		"one pod ahead":           {func(s *scene) { s.run(2, 3); s.ahead(2) }, at(17)},
		"one ahead beside it":     {func(s *scene) { s.run(2, 3); s.ahead(1) }, at(7)},
		"ran longer than any did": {func(s *scene) { s.run(2, 25) }, at(25)},
		"a deadline":              {func(s *scene) { s.run(2, 3); s.Running[0].Ends = now.Add(minutes(2)) }, at(2)},
		"a deadline that passed":  {func(s *scene) { s.run(2, 3); s.Running[0].Ends = now.Add(-minutes(2)) }, at(0)},
		"may not pass the first":  {func(s *scene) { s.run(1, 3); s.ahead(2) }, at(17)},
		"passes a pod of a quota": {func(s *scene) { s.run(1, 3); s.ahead(2); s.Ahead[0].Wait = held }, at(0)},
		"reserved for one ahead":  {func(s *scene) { s.ahead(2); s.node(0).Reserved = reserve(s.Ahead[0]) }, at(10)},
		"too large":               {func(s *scene) { s.pod(3) }, Answer{Unknown: Never}},
		"its rules admit no node": {func(s *scene) { s.Pod.Admits = func(*sched.Node) bool { return false } }, Answer{Unknown: Never}},
		"its quota":               {func(s *scene) { s.Pod.Wait = held }, Answer{Unknown: Held}},
		"a gang":                  {func(s *scene) { s.Pod.Gang = &sched.Gang{ID: "gang"} }, Answer{Unknown: Gang}},
		"no pod has ended":        {func(s *scene) { s.run(2, 3); s.runs = NewRuns() }, Answer{Unknown: NoRunTimes}},
		"none has, but it fits":   {func(s *scene) { s.runs = NewRuns() }, at(0)},
		"too many ahead":          {func(s *scene) { s.run(2, 3); s.crowd(3000) }, Answer{Unknown: TooMuch}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(1, 2)
			s.runs.Ended(Class{Tenant: "ann"}, minutes(10))
			s.pod(1)
			tc.state(s)
			if diff := cmp.Diff(tc.want, Predict(s.Present, s.runs, 1)); diff != "" {
				t.Errorf("forecast (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReservationsOfAGang checks that all reservations of a gang end when the gang starts. Two nodes
// are reserved for the two pods of a gang. Two more pods wait. All four pods need a whole node, and
// run for ten minutes, so the last two pods start when the two pods of the gang end.
func TestReservationsOfAGang(t *testing.T) {
	s := newScene(2, 2)
	s.runs.Ended(Class{Tenant: "ann"}, minutes(10))
	for i := range s.Nodes {
		s.ahead(2)
		s.Ahead[i].Pod.Gang = &sched.Gang{ID: "gang", Need: 2}
		s.node(i).Reserved = reserve(s.Ahead[i])
	}
	s.ahead(2)
	s.pod(2)
	want := Answer{P50: now.Add(minutes(10)), P90: now.Add(minutes(10))}
	if diff := cmp.Diff(want, Predict(s.Present, s.runs, 1)); diff != "" {
		t.Errorf("forecast (-want +got):\n%s", diff)
	}
}

// TestQuantiles checks a forecast after ten pods ran for 1 to 10 minutes. One pod has just started
// on the only GPU, and another pod waits for this GPU. P50 must be about 5 minutes, and P90 about
// 9.
func TestQuantiles(t *testing.T) {
	s := newScene(1, 1)
	for m := range 10 {
		s.runs.Ended(Class{Tenant: "ann"}, minutes(m+1))
	}
	s.run(1, 0)
	s.pod(1)
	answer := Predict(s.Present, s.runs, 1)
	if p50, p90 := answer.P50.Sub(now), answer.P90.Sub(now); p50 < minutes(4) || p50 > minutes(7) || p90 < minutes(8) || p90 > minutes(10) {
		t.Errorf("p50 %s and p90 %s, want about 5m and 9m", p50, p90)
	}
}

// TestTwin compares forecasts with a simple model of a queue. All pods need one GPU and run equally
// long, and each pod gets the GPU that becomes free first.
func TestTwin(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := newScene(1+random.IntN(3), 1+random.IntN(4))
		s.runs.Ended(Class{}, minutes(60))
		var free []time.Duration // time at which each GPU becomes free
		for range s.gpus() {
			ran := random.IntN(60)
			s.run(1, ran)
			free = append(free, minutes(60-ran))
		}
		var want time.Duration
		ahead := random.IntN(30)
		for i := range ahead + 1 {
			slices.Sort(free)
			want = free[0]
			free[0] += minutes(60)
			if i < ahead {
				s.ahead(1)
			}
		}
		s.pod(1)
		answer := Predict(s.Present, s.runs, seed)
		if got := answer.P50.Sub(now); got != want || !answer.P90.Equal(answer.P50) {
			t.Fatalf("seed %d: %v with %d ahead, want %s", seed, answer, ahead, want)
		}
	}
}

// TestProperties checks in random states that the forecast is never before now, that P90 is never
// before P50, and that a pod with equal requests that is behind in the queue does not get an
// earlier time. Equal calls of Predict must return equal answers, and not change the state.
func TestProperties(t *testing.T) {
	for seed := range uint64(300) {
		s := random(seed)
		s.pod(1 + int(seed%3))
		before := fmt.Sprint(s.Nodes, s.Ahead, s.Running)
		answer := Predict(s.Present, s.runs, seed)
		if diff := cmp.Diff(answer, Predict(s.Present, s.runs, seed)); diff != "" || before != fmt.Sprint(s.Nodes, s.Ahead, s.Running) {
			t.Fatalf("seed %d: the second answer differs, or the state:\n%s", seed, diff)
		}
		check(t, seed, answer)
		s.Ahead = append(s.Ahead, s.Pod)
		s.pod(1 + int(seed%3))
		behind := Predict(s.Present, s.runs, seed)
		if later(answer.P50, behind.P50) || later(answer.P90, behind.P90) {
			t.Fatalf("seed %d: %v, and %v behind it: want no earlier", seed, answer, behind)
		}
	}
}

// later reports whether a is later than b. The zero time means never, which is later than all other
// times.
func later(a, b time.Time) bool { return !b.IsZero() && (a.IsZero() || a.After(b)) }

func check(t *testing.T, seed uint64, a Answer) {
	t.Helper()
	switch {
	case (a.Unknown == "") == a.P50.IsZero():
		t.Fatalf("seed %d: %v has neither a time nor a reason, or both", seed, a)
	case a.Unknown != "":
	case a.P50.Before(now), later(a.P50, a.P90):
		t.Fatalf("seed %d: %v, want no time before %s, and P50 first", seed, a, now)
	}
}

// FuzzPredict checks that forecasts in random states have either a time or a reason why there is
// none, and that P50 is not after P90.
func FuzzPredict(f *testing.F) {
	f.Add(uint64(1), 1)
	f.Add(uint64(7), 9)
	f.Fuzz(func(t *testing.T, seed uint64, gpus int) {
		s := random(seed)
		s.pod(gpus % 16)
		check(t, seed, Predict(s.Present, s.runs, seed))
	})
}

// BenchmarkPredict forecasts the start of the last of many waiting pods. All nodes have eight GPUs,
// and all GPUs are in use.
func BenchmarkPredict(b *testing.B) {
	for _, bc := range []struct{ nodes, ahead int }{{10, 10}, {10, 100}, {100, 100}, {1000, 100}} {
		b.Run(fmt.Sprintf("nodes=%d/ahead=%d", bc.nodes, bc.ahead), func(b *testing.B) {
			s := newScene(bc.nodes, 8)
			for i := range 200 {
				s.runs.Ended(Class{Tenant: "ann"}, minutes(i+1))
			}
			for i := range s.gpus() {
				s.run(1, i%60)
			}
			s.crowd(bc.ahead)
			s.pod(1)
			b.ReportAllocs()
			for b.Loop() {
				if answer := Predict(s.Present, s.runs, 1); answer.Unknown != "" {
					b.Fatal(answer.Unknown)
				}
			}
		})
	}
}
