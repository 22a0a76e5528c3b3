package command_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/cli/command"
)

// endless is a reader that returns blanks and never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestTextReader(t *testing.T) {
	for name, tc := range map[string]struct {
		in   io.Reader
		want string
	}{
		"text":     {strings.NewReader("a\tb\r\né\n"), ""},
		"zero":     {strings.NewReader("ab\nc\x00"), "line 2, column 2: byte 0x00 is not text"},
		"endless":  {endless{}, "it is larger than 64 MiB, the limit"},
		"no input": {strings.NewReader(""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := io.Copy(io.Discard, command.TextReader(tc.in))
			if (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestDecodeJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": {"b": 1}}`:    "",
		" \n":                "the file is empty",
		"{\n  \"a\": }":      "line 2, column 8: not JSON",
		`{"a": {"b": 1}} {}`: "line 1, column 17: not JSON",
		`{"a": {"b": "1"}}`:  "line 1, column 15: A.B has the wrong type (string)",
		`{"a":`:              "line 1, column 5: not JSON",
	} {
		var into struct{ A struct{ B int } }
		err := command.DecodeJSON(strings.NewReader(text), &into)
		if err == nil {
			err = errors.New("")
		}
		if err.Error() != want {
			t.Errorf("%q: error %q, want %q", text, err, want)
		}
	}
}
