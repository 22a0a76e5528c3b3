// Package chart renders and packs the Helm chart in deploy/chart.
package chart

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// Target is where a chart is installed. Minor is the minor version of Kubernetes, such as 34
// for Kubernetes 1.34. If it is 0, Kubernetes 1.36 is meant, and so the chart renders the
// admission policies for 1.36 and later.
type Target struct {
	Release, Namespace string
	Minor              int
}

func (t Target) kubernetes() chartutil.KubeVersion {
	minor := strconv.Itoa(cmp.Or(t.Minor, 36))
	return chartutil.KubeVersion{Version: "v1." + minor + ".0", Major: "1", Minor: minor}
}

// Load reads the chart in a directory. The admission policies and custom resource definitions of
// the chart are in other directories, to which this directory has symbolic links. Load follows
// these links.
func Load(dir string) (*helmchart.Chart, error) {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("load the chart in %s: %w", dir, err)
	}
	return c, nil
}

// LoadArchive reads a packed chart.
func LoadArchive(file string) (*helmchart.Chart, error) {
	c, err := loader.LoadFile(file)
	if err != nil {
		return nil, fmt.Errorf("load the chart %s: %w", file, err)
	}
	return c, nil
}

// Render returns the Kubernetes objects of each template as YAML. The keys of the result are the
// names of the templates' files. Templates without objects, and NOTES.txt, are left out.
func Render(c *helmchart.Chart, to Target, values map[string]any) (map[string]string, error) {
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = to.kubernetes()
	merged, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: to.Release, Namespace: to.Namespace, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(c, merged)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for name, text := range rendered {
		if text = strings.TrimPrefix(strings.TrimSpace(text), "---\n"); text != "" && !strings.HasSuffix(name, ".tpl") && !strings.HasSuffix(name, ".txt") {
			all[path.Base(name)] = text + "\n"
		}
	}
	return all, nil
}

// Join returns the objects of all templates as one manifest.
func Join(rendered map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		all = append(all, rendered[name])
	}
	return strings.Join(all, "---\n")
}
