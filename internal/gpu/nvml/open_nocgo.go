//go:build !cgo

package nvml

import "fmt"

// Open returns ErrAbsent: only a build with cgo can load the library.
func Open(Options) (Driver, error) {
	return nil, fmt.Errorf("%w that this program can load: it was built without cgo", ErrAbsent)
}
