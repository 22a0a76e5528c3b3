package command

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Format is the value of the flag -o. It implements pflag.Value.
type Format string

// These are the output formats.
const (
	Text Format = "text" // for people
	JSON Format = "json" // for programs; later versions of Numalet may add fields, but do not change or remove existing ones
)

func (f *Format) String() string { return string(*f) }

// Type returns the word that stands for the flag's value in the help text. It
// implements pflag.Value.
func (f *Format) Type() string { return "format" }

// Set parses the value of the flag. It implements pflag.Value.
func (f *Format) Set(s string) error {
	if s != string(Text) && s != string(JSON) {
		return fmt.Errorf("unknown format: use %s or %s", Text, JSON)
	}
	*f = Format(s)
	return nil
}

// OutputFlag adds the flag --output to a command.
func OutputFlag(cmd *cobra.Command, out *Format) {
	cmd.Flags().VarP(out, "output", "o", "Output format: text or json.")
	Complete(cmd, "output", string(Text), string(JSON))
}

// Complete makes shell completion offer these values for a flag. It panics if the
// command has no such flag.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// CompleteFiles makes shell completion offer the files with these extensions for a
// flag. It panics if the command has no such flag.
func CompleteFiles(cmd *cobra.Command, flag string, extensions ...string) {
	if err := cmd.MarkFlagFilename(flag, extensions...); err != nil {
		panic(err)
	}
}

// WriteJSON writes v as one indented JSON document.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
