package groups

import (
	"testing"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/fuzztest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
)

// FuzzRegistry checks a Registry with GPUGroups and NodeTopologies of any content. Each group
// must be either accepted, or refused with a reason. A group must never give GPUs to a tenant
// that it does not name.
func FuzzRegistry(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"metadata":{"generation":1},"spec":{"tenants":["ann"],"form":"physical","quota":"2","nodes":[{"name":"n1","gpus":["0","GPU-b"]}]}}`,
			`{"status":{"gpus":[{"id":"GPU-a","form":"physical","model":"T4","links":["-","NV1"]},{"id":"GPU-b","index":1,"form":"physical","model":"T4","links":["NV1","-"]}]}}`},
		{`{"metadata":{"generation":2},"spec":{"tenants":["ann","ben"],"form":"virtual","type":"H100-MIG-1g.10gb","containers":["main"],"nodes":[{"name":"n1","gpus":["MIG-a"]}]},
			"status":{"inForce":{"generation":1,"spec":{"tenants":["ann"],"nodes":[{"name":"n1","gpus":["0"]}]}}}}`,
			`{"status":{"gpus":[{"id":"MIG-a","parent":"GPU-a","form":"virtual","model":"H100","type":"H100-MIG-1g.10gb"}]}}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, groupText, topologyText []byte) {
		object, topology := &v1alpha1.GPUGroup{}, &v1alpha1.NodeTopology{}
		if !fuzztest.Decode(groupText, object) || !fuzztest.Decode(topologyText, topology) {
			return
		}
		object.Name, topology.Name = "g", "n1"
		s := newScene(t, &scenario.Answer{})
		s.registry.deps.Panicked = func(object string, cause any) { t.Fatalf("%s: %v", object, cause) }
		s.objects["g"], s.rights["ann n1"] = object, true
		s.registry.SetNode(topology)
		s.registry.SetGroup(object)
		s.registry.checkGroups(t.Context(), true)
		v := s.registry.verdicts["g"]
		if v.Reason == "" || v.Message == "" || v.Accepted && !v.Serves {
			t.Errorf("verdict %+v", v)
		}
		match, err := s.registry.Match(group.Request{Tenant: "eve", Form: gpu.Physical, GPURequest: sched.GPURequest{Count: 1, Milli: sched.WholeGPU}})
		if err != nil {
			t.Fatal(err)
		}
		if len(match.Groups()) > 0 {
			t.Errorf("%s serves eve: %+v", match, v)
		}
	})
}
