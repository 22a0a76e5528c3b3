//go:build e2e

package admission

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	job = `{apiVersion: numalet.dev/v1alpha1, kind: Job,
  metadata: {name: numalet-e2e, namespace: default, labels: {numalet.dev/tenant: ann}},
  spec: {template: {spec: {containers: [{name: main, image: localhost/none}]}}}}`
	tenant   = `{apiVersion: numalet.dev/v1alpha1, kind: Tenant, metadata: {name: numalet-e2e}}`
	ofNobody = "the job is of no tenant; name one with the label numalet.dev/tenant"
)

func TestJobIsOfTenant(t *testing.T) {
	client := customResources(t)
	const sold = "the label numalet.dev/tenant can change only while the job is suspended"
	for name, tc := range map[string]struct {
		suspend bool
		patch   string
		want    string // part of the refusal; "" if the API server admits the object
	}{
		"other tenant":                 {false, `{"metadata":{"labels":{"numalet.dev/tenant":"bob"}}}`, sold},
		"other label":                  {false, `{"metadata":{"labels":{"app":"train"}}}`, ""},
		"other tenant while suspended": {true, `{"metadata":{"labels":{"numalet.dev/tenant":"bob"}}}`, ""},
		"no tenant while suspended":    {true, `{"metadata":{"labels":null}}`, ofNobody},
	} {
		t.Run(name, func(t *testing.T) {
			o := object(t, []byte(job))
			o.Object["spec"].(map[string]any)["suspend"] = tc.suspend
			jobs := collection(client, o)
			if _, err := jobs.Create(context.Background(), o, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			defer jobs.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{})
			_, err := jobs.Patch(context.Background(), o.GetName(), types.MergePatchType, []byte(tc.patch),
				metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			expect(t, err, tc.want)
		})
	}
}
