package tenants

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/platform/config"
)

// TestKnown checks in three steps whether the pods of the tenants ann and ben have to wait: before
// there is a Tenant object, while there is a Tenant object for ann, and after this object is
// deleted.
func TestKnown(t *testing.T) {
	for name, tc := range map[string]struct {
		unknown config.UnknownTenants
		want    [3]string // the tenants whose pods wait in each step
		changed [2][2]bool
	}{
		"auto":     {config.WaitIfAny, [3]string{"", "ben", ""}, [2][2]bool{{true, true}, {true, true}}},
		"wait":     {config.WaitAlways, [3]string{"ann ben", "ben", "ann ben"}, [2][2]bool{{true, false}, {true, false}}},
		"schedule": {config.ScheduleUnknown, [3]string{}, [2][2]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			k := NewKnown(tc.unknown)
			got, changed := [3]string{waiting(k)}, [2][2]bool{}
			changed[0][0], changed[0][1] = k.Set("ann", true)
			got[1] = waiting(k)
			if changed, _ := k.Set("ann", true); changed {
				t.Error("the same Tenant again changed something")
			}
			changed[1][0], changed[1][1] = k.Set("ann", false)
			got[2] = waiting(k)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("who waits (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.changed, changed); diff != "" {
				t.Errorf("what Set reports (-want +got):\n%s", diff)
			}
		})
	}
}

func waiting(k *Known) (names string) {
	for _, name := range []string{"ann", "ben"} {
		if k.Check(name) != nil {
			if names != "" {
				names += " "
			}
			names += name
		}
	}
	return names
}
