//go:build e2e

package admission

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/numalet/numalet/api/v1alpha1"
)

const cases = "../../../api/v1alpha1/testdata/cpurequest/*.txt"

// TestPolicyAgreesWithReadCPURequest checks that the API server and the node agent agree about CPU
// requests. The node agent calls v1alpha1.ReadCPURequest. The test sends the pods of
// ReadCPURequest's own test cases to the API server. The server must refuse the same pods as
// ReadCPURequest, with the same message. The server must also add a nodeSelector to the pods that
// request exclusive CPUs.
func TestPolicyAgreesWithReadCPURequest(t *testing.T) {
	client, _ := server(t)
	files, err := filepath.Glob(cases)
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", cases, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) { agree(t, client, load(t, name, file)) })
	}
}

func agree(t *testing.T, client *kubernetes.Clientset, pod *corev1.Pod) {
	request, refusal := v1alpha1.ReadCPURequest(pod)
	if refusal == nil && request.Placed {
		refusal = v1alpha1.RefusePlacement()
	}
	got, err := client.CoreV1().Pods("default").Create(context.Background(), pod, dry)
	switch {
	case refusal != nil && err == nil:
		t.Errorf("admitted; the node would refuse it: %v", refusal)
	case refusal != nil && !strings.Contains(err.Error(), sentence(refusal)):
		t.Errorf("refused otherwise than by the node:\ngot  %v\nwant %v", err, refusal)
	case refusal == nil && err != nil:
		t.Errorf("refused: %v; the node would take it", err)
	case refusal == nil:
		asked, marked := request.Form != v1alpha1.None, got.Spec.NodeSelector[v1alpha1.LabelExclusiveCPUs] == "true"
		if asked != marked {
			t.Errorf("requests CPUs: %v, node selector: %v", asked, marked)
		}
	}
}

// sentence returns the part of a refusal that ReadCPURequest and the admission policy have in
// common. Only ReadCPURequest proposes a correction of a misspelt name, because CEL cannot compute
// the edit distance of strings.
func sentence(refusal error) string {
	said, _, _ := strings.Cut(refusal.Error(), "did you mean")
	return said
}

func load(t *testing.T, name, file string) *corev1.Pod {
	t.Helper()
	tc, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var p corev1.Pod
	if err := yaml.UnmarshalStrict(tc.Files[0].Data, &p); err != nil {
		t.Fatal(err)
	}
	p.Name = name
	return complete(&p)
}

func TestNodeSelectorKeepsOthers(t *testing.T) {
	client, _ := server(t)
	p := pod("selected", v1alpha1.AnnotationCPUPolicy, v1alpha1.PolicySpread)
	p.Spec.NodeSelector = map[string]string{"zone": "a"}
	got, err := client.CoreV1().Pods("default").Create(context.Background(), p, dry)
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Spec.NodeSelector; s["zone"] != "a" || s[v1alpha1.LabelExclusiveCPUs] != "true" {
		t.Errorf("node selector %v, want zone and %s", s, v1alpha1.LabelExclusiveCPUs)
	}
}
