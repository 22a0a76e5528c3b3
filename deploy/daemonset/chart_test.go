package daemonset

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/numalet/numalet/internal/platform/config"
)

// TestChartSettingsAreAccepted checks that the programs on nodes accept the settings that the chart
// gives them, for all values that the golden files of the chart cover. These include each value of
// kubelet.preset.
func TestChartSettingsAreAccepted(t *testing.T) {
	files, err := filepath.Glob("../release/chart/testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			sets, configs := rendered(t, file)
			if len(sets) == 0 {
				t.Fatal("no DaemonSet")
			}
			for _, set := range sets {
				pod, text := set.Spec.Template.Spec, ""
				if named := pod.Volumes[0].ConfigMap; named != nil {
					text = configs[named.Name]
				}
				for _, container := range pod.Containers {
					if err := load(container.Name, chartInput(t, container, text)); err != nil {
						t.Errorf("DaemonSet %s, container %s: %v", set.Name, container.Name, err)
					}
				}
			}
		})
	}
}

// load loads the settings of a container as its program does.
func load(container string, in config.Input) (err error) {
	switch container {
	case "agent":
		_, err = config.LoadAgent(in)
	case "deviceplugin":
		_, err = config.LoadDevicePlugin(in)
	case "nvml":
		_, err = config.LoadNVML(in)
	case "containerd":
		_, err = config.LoadContainerd(in)
	default:
		err = errors.New("no such program")
	}
	return err
}

// rendered returns the DaemonSets in a manifest, and the configuration files in its ConfigMaps by the
// name of the ConfigMap.
func rendered(t *testing.T, file string) (sets []appsv1.DaemonSet, configs map[string]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	configs = map[string]string{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var object struct {
			appsv1.DaemonSet `json:",inline"`
			Data             map[string]string `json:"data"`
		}
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return sets, configs
		}
		if err != nil {
			t.Fatal(err)
		}
		switch object.Kind {
		case "ConfigMap":
			configs[object.Name] = object.Data["config.yaml"]
		case "DaemonSet":
			sets = append(sets, object.DaemonSet)
		}
	}
}

// chartInput returns the arguments and the environment of a container, with the configuration file
// given as `text`.
func chartInput(t *testing.T, container corev1.Container, text string) config.Input {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in := input(container)
	for i, arg := range in.Args {
		in.Args[i] = strings.Replace(arg, "--config=", "--config="+dir+"/", 1)
	}
	return in
}
