package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// format is the value of -o. It implements pflag.Value.
type format string

// Formats of output.
const (
	formatText format = "text" // for people
	formatJSON format = "json" // for programs: a contract
)

func (f *format) String() string { return string(*f) }

// Type names the value in the help text.
func (f *format) Type() string { return "format" }

func (f *format) Set(s string) error {
	if s != string(formatText) && s != string(formatJSON) {
		return fmt.Errorf("no such format: choose %s or %s", formatText, formatJSON)
	}
	*f = format(s)
	return nil
}

// writeJSON writes v as one indented document.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
