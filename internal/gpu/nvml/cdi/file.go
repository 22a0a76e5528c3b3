package cdi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/pkg/parser"
)

// suffix is in the names of the files that a SpecWriter writes.
const suffix = "numalet-nvml"

// Path returns the path of the CDI specification in dir for devices of a kind, such as
// numalet.dev/gpu.
func Path(dir, kind string) string {
	vendor, class := parser.ParseQualifier(kind)
	return filepath.Join(dir, cdi.GenerateTransientSpecName(vendor, class, suffix)+".json")
}

// Clean removes the CDI specifications that SpecWriters have written to dir. It keeps
// the specification for the kind of devices that the parameter `except` names. If `except`
// is "", it removes all specifications of SpecWriters.
func Clean(dir, except string) error {
	ours, err := filepath.Glob(filepath.Join(dir, "*_"+suffix+".json"))
	if err != nil {
		return fmt.Errorf("list CDI specifications in %s: %w", dir, err)
	}
	var errs []error
	for _, path := range ours {
		if except == "" || path != Path(dir, except) {
			errs = append(errs, remove(path))
		}
	}
	return errors.Join(errs...)
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove CDI specification: %w", err)
	}
	return nil
}
