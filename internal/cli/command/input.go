package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxInput is the maximum size of an input file. The largest known input files, traces of clusters,
// are a few megabytes in size.
const maxInput = 64 << 20

// ReadFile opens a text file, calls the function given as `read` with a reader of its content, and
// returns the result of this call. Errors contain the name of the file.
func ReadFile[T any](name string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	f, err := os.Open(name)
	if err != nil {
		return none, err
	}
	defer f.Close()
	content, err := read(TextReader(f))
	if err != nil {
		return none, fmt.Errorf("%s: %w", name, err)
	}
	return content, nil
}

// TextReader returns a reader that reads text from the reader `in`. The returned reader fails at
// the first byte that is not text: a byte below 0x20 other than a tab, a line feed or a carriage
// return. It also fails after 64 MiB, so that an endless file such as /dev/zero does not fill the
// memory.
func TextReader(in io.Reader) io.Reader { return &textReader{in: in, line: 1} }

type textReader struct {
	in                 io.Reader
	size, line, column int
}

// Read implements io.Reader. If the block of bytes that it has read contains a byte that is not
// text, Read returns only an error, and no text. A parser then reports this error, and not a syntax
// error in the text before the byte.
func (t *textReader) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	for _, b := range p[:n] {
		if err := t.check(b); err != nil {
			return 0, err
		}
	}
	return n, err
}

func (t *textReader) check(b byte) error {
	t.size++
	t.column++
	switch {
	case t.size > maxInput:
		return fmt.Errorf("it is larger than %d MiB, the limit", maxInput>>20)
	case b == '\n':
		t.line, t.column = t.line+1, 0
	case b < ' ' && b != '\t' && b != '\r':
		return fmt.Errorf("line %d, column %d: byte 0x%02x is not text", t.line, t.column, b)
	}
	return nil
}

// DecodeJSON decodes a JSON document. If the syntax or the type of a value is wrong, the error says
// in which line and column.
func DecodeJSON(r io.Reader, into any) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return errors.New("the file is empty")
	}
	err = json.Unmarshal(content, into)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Errorf("%s: not JSON", position(content, syntax.Offset))
	}
	if field := (*json.UnmarshalTypeError)(nil); errors.As(err, &field) {
		return fmt.Errorf("%s: %s has the wrong type (%s)", position(content, field.Offset), field.Field, field.Value)
	}
	return err
}

// position returns the line and the column of the n-th byte of a document.
func position(content []byte, n int64) string {
	before := content[:min(n, int64(len(content)))]
	return fmt.Sprintf("line %d, column %d", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')-1)
}
