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

// suffix marks the files of a SpecWriter.
const suffix = "numalet-nvml"

// Path returns the path of the specification of a kind.
func Path(dir, kind string) string {
	vendor, class := parser.ParseQualifier(kind)
	return filepath.Join(dir, cdi.GenerateTransientSpecName(vendor, class, suffix)+".json")
}

// Clean removes all specifications of SpecWriters except that of one kind, which may
// be "".
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
