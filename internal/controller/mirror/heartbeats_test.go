package mirror

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// renewal returns the Lease of the agent of node n1, with a renewal at the given second by the
// agent's clock.
func renewal(second int64) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "agent-n1"}, Spec: coordinationv1.LeaseSpec{
		LeaseDurationSeconds: ptr.To(int32(60)), RenewTime: ptr.To(metav1.NewMicroTime(time.Unix(second, 0))),
	}}
}

func TestHeartbeats(t *testing.T) {
	now := time.Unix(5000, 0)
	var said []string
	h := NewHeartbeats(func() time.Time { return now }, func(node string, alive bool) { said = append(said, fmt.Sprint(node, " ", alive)) })
	for _, step := range []struct {
		name  string
		after time.Duration
		do    func()
		want  []string // the calls of the function that NewHeartbeats gets
	}{
		{"first seen, long ago by the agent's clock", 0, func() { h.Renewed(renewal(10)) }, nil},
		{"not renewed for less than the duration", time.Minute, func() {}, nil},
		{"renewed", 0, func() { h.Renewed(renewal(20)) }, nil},
		{"another change of the object", time.Minute, func() { h.Renewed(renewal(20)) }, nil},
		{"not renewed", time.Second, func() {}, []string{"n1 false"}},
		{"still not renewed", time.Hour, func() { h.Renewed(renewal(20)) }, nil},
		{"renewed again", time.Second, func() { h.Renewed(renewal(30)) }, []string{"n1 true"}},
		{"not renewed again", time.Hour, func() {}, []string{"n1 false"}},
		{"deleted", 0, func() { h.Removed(renewal(30)) }, []string{"n1 true"}},
		{"another program's Lease", 0, func() { h.Renewed(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "numalet-controller"}}) }, nil},
		{"an hour later", time.Hour, func() {}, nil},
	} {
		now, said = now.Add(step.after), nil
		step.do()
		h.Check()
		if diff := cmp.Diff(step.want, said); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}
