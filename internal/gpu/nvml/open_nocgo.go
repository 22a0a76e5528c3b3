//go:build !cgo

package nvml

import "fmt"

// Open returns an error that wraps ErrAbsent, because only a program that was built
// with cgo can load NVML.
func Open(Options) (Driver, error) {
	return nil, fmt.Errorf("%w that this program can load: it was built without cgo", ErrAbsent)
}
