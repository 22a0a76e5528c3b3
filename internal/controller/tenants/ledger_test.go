package tenants

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// world is a ledger with a clock that the test sets.
type world struct {
	*testing.T
	*Ledger
	now      time.Time
	rescored []string
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newWorld returns a world whose clock stands at the given second. Scores decay with a time
// constant of an hour.
func newWorld(t *testing.T, second float64) *world {
	t.Helper()
	d, err := fairshare.NewDecay(3600)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t}
	w.at(second)
	w.Ledger = NewLedger(d, func() time.Time { return w.now })
	w.OnRescore(func(who string) { w.rescored = append(w.rescored, who) })
	return w
}

func (w *world) at(second float64) { w.now = start.Add(time.Duration(second * 1e9)) }

// cores returns a task that holds one CPU for each letter of its UID.
func cores(uid, tenant string, since float64) fairshare.Task {
	return fairshare.Task{UID: uid, Tenant: tenant, Since: start.Add(time.Duration(since * 1e9)),
		Holds: []fairshare.Charge{{Type: fairshare.CPU, Amount: fairshare.Milli(1000 * len(uid))}}}
}

// stored returns the named Tenants with the accounts that would be stored now.
func (w *world) stored(names ...string) []v1alpha1.Tenant {
	var all []v1alpha1.Tenant
	for _, name := range names {
		t := v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
		t.Status.Accounts = Write(w.book.Load().Stored(name, w.now))
		all = append(all, t)
	}
	return all
}

// TestRestart checks that a standby replica that becomes the leader has the same scores as the
// former leader would have if it were still running.
func TestRestart(t *testing.T) {
	one, two := newWorld(t, 0), newWorld(t, 0)
	one.must(one.Open(nil))
	if got := two.Rank("ann", fairshare.CPU); got != 0 {
		t.Errorf("a closed ledger ranks %v", got)
	}
	both := func(second float64, do func(*world)) {
		for _, w := range []*world{one, two} {
			w.at(second)
			do(w)
		}
	}
	both(1, func(w *world) { w.Start(cores("aaaa", "ann", 0)) })
	both(2, func(w *world) { w.Start(cores("b", "bob", 1)) })
	both(900, func(w *world) { w.End("aaaa") })
	both(1000, func(w *world) { w.Start(cores("aa", "ann", 997)) })
	stored := one.stored("ann", "bob")
	both(1003, func(w *world) { w.Start(cores("aaa", "ann", 1003)); w.Forget("b") })
	two.must(two.Open(stored))
	for _, second := range []float64{1003, 5000, 1e6} {
		one.at(second)
		two.at(second)
		for _, who := range []string{"ann", "bob"} {
			a, b := one.Rank(who, fairshare.CPU), two.Rank(who, fairshare.CPU)
			if math.Abs(a-b) > 1e-9 || a == 0 && second < 1e6 {
				t.Errorf("at second %v the score of %s is %v, and was %v", second, who, b, a)
			}
		}
	}
	if diff := cmp.Diff([]string{"ann", "bob", "ann", "ann", "ann", "bob"}, one.rescored); diff != "" {
		t.Errorf("rescored (-want +got):\n%s", diff)
	}
}

// TestFirstSeen checks that the score of a tenant without a stored account is computed from its
// running tasks.
func TestFirstSeen(t *testing.T) {
	w := newWorld(t, 3600)
	w.Start(cores("aaaa", "ann", 0))
	w.Start(cores("a", "ann", 1800))
	w.must(w.Open(nil))
	want := 4*(1-math.Exp(-1)) + 1*(1-math.Exp(-.5))
	if got := w.Rank("ann", fairshare.CPU); math.Abs(got-want) > 1e-9 {
		t.Errorf("score %v, want %v", got, want)
	}
}

// TestOpenDamaged checks that Open restores all accounts that can be read, and returns an error
// that names the others.
func TestOpenDamaged(t *testing.T) {
	w := newWorld(t, 0)
	zero := resource.MustParse("0")
	damaged := v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "ann"}, Spec: v1alpha1.TenantSpec{Weight: &zero}}
	damaged.Status.Accounts = []v1alpha1.Account{
		{Type: "T4", Usage: resource.MustParse("1"), Score: "much"},
		{Type: "cpu", Usage: resource.MustParse("0"), Score: "8", LastUpdateTime: metav1.NewMicroTime(start)},
	}
	err := w.Open([]v1alpha1.Tenant{damaged})
	for _, want := range []string{"tenant ann: weight 0", `tenant ann: read account of T4: score "much"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if got := fmt.Sprint(w.Rank("ann", fairshare.CPU), w.Rank("ann", "T4")); got != "8 0" {
		t.Errorf("scores %s, want 8 0", got)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}
