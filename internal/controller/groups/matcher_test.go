package groups

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// TestParts checks a pod that requests three shares of GPUs. On the node of the test, their type is
// T, and each is a tenth of a GPU. If the pod's tenant has used up its quota of GPUs of any type,
// the pod must wait. If something is left of each quota, but too little for the shares, the pod
// must not wait. Only the node must be refused, because other nodes may have smaller shares, for
// which the quotas suffice.
func TestParts(t *testing.T) {
	const resourceName, advice = "nvidia.com/gpu.shared", ": wait until other pods of this tenant end, or ask an administrator for a higher limit"
	node := &sched.Node{Parts: map[string]sched.GPUPart{resourceName: {Type: "T", Milli: 100}}}
	for name, tc := range map[string]struct {
		quotas     map[string]string
		held       sched.MilliGPU
		of         string // type of the GPU that the tenant's other pod holds
		everywhere string
		there      string // why the node is refused
	}{
		"nothing is limited":      {held: 9000, of: "T"},
		"only CPUs are":           {quotas: map[string]string{"cpu": "1"}, held: 9000, of: "T"},
		"within the quotas":       {quotas: map[string]string{"T": "1", "gpu": "1"}, held: 700, of: "T"},
		"another type is used up": {quotas: map[string]string{"S": "1"}, held: 1000, of: "S"},
		"over the type's": {
			quotas: map[string]string{"T": "1"}, held: 701, of: "T",
			there: "tenant ann, GPU type T: 0.3 GPUs requested, but 0.701 GPUs in use and the limit is 1 GPU",
		},
		"over that of all": {
			quotas: map[string]string{"gpu": "1"}, held: 701, of: "S",
			there: "tenant ann, GPUs of all types: 0.3 GPUs requested, but 0.701 GPUs in use and the limit is 1 GPU",
		},
		"that of all is used up": {
			quotas: map[string]string{"gpu": "1"}, held: 1000, of: "S",
			everywhere: "tenant ann, GPUs of all types: 0.001 GPUs requested, but 1 GPU in use and the limit is 1 GPU",
			there:      "tenant ann, GPUs of all types: 0.3 GPUs requested, but 1 GPU in use and the limit is 1 GPU",
		},
	} {
		t.Run(name, func(t *testing.T) {
			state, limits := nodestatetest.New(t, "cpu", filter.Profile{}), map[string]resource.Quantity{}
			quotas := NewQuotas(state.Visit, func(string) {}, func() {})
			state.Subscribe(quotas.Observe)
			for kind, most := range tc.quotas {
				limits[kind] = resource.MustParse(most)
			}
			quotas.SetTenant("ann", limits)
			state.SetNode(&sched.Node{Name: "n", GPUs: []sched.GPU{{ID: "gpu", Type: tc.of}}})
			state.Adopt(nodestate.Assignment{UID: "other", Node: "n", Tenant: "ann", Holding: sched.Holding{GPUs: []sched.GPUShare{{ID: "gpu", Milli: tc.held}}}})
			pod := &sched.Pod{UID: "pod", Tenant: "ann", GPUs: sched.GPURequest{Part: sched.GPUPartRequest{Resource: resourceName, Kind: "SHARED", Count: 3}}}
			if err := (Matcher{Groups: NewRegistry(Dependencies{}), Quotas: quotas}).Complete(pod, nil); err != nil {
				t.Fatal(err)
			}
			got := [2]string{pod.Waits().Detail, ""}
			if pod.GPUs.Offer != nil {
				got[1] = pod.GPUs.Offer(node).Why.Detail
			}
			for i := range got {
				got[i] = strings.TrimSuffix(got[i], advice)
			}
			if diff := cmp.Diff([2]string{tc.everywhere, tc.there}, got); diff != "" {
				t.Errorf("why it waits, and is refused there (-want +got):\n%s", diff)
			}
		})
	}
}
