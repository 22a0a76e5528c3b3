package chart

import (
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
)

// namespace is the namespace of the objects in the folders for kustomize.
const namespace = "numalet-system"

// Manifests returns those files of the folders for kustomize that are rendered from the chart, by
// their path in deploy. If the kustomization.yaml of a folder sets a namespace, the objects in the
// files of this folder have none. If they had one, patches in overlays would have to name the
// namespace, too.
func Manifests(c *helmchart.Chart) (map[string]string, error) {
	rendered, err := Render(c, Target{Release: "numalet", Namespace: namespace}, map[string]any{
		"checksums":  false, // no annotation with the ConfigMap's checksum: kustomize renames the ConfigMap when its content changes
		"controller": map[string]any{"enabled": false},
	})
	if err != nil {
		return nil, err
	}
	complete, err := Render(c, Target{Release: "numalet", Namespace: namespace}, map[string]any{
		"checksums": false, "gpu": map[string]any{"enabled": true}, "containerd": map[string]any{"installer": "install"},
	})
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		"daemonset/daemonset.yaml":   rendered["daemonset.yaml"],
		"containerd/installer.yaml":  complete["containerd.yaml"],
		"controller/deployment.yaml": complete["controller.yaml"],
		"gpu/nvml.yaml":              complete["nvml.yaml"],
	}
	for path, text := range files {
		if path != "gpu/nvml.yaml" {
			text = strings.ReplaceAll(text, "\n  namespace: "+namespace+"\n", "\n")
		}
		files[path] = "# Written by make generate from deploy/chart.\n" + text
	}
	return files, nil
}
