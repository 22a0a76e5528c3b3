package main

import (
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeBill writes the software bill of materials of all programs in the CycloneDX format. It
// lists the Go modules that the linker recorded in the programs. It has no serial number and no
// time, because these would differ between two builds of the same release.
func (o options) writeBill() error {
	files, err := filepath.Glob(filepath.Join(o.programs, "linux_*", "*"))
	if err != nil {
		return err
	}
	modules := map[string]cdx.Component{}
	for _, file := range files {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read the modules of %s: %w", file, err)
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			purl := "pkg:golang/" + m.Path + "@" + m.Version
			modules[purl] = cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl}
		}
		purl := "pkg:golang/std@" + info.GoVersion
		modules[purl] = cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion, PackageURL: purl}
	}
	var components []cdx.Component
	for _, purl := range slices.Sorted(maps.Keys(modules)) {
		components = append(components, modules[purl])
	}
	bill := cdx.NewBOM()
	bill.Metadata = &cdx.Metadata{Component: &cdx.Component{Type: cdx.ComponentTypeApplication, Name: "numalet", Version: o.version}}
	bill.Components = &components
	out, err := os.Create(filepath.Join(o.out, "numalet.cdx.json"))
	if err != nil {
		return err
	}
	if err := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bill); err != nil {
		out.Close()
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	return out.Close()
}
