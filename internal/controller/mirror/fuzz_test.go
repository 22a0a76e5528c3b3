package mirror

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/fuzztest"
	"github.com/numalet/numalet/internal/testutil/scenario"
)

// FuzzMirror passes objects of any content to a mirror. It checks that after a pod is removed,
// neither the mirror nor the state of the nodes keeps anything of the pod.
func FuzzMirror(f *testing.F) {
	seed := func(objects ...any) {
		var texts [3][]byte
		for i, object := range objects {
			text, err := json.Marshal(object)
			if err != nil {
				f.Fatal(err)
			}
			texts[i] = text
		}
		f.Add(texts[0], texts[1], texts[2])
	}
	seed(nodeOf("n1", scenario.Words{"cpu=8", "gpus=2", "model=T4", "parts=gpu.shared:8"}),
		topologyOf("n1", scenario.Words{"numa=0:0-3,1:4-7", "holds=uid-a:0-1", "gpus=T4,T4", "gpu-holders=uid-a:1"}), podOf("a", scenario.Words{"cpu=2", "policy=single", "gpus=1"}))
	seed(nodeOf("n1", scenario.Words{"cpu=8", "parts=mig-1g.10gb:7"}),
		topologyOf("n1", scenario.Words{"numa=0:0-3,1:4-7", "full-cores=2", "slices=H100:1g.10gb"}), podOf("a", scenario.Words{"cpu=2", "policy=spread", "parts=mig-1g.10gb:1", "gpu-type=H100|A100"}))
	seed(nodeOf("n1", scenario.Words{"cpu=9223372036854775807", "gpus=9223372036854775807"}),
		topologyOf("n1", scenario.Words{"numa=0:0-3,1:4-7", "reserved=0"}), podOf("a", scenario.Words{"cpu=9223372036854776", "policy=random", "placement=0:1,1:1", "gang=g", "least=2", "init=4"}))
	f.Fuzz(func(t *testing.T, nodeText, topologyText, podText []byte) {
		node, topology, pod := &corev1.Node{}, &v1alpha1.NodeTopology{}, &corev1.Pod{}
		if !fuzztest.Decode(nodeText, node) || !fuzztest.Decode(topologyText, topology) || !fuzztest.Decode(podText, pod) {
			return
		}
		node.Name, topology.Name, pod.UID, pod.Spec.NodeName = "n1", "n1", "uid-a", ""
		s := newScene(t)
		s.mirror.SetNode(node)
		s.mirror.SetTopology(topology)
		record := s.state.Record("n1")
		if len(record.GPUs) > MaxGPUs {
			t.Fatalf("%d records of GPUs", len(record.GPUs))
		}
		free := record.Free
		s.mirror.SetPod(pod)
		bound := pod.DeepCopy()
		bound.Spec.NodeName = "n1"
		s.mirror.SetPod(bound)
		s.mirror.RemovePod(bound)
		if after := s.state.Record("n1").Free; after.CPU != free.CPU || after.Memory != free.Memory || after.Pods != free.Pods {
			t.Errorf("%+v was free, and %+v is once the pod is gone", free, after)
		}
		s.mirror.RemoveTopology("n1")
		s.mirror.RemoveNode("n1")
		if len(s.mirror.mu.nodes) > 0 || len(s.mirror.mu.requests) > 0 {
			t.Errorf("left: %d nodes, %d pods", len(s.mirror.mu.nodes), len(s.mirror.mu.requests))
		}
	})
}
