package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
)

// TestLeft checks the time that Left returns: how much longer a pod will probably run. Five
// pods of tenant ann, with one GPU each, have run 1 to 5 minutes. Five pods of tenant bob, with
// eight GPUs each, have run 100 to 500 minutes.
func TestLeft(t *testing.T) {
	ann, one := Class{"ann", 1}, Class{"bob", 1}
	runs := NewRuns()
	for m := range 5 {
		runs.Ended(ann, minutes(m+1))
		runs.Ended(Class{"bob", 8}, minutes(100*(m+1)))
	}
	for name, tc := range map[string]struct {
		class Class
		ran   time.Duration
		q     float64
		want  time.Duration
	}{
		"own class, from the start":         {ann, 0, .5, minutes(3)},
		"the shortest":                      {ann, 0, 0, minutes(1)},
		"the longest":                       {ann, 0, 1, minutes(5)},
		"another class of a known tenant":   {Class{"bob", 2}, 0, .5, minutes(300)},
		"of an unknown tenant, its size":    {Class{"eve", 1}, 0, .5, minutes(3)},
		"nothing known, of all":             {Class{"eve", 3}, 0, .5, minutes(5)},
		"tenant before size":                {one, 0, .5, minutes(300)},
		"ran longer than most of its class": {ann, minutes(3), .5, minutes(197)}, // only 2 pods of its class ran longer, which is too few, so the run times of bob's pods count too
		"ran longer than all":               {ann, minutes(700), .5, minutes(700)},
		"a clock that differs":              {ann, -minutes(1), .5, minutes(3)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runs.Left(tc.class, tc.ran, tc.q); got != tc.want {
				t.Errorf("left after %s: %s, want %s", tc.ran, got, tc.want)
			}
		})
	}
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

func TestClassOf(t *testing.T) {
	pod := &sched.Pod{GPUs: sched.GPURequest{Count: 2, Milli: sched.WholeGPU, Types: []string{"V100", "T4"}}}
	if diff := cmp.Diff(Class{"ann", 2}, ClassOf(pod, "ann")); diff != "" {
		t.Errorf("class (-want +got):\n%s", diff)
	}
}

// TestKeysAreBounded checks that run times are kept for not more than maxKeys keys (classes of pods
// and sets of classes), even if more classes have run times. It also checks that the run times of a
// class whose pods end all the time are kept.
func TestKeysAreBounded(t *testing.T) {
	runs, busy := NewRuns(), Class{"busy", 1}
	for i := range 2 * maxKeys {
		runs.Ended(busy, minutes(7))
		runs.Ended(Class{fmt.Sprint("tenant-", i), 1}, time.Second)
	}
	if len(runs.windows) != maxKeys || runs.recent.Len() != maxKeys {
		t.Errorf("%d keys and %d elements, want %d", len(runs.windows), runs.recent.Len(), maxKeys)
	}
	if got := runs.Left(busy, 0, .5); got != minutes(7) {
		t.Errorf("the busy class takes %s, want 7m", got)
	}
}

// TestWindowTwin compares the results of a window with those computed from a list of all recorded
// run times.
func TestWindowTwin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	var w window
	var all []time.Duration
	for range 4 * windowSize {
		took := time.Duration(random.IntN(50))
		w.learn(took)
		all = append(all, took)
		latest := all[max(0, len(all)-windowSize):]
		than := time.Duration(random.IntN(60) - 5)
		var want []time.Duration
		for _, d := range slices.Sorted(slices.Values(latest)) {
			if d > than {
				want = append(want, d)
			}
		}
		if got := w.longer(than); !slices.Equal(want, got) {
			t.Fatalf("longer than %d: %v, want %v", than, got, want)
		}
	}
}

// FuzzLeft checks that the result of Left is not negative, and that the result for q = 1 is the
// largest, whatever run times are recorded.
func FuzzLeft(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 5, 6}, int64(3), .5)
	f.Add([]byte{'0'}, int64(math.MaxInt64), .5)
	f.Add([]byte{}, int64(math.MaxInt64), math.NaN())
	f.Add([]byte{9}, int64(math.MinInt64), -1.)
	f.Fuzz(func(t *testing.T, took []byte, ran int64, q float64) {
		runs := NewRuns()
		for i, b := range took {
			runs.Ended(Class{Tenant: string(rune('a' + b%3)), GPUs: i % 2}, time.Duration(b)-5)
		}
		c := Class{Tenant: "a", GPUs: 1}
		left, longest := runs.Left(c, time.Duration(ran), q), runs.Left(c, time.Duration(ran), 1)
		if left < 0 || left > longest {
			t.Errorf("left is %d, and %d at most: want no less than 0 and no more than that", left, longest)
		}
	})
}
