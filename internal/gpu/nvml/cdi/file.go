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

// writer marks by their names the files that a Keeper wrote.
const writer = "numalet-nvml"

// Path returns where the specification of a kind is.
func Path(dir, kind string) string {
	vendor, class := parser.ParseQualifier(kind)
	return filepath.Join(dir, cdi.GenerateTransientSpecName(vendor, class, writer)+".json")
}

// Clean removes all specifications that a Keeper ever wrote but that of one kind,
// which may be "".
func Clean(dir, but string) error {
	ours, err := filepath.Glob(filepath.Join(dir, "*_"+writer+".json"))
	if err != nil {
		return fmt.Errorf("list CDI specifications in %s: %w", dir, err)
	}
	var errs []error
	for _, path := range ours {
		if but == "" || path != Path(dir, but) {
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
