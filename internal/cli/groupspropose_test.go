package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// TestNaming checks that proposed GPU groups get no name that an existing group has. In an earlier
// version, the second proposal for a tenant had the names of the first, and "kubectl apply" moved the
// tenant's groups to other GPUs.
func TestNaming(t *testing.T) {
	var existing []v1alpha1.GPUGroup
	for _, name := range []string{"ann-1", "ann-3", "bob-2"} {
		existing = append(existing, v1alpha1.GPUGroup{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for prefix, want := range map[string][]string{"": {"ann-2", "ann-4", "ann-5"}, "new": {"new-1", "new-2", "new-3"}} {
		names := newNaming("ann", prefix, existing)
		if diff := cmp.Diff(want, []string{names.next(), names.next(), names.next()}); diff != "" {
			t.Errorf("prefix %q (-want +got):\n%s", prefix, diff)
		}
	}
}
