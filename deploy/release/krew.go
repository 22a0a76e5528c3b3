package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// platform is an archive of the kubectl plugin for one system, such as linux_amd64.
type platform struct{ system, archive string }

// writeKrew writes the manifest from which krew, the package manager of kubectl
// plugins, installs the plugin. Format:
// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
func (o options) writeKrew(platforms []platform) error {
	var list []any
	for _, p := range platforms {
		data, err := os.ReadFile(filepath.Join(o.out, p.archive))
		if err != nil {
			return err
		}
		system, arch, _ := strings.Cut(p.system, "_")
		list = append(list, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]string{"os": system, "arch": arch}},
			"uri":      strings.TrimSuffix(o.url, "/") + "/" + p.archive,
			"sha256":   fmt.Sprintf("%x", sha256.Sum256(data)),
			"bin":      "kubectl-numalet",
		})
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin",
		"metadata": map[string]any{"name": "numalet"},
		"spec": map[string]any{
			"version": o.version, "homepage": "https://github.com/numalet/numalet",
			"shortDescription": "Shows NUMA nodes, queues and GPU groups", "platforms": list,
			"description": "Shows which CPUs of which NUMA node are free, why a pod waits, and who may use which GPUs.",
		},
	})
	if err != nil {
		return fmt.Errorf("write the krew manifest: %w", err)
	}
	return os.WriteFile(filepath.Join(o.out, "numalet.krew.yaml"), text, 0o644)
}
