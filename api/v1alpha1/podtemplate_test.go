package v1alpha1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestPodSpec(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want string // in the error; "" for none
	}{
		"one container":   {`{"containers":[{"name":"main","image":"localhost/none"}]}`, ""},
		"no containers":   {`{"restartPolicy":"Never"}`, "it has no containers"},
		"misspelt field":  {`{"containers":[{"name":"main","imgae":"none"}]}`, `unknown field "containers[0].imgae"`},
		"of another type": {`{"containers":"main"}`, "cannot unmarshal string"},
		"absent":          {``, "unexpected end of JSON input"},
	} {
		t.Run(name, func(t *testing.T) {
			template := PodTemplate{Spec: runtime.RawExtension{Raw: []byte(tc.spec)}}
			spec, err := template.PodSpec()
			if err != nil != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("PodSpec = %v, %v; want error %q", spec, err, tc.want)
			}
		})
	}
}
