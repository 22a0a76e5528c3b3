package usage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
)

func TestCharges(t *testing.T) {
	node := &sched.Node{GPUs: []sched.GPU{{ID: "0", Type: "T4"}, {ID: "1", Type: "T4"}, {ID: "2", Type: "H200"}}}
	cores := sched.Amounts{CPU: 3500}
	for name, tc := range map[string]struct {
		holds sched.Holding
		want  []Charge
	}{
		"cores":          {sched.Holding{Amounts: cores}, []Charge{{CPU, 3500}}},
		"nothing":        {sched.Holding{}, nil},
		"cards, no CPU":  {sched.Holding{Amounts: cores, GPUs: []sched.GPUShare{{ID: "0", Milli: 1000}, {ID: "1", Milli: 1000}}}, []Charge{{"T4", 2000}}},
		"a share":        {sched.Holding{GPUs: []sched.GPUShare{{ID: "1", Milli: 250}}}, []Charge{{"T4", 250}}},
		"two models":     {sched.Holding{GPUs: []sched.GPUShare{{ID: "1", Milli: 500}, {ID: "2", Milli: 1000}}}, []Charge{{"H200", 1000}, {"T4", 500}}},
		"a card unknown": {sched.Holding{GPUs: []sched.GPUShare{{ID: "7", Milli: 1000}}}, []Charge{{AnyGPU, 1000}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Charges(tc.holds, node)); diff != "" {
				t.Errorf("charges (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTypeOf(t *testing.T) {
	for name, tc := range map[string]struct {
		ask  sched.GPUAsk
		want Type
	}{
		"no card":       {sched.GPUAsk{}, "cpu"},
		"any card":      {sched.GPUAsk{Count: 1}, "gpu"},
		"one model":     {sched.GPUAsk{Count: 1, Types: []string{"T4"}}, "T4"},
		"two models":    {sched.GPUAsk{Count: 1, Types: []string{"T4", "H200", "T4"}}, "H200|T4"},
		"named in vain": {sched.GPUAsk{Types: []string{"T4"}}, "cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := TypeOf(&sched.Pod{GPUs: tc.ask}); got != tc.want {
				t.Errorf("TypeOf = %s, want %s", got, tc.want)
			}
		})
	}
}
