package command

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file's content. Errors name the file.
func ReadFile[T any](name string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	f, err := os.Open(name)
	if err != nil {
		return none, err
	}
	defer f.Close()
	content, err := read(f)
	if err != nil {
		return none, fmt.Errorf("%s: %w", name, err)
	}
	return content, nil
}
