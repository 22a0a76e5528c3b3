package command

import (
	"encoding/json"
	"fmt"
	"io"
)

// Format is the value of -o. It implements pflag.Value.
type Format string

// Formats of output.
const (
	Text Format = "text" // for people
	JSON Format = "json" // for programs: a contract
)

func (f *Format) String() string { return string(*f) }

// Type names the value in the help text.
func (f *Format) Type() string { return "format" }

// Set is for pflag.
func (f *Format) Set(s string) error {
	if s != string(Text) && s != string(JSON) {
		return fmt.Errorf("no such format: choose %s or %s", Text, JSON)
	}
	*f = Format(s)
	return nil
}

// WriteJSON writes v as one indented document.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
