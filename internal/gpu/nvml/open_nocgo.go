//go:build !cgo

package nvml

import "fmt"

// Open returns ErrAbsent: the library can be loaded with cgo only.
func Open(Options) (Driver, error) {
	return nil, fmt.Errorf("%w that this program could load: it was built without cgo", ErrAbsent)
}
