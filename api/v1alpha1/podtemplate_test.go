package v1alpha1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestPodSpec(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want string // part of the error; "" for none
	}{
		"one container":   {`{"containers":[{"name":"main","image":"localhost/none"}]}`, ""},
		"no containers":   {`{"restartPolicy":"Never"}`, "it has no containers"},
		"misspelt field":  {`{"containers":[{"name":"main","imgae":"none"}]}`, `unknown field "containers[0].imgae"`},
		"of another type": {`{"containers":"main"}`, "cannot unmarshal string"},
		"absent":          {``, "unexpected end of JSON input"},
		"long exponent":   {withRequests(`"cpu":"92233e2036853685474775807"`), "cpu: the exponent of the quantity"},
		"as a number":     {withRequests(`"cpu":1e-1641327864`), "cpu: the exponent of the quantity"},
		"only the first":  {withRequests(`"cpu":"1e-1641327864","cpu":"1"`), "cpu: the exponent of the quantity"},
		"after another":   {withRequests(`"memory":{"a":["1Gi"]},"cpu":"1e-1641327864"`), "cpu: the exponent of the quantity"},
		"in a volume":     {`{"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1e-1641327864"}}]}`, "sizeLimit: the exponent of the quantity"},
		"many digits":     {withRequests(`"cpu":"` + strings.Repeat("9", 65) + `"`), `cpu: the quantity "99999999999999999999"… has 65 characters; write at most 64`},
		"usual exponent":  {withRequests(`"cpu":"1e3"`), ""},
		"not a quantity":  {`{"containers":[{"name":"main","env":[{"name":"COMMIT","value":"1e1641327864"}]}]}`, ""},
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

// withRequests returns the JSON of a pod's spec. The parameter `list` is the content of
// the container's resources.requests, as JSON fields.
func withRequests(list string) string {
	return `{"containers":[{"name":"main","resources":{"requests":{` + list + `}}}]}`
}
