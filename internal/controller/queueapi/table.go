package queueapi

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// shape returns pods as a Table object if the client asks for one, as kubectl get does. Otherwise
// it returns its parameter `found` unchanged.
func shape(r *http.Request, found any) any {
	if !asksFor(r, "as=Table") {
		return found
	}
	switch found := found.(type) {
	case PendingPod:
		return table([]PendingPod{found})
	case PendingPodList:
		return table(found.Items)
	}
	return found
}

func table(pods []PendingPod) metav1.Table {
	t := metav1.Table{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"},
		ColumnDefinitions: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name"},
			{Name: "Type", Type: "string", Description: "Type of resource that the pod waits for."},
			{Name: "Position", Type: "string", Description: "Position among the pending pods of the type."},
			{Name: "Tenant", Type: "string"},
			{Name: "Waited", Type: "string"},
			{Name: "State", Type: "string"},
			{Name: "Waits For", Type: "string", Priority: 1, Description: "What the pod waits for."},
		},
		Rows: []metav1.TableRow{},
	}
	for _, pod := range pods {
		status := pod.Status
		object := &metav1.PartialObjectMetadata{TypeMeta: pod.TypeMeta, ObjectMeta: pod.ObjectMeta}
		t.Rows = append(t.Rows, metav1.TableRow{
			Cells:  []any{pod.Name, status.Type, fmt.Sprintf("%d/%d", status.Position, status.Of), status.Tenant, status.Waited, status.State, status.WaitsFor},
			Object: runtime.RawExtension{Object: object},
		})
	}
	return t
}
