package tenants

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// TestAccountRoundTrip checks that random accounts are the same as before when they are converted
// by Write, encoded and decoded as JSON, and converted back by Read.
func TestAccountRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		a := random(r)
		text, err := json.Marshal(v1alpha1.TenantStatus{Accounts: Write([]fairshare.Account{a})})
		if err != nil {
			t.Fatal(err)
		}
		var status v1alpha1.TenantStatus
		if err := json.Unmarshal(text, &status); err != nil {
			t.Fatal(err)
		}
		got, err := Read(status.Accounts[0])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, got, cmpopts.EquateApproxTime(0)); diff != "" {
			t.Fatalf("from %s (-want +got):\n%s", text, diff)
		}
	}
}

// random returns an account whose score has a random size and a random number of digits.
func random(r *rand.Rand) fairshare.Account {
	score := math.Float64frombits(r.Uint64() >> 1)
	if r.IntN(2) == 0 || math.IsNaN(score) || math.IsInf(score, 0) {
		score = r.Float64() * float64(r.IntN(10000))
	}
	return fairshare.Account{
		Type:  []fairshare.Type{fairshare.CPU, fairshare.AnyGPU, "NVIDIA H100 80GB HBM3"}[r.IntN(3)],
		Usage: fairshare.Milli(r.Int64N(1 << (1 + r.IntN(60)))),
		Score: score,
		Time:  time.UnixMicro(r.Int64N(4e15)),
	}
}

func TestReadRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		usage, score, want string
	}{
		"word":            {"1", "much", `score "much": want a number, 0 or more`},
		"negative":        {"1", "-1", `score "-1": want a number, 0 or more`},
		"not a number":    {"1", "NaN", `score "NaN": want a number, 0 or more`},
		"infinite":        {"1", "1e999", `score "1e999": want a number, 0 or more`},
		"millionths":      {"1u", "1", "usage 1u: want thousandths, 0 or more"},
		"negative usage":  {"-1", "1", "usage -1: want thousandths, 0 or more"},
		"more than there": {"1e18", "1", "usage 1e18: want thousandths, 0 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(v1alpha1.Account{Type: "T4", Usage: resource.MustParse(tc.usage), Score: tc.score, LastUpdateTime: metav1.MicroTime{}})
			if err == nil || !strings.Contains(err.Error(), "read account of T4: "+tc.want) {
				t.Errorf("Read = %v, want %s", err, tc.want)
			}
		})
	}
}

func TestWeight(t *testing.T) {
	for name, tc := range map[string]struct {
		weight string // "" for none
		want   fairshare.Weight
		bad    bool
	}{
		"none":     {"", fairshare.DefaultWeight, false},
		"fraction": {"2500m", 2.5, false},
		"zero":     {"0", 0, true},
		"negative": {"-1", -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := v1alpha1.TenantSpec{}
			if tc.weight != "" {
				quantity := resource.MustParse(tc.weight)
				spec.Weight = &quantity
			}
			if got, err := Weight(spec); got != tc.want || (err != nil) != tc.bad {
				t.Errorf("Weight = %v, %v; want %v, bad %v", got, err, tc.want, tc.bad)
			}
		})
	}
}
