package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"

	"github.com/numalet/numalet/deploy/release/chart"
)

// options has the arguments of the command: what to release, and where the inputs are.
type options struct {
	version, image, url  string
	chart, programs, out string
}

// write writes all files of the release except the checksums and the signature.
func (o options) write() error {
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(o.version) {
		return fmt.Errorf("version %q is not semantic, such as v1.2.3: release from a git tag", o.version)
	}
	c, err := chart.Load(o.chart)
	if err != nil {
		return err
	}
	c.Metadata.Version, c.Metadata.AppVersion = strings.TrimPrefix(o.version, "v"), o.version
	if err := o.writeChart(c); err != nil {
		return err
	}
	if err := o.writeManifests(c); err != nil {
		return err
	}
	if err := o.writePlugin(); err != nil {
		return err
	}
	return o.writeBill()
}

// entry is a file in a tar archive.
type entry struct {
	name string
	data []byte
	mode int64
}

// pack writes a compressed tar archive. Its entries have no times and no owners, so that equal
// files give equal archives.
func pack(file string, entries []entry) error {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	tw := tar.NewWriter(zip)
	for _, e := range entries {
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.data))}); err != nil {
			return fmt.Errorf("pack %s: %w", file, err)
		}
		if _, err := tw.Write(e.data); err != nil {
			return fmt.Errorf("pack %s: %w", file, err)
		}
	}
	if err := tw.Close(); err != nil {
		return fmt.Errorf("pack %s: %w", file, err)
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("pack %s: %w", file, err)
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// versions matches the lines of Chart.yaml and values.yaml that differ in a release: the chart's
// two versions, and the image repository.
var versions = regexp.MustCompile(`(?m)^(version|appVersion|  repository): .*$`)

// writeChart packs the chart. It does not use Helm's own function for this, because that function
// writes the current time into the archive.
func (o options) writeChart(c *helmchart.Chart) error {
	var entries []entry
	for _, f := range c.Raw {
		data := f.Data
		if f.Name == "Chart.yaml" || f.Name == "values.yaml" {
			data = versions.ReplaceAllFunc(data, func(line []byte) []byte {
				key, _, _ := strings.Cut(string(line), ":")
				return []byte(key + ": " + map[string]string{
					"version": c.Metadata.Version, "appVersion": c.Metadata.AppVersion, "  repository": o.image,
				}[key])
			})
		}
		entries = append(entries, entry{path.Join(c.Name(), f.Name), data, 0o644})
	}
	return pack(filepath.Join(o.out, "numalet-"+c.Metadata.Version+".tgz"), entries)
}

// writeManifests writes two files. numalet.yaml has the objects that the chart installs by default,
// and the namespace of these objects. namespace.yaml has only the namespace.
func (o options) writeManifests(c *helmchart.Chart) error {
	rendered, err := chart.Render(c, chart.Target{Release: "numalet", Namespace: "numalet-system"}, map[string]any{"image": map[string]any{"repository": o.image}})
	if err != nil {
		return err
	}
	namespace, err := os.ReadFile(filepath.Join(o.chart, "../daemonset/namespace.yaml"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, "namespace.yaml"), namespace, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "numalet.yaml"), []byte(string(namespace)+"---\n"+chart.Join(rendered)), 0o644)
}

// writePlugin packs the command numalet as a kubectl plugin, once for each operating system and
// architecture.
func (o options) writePlugin() error {
	found, err := filepath.Glob(filepath.Join(o.programs, "*", "numalet"))
	if err != nil {
		return fmt.Errorf("find the programs in %q: %w", o.programs, err)
	}
	if len(found) == 0 {
		return fmt.Errorf("there are no programs in %q", o.programs)
	}
	var platforms []platform
	for _, file := range found {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		system := filepath.Base(filepath.Dir(file))
		archive := "kubectl-numalet_" + system + ".tar.gz"
		if err := pack(filepath.Join(o.out, archive), []entry{{"kubectl-numalet", data, 0o755}}); err != nil {
			return err
		}
		platforms = append(platforms, platform{system, archive})
	}
	if o.url == "" {
		return nil
	}
	return o.writeKrew(platforms)
}
