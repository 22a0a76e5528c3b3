package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/workload"
)

func TestVisibleGPUs(t *testing.T) {
	const gpu, mig, shared = "allocated.numalet.dev/gpu", "allocated.numalet.dev/mig-1g.10gb", "allocated.numalet.dev/gpu.shared"
	const refused = `container "c" sets NVIDIA_VISIBLE_DEVICES to "all", and would see other GPUs than it was given; leave the variable to the device plugin`
	for name, tc := range map[string]struct {
		given     map[string]string
		env       []string
		namespace string
		noGPUs    bool // the node has no GPUs
		want      string
		why       string
	}{
		"as the device plugin said":   {given: map[string]string{gpu: "a,b"}, env: []string{"NVIDIA_VISIBLE_DEVICES=b,a"}},
		"of two resources":            {given: map[string]string{gpu: "b", mig: "MIG-1"}, env: []string{"A=1", "NVIDIA_VISIBLE_DEVICES=MIG-1"}, want: "MIG-1,b"},
		"as the author said":          {given: map[string]string{gpu: "b"}, env: []string{"NVIDIA_VISIBLE_DEVICES=b", "NVIDIA_VISIBLE_DEVICES=all"}, why: refused},
		"as the author said twice":    {given: map[string]string{gpu: "b"}, env: []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=all"}, why: refused},
		"as the author said, rightly": {given: map[string]string{gpu: "b", mig: "a"}, env: []string{"NVIDIA_VISIBLE_DEVICES=b", "NVIDIA_VISIBLE_DEVICES=a,b"}},
		"the author wants none":       {given: map[string]string{gpu: "b"}, env: []string{"NVIDIA_VISIBLE_DEVICES=b", "NVIDIA_VISIBLE_DEVICES=void"}},
		"the image's, overruled":      {given: map[string]string{gpu: "b"}, env: []string{"NVIDIA_VISIBLE_DEVICES=all"}, want: "b"},
		"shares of GPUs":              {given: map[string]string{shared: "a::0,a::3"}, env: []string{"NVIDIA_VISIBLE_DEVICES=a"}},
		"by CDI":                      {given: map[string]string{gpu: "b"}, env: []string{"A=1"}},
		"by CDI, as NVIDIA's library": {given: map[string]string{gpu: "b"}, env: []string{"NVIDIA_VISIBLE_DEVICES=void"}},
		"CPUs only, names all":        {given: map[string]string{"allocated.numalet.dev/numa0-cpu": "numa0-cpu-1"}, env: []string{"NVIDIA_VISIBLE_DEVICES=all"}, want: "void"},
		"none, names one":             {env: []string{"NVIDIA_VISIBLE_DEVICES=b"}, want: "void"},
		"none, names nothing":         {env: []string{"CUDA_VERSION=9.0"}, want: "void"},
		"none, names all twice":       {env: []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=all"}, why: refused},
		"none, wants none, void":      {env: []string{"NVIDIA_VISIBLE_DEVICES=void"}},
		"none, wants none":            {env: []string{"NVIDIA_VISIBLE_DEVICES=none"}},
		"none, wants none, empty":     {env: []string{"NVIDIA_VISIBLE_DEVICES="}},
		"none, monitoring":            {env: []string{"NVIDIA_VISIBLE_DEVICES=all"}, namespace: "gpu-operator"},
		"one, monitoring":             {given: map[string]string{gpu: "b"}, env: []string{"NVIDIA_VISIBLE_DEVICES=all"}, namespace: "gpu-operator", want: "b"},
		"none, none on the node":      {env: []string{"NVIDIA_VISIBLE_DEVICES=all"}, noGPUs: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Node{cfg: Config{GPUExemptNamespaces: []string{"kube-system", "gpu-operator"}}}
			n.env.HasGPUs = func() bool { return !tc.noGPUs }
			s := workload.Sandbox{Pod: workload.Pod{Namespace: tc.namespace}}
			got, err := n.visibleGPUs(workload.Container{Name: "c", Sandbox: s, Annotations: tc.given, Env: tc.env})
			why := ""
			if err != nil {
				why = err.Error()
			}
			if diff := cmp.Diff([]string{tc.want, tc.why}, []string{got, why}); diff != "" {
				t.Errorf("visible, or why refused (-want +got):\n%s", diff)
			}
		})
	}
}

// warnings records events of type Warning.
type warnings []string

func (w *warnings) Warn(_ workload.Pod, reason, message string) { *w = append(*w, reason+": "+message) }
func (w *warnings) Note(workload.Pod, string, string)           {}

// TestWarnsOfHiddenGPUs checks that an event reports a container that sees no GPUs although its
// environment names some by UUID, as NVIDIA's device plugin does.
func TestWarnsOfHiddenGPUs(t *testing.T) {
	event := func(gpus string) warnings {
		return warnings{`NumaletGPUsHidden: container "c" sees none of the GPUs that NVIDIA_VISIBLE_DEVICES names (` + gpus +
			`), because numalet-deviceplugin did not allocate them to it; if another device plugin did, remove that plugin and create the pod again`}
	}
	for name, tc := range map[string]struct {
		visible string
		env     []string
		want    warnings
	}{
		"a GPU":                {voidDevices, []string{"NVIDIA_VISIBLE_DEVICES=GPU-1"}, event("GPU-1")},
		"GPUs":                 {voidDevices, []string{"NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-2"}, event("GPU-1,GPU-2")},
		"a MIG slice":          {voidDevices, []string{"NVIDIA_VISIBLE_DEVICES=MIG-1"}, event("MIG-1")},
		"all GPUs":             {voidDevices, []string{"NVIDIA_VISIBLE_DEVICES=all"}, nil},
		"no GPUs":              {voidDevices, nil, nil},
		"visible, as named":    {"", []string{"NVIDIA_VISIBLE_DEVICES=GPU-1"}, nil},
		"visible, as recorded": {"GPU-2", []string{"NVIDIA_VISIBLE_DEVICES=GPU-1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got warnings
			n := &Node{env: Dependencies{Events: &got}}
			n.warnOfHidden(workload.Container{Name: "c", Env: tc.env}, tc.visible)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
