package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// TestScoresMeet checks when a new tenant's score reaches that of a tenant who has used the
// cluster before. Ann has used all eight GPUs for a week when Bob's first pods arrive. All
// GPUs must go to Bob as they become free, until his score equals Ann's. T is the time
// constant with which scores decay, and t is the time since Bob's pods arrived. A week is
// 4·T, so Ann's score is 8·(1−e^(−4)) at t = 0. The scores are equal when
//
//	8 − 8·e^(−t/T) = 8·(1 − e^(−4))·e^(−t/T)  at  t = T · ln(2 − e^(−4)) = 28.7 h
//
// From then on, each of them must get half of the GPUs.
func TestScoresMeet(t *testing.T) {
	c := newGPUs(t, 8, true)
	c.use("ann", 8, 7*24*time.Hour)
	for i := range 1000 {
		c.submit("ann", fmt.Sprint("a", i), time.Hour)
		c.submit("bob", fmt.Sprint("b", i), time.Hour)
	}
	c.run(28 * time.Hour)
	if c.started["ann"] > 0 || c.started["bob"] != 8*29 {
		t.Errorf("after 28 h %v have started, want none of ann's and 232 of bob's", c.started)
	}
	c.run(24 * time.Hour)
	met := c.started["ann"]
	c.run(48 * time.Hour)
	if got := c.started["ann"] - met; got < 4*48-8 || got > 4*48+8 {
		t.Errorf("in two days after the scores met %d of ann's have started, want about %d", got, 4*48)
	}
}

// TestFairness checks that the order by score gives all users nearly the same share of the
// GPUs. Twenty users share 32 GPUs for a week. The largest user requests about ten times as
// many GPUs as the smallest user, and each user requests more than a twentieth of the GPUs.
// If pods are ordered by age instead, users get GPUs in proportion to their requests. The
// test measures fairness by Jain's index of the scores x of the n users, (Σx)²/(n·Σx²).
// This index is 1 if all scores are equal.
func TestFairness(t *testing.T) {
	for name, tc := range map[string]struct {
		byScore  bool
		low, top float64
	}{
		"by score": {true, .99, 1},
		"by age":   {false, .5, .85},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := newGPUs(t, 32, tc.byScore), rand.New(rand.NewPCG(1, 1))
			for hour := range 7 * 24 {
				for user := range 20 {
					for i := range 2 + user {
						took := time.Duration(float64(time.Hour) * (.2 + 1.8*r.Float64()))
						c.submit(fmt.Sprint("user-", user), fmt.Sprint(hour, "-", user, "-", i), took)
					}
				}
				c.run(time.Hour)
			}
			got := jain(c.scores())
			t.Logf("Jain's index is %.4f", got)
			if got < tc.low || got > tc.top {
				t.Errorf("want %v to %v; scores %.2f", tc.low, tc.top, c.scores())
			}
		})
	}
}

func jain(xs []float64) float64 {
	sum, squares := 0., 0.
	for _, x := range xs {
		sum, squares = sum+x, squares+x*x
	}
	return sum * sum / (float64(len(xs)) * squares)
}

// gpus simulates a cluster of GPUs, in which each GPU runs one pod at a time.
type gpus struct {
	*scene
	book    *fairshare.Book
	free    int
	takes   map[string]time.Duration
	tenants map[string]string
	started map[string]int // by tenant
}

func newGPUs(t *testing.T, free int, byScore bool) *gpus {
	decay, err := fairshare.NewDecay(fairshare.DefaultTimeConstant)
	if err != nil {
		t.Fatal(err)
	}
	c := &gpus{
		scene: newScene(Options{Strict: true}), book: fairshare.New(decay), free: free,
		takes: map[string]time.Duration{}, tenants: map[string]string{}, started: map[string]int{},
	}
	c.env.Rank = func(tenant string, typ fairshare.Type) float64 {
		if !byScore {
			return 0
		}
		return c.book.Rank(tenant, typ, c.now)
	}
	return c
}

// The method `use` records that a tenant has used n GPUs for the given time until now.
func (c *gpus) use(tenant string, n fairshare.Milli, since time.Duration) {
	c.book.Start(fairshare.Task{UID: tenant, Tenant: tenant, Since: c.now.Add(-since), Holds: []fairshare.Charge{{Type: "T4", Amount: 1000 * n}}}, c.now)
	c.book.Forget(tenant, c.now)
}

func (c *gpus) submit(tenant, uid string, takes time.Duration) {
	c.takes[uid], c.tenants[uid] = takes, tenant
	c.Add(Entry{Pod: &sched.Pod{UID: uid, Name: uid}, Type: "T4", Tenant: tenant, Created: c.now})
}

// run advances the time by d. During this time it starts a pod on each GPU that becomes
// free. It updates the scores whenever a pod starts or ends, and every minute.
func (c *gpus) run(d time.Duration) {
	for range int(d / time.Minute) {
		c.RescoreAll()
		c.give()
		c.pass(time.Minute)
	}
}

// give starts pods until no GPU is free or no pod may be started now.
func (c *gpus) give() {
	for c.free > 0 {
		pod := c.Poll()
		if pod == nil {
			return
		}
		if ok, _ := c.Permit(pod); !ok {
			return
		}
		c.start(pod)
	}
}

func (c *gpus) start(pod *sched.Pod) {
	tenant := c.tenants[pod.UID]
	c.free--
	c.started[tenant]++
	c.book.Start(fairshare.Task{UID: pod.UID, Tenant: tenant, Since: c.now, Holds: []fairshare.Charge{{Type: "T4", Amount: 1000}}}, c.now)
	c.Remove(pod.UID)
	c.Rescore(tenant)
	c.timers = append(c.timers, timer{c.now.Add(c.takes[pod.UID]), func() {
		c.free++
		c.book.Forget(pod.UID, c.now)
		c.Rescore(tenant)
		c.give()
	}})
}

// scores returns the present scores of all tenants.
func (c *gpus) scores() (scores []float64) {
	for _, tenant := range c.book.Tenants() {
		scores = append(scores, c.book.Rank(tenant, "T4", c.now))
	}
	slices.Sort(scores)
	return scores
}
