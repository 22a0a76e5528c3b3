package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// View is the value of the flag -o of commands that show objects of a cluster. It implements
// pflag.Value.
type View string

// These are the values of View. There is a fourth value: View(JSON), made from the constant JSON of
// the type Format.
const (
	Plain View = View(Text)
	Wide  View = "wide" // text with more columns
	YAML  View = "yaml"
)

func views() []string { return []string{string(Text), string(Wide), string(JSON), string(YAML)} }

func (v *View) String() string { return string(*v) }

// Type returns the word that stands for the flag's value in the help text. It implements
// pflag.Value.
func (v *View) Type() string { return "format" }

// Set parses the value of the flag. It implements pflag.Value.
func (v *View) Set(s string) error {
	if !slices.Contains(views(), s) {
		return fmt.Errorf("unknown format: use %s", strings.Join(views(), ", "))
	}
	*v = View(s)
	return nil
}

// ViewFlag adds the flag --output to a command.
func ViewFlag(cmd *cobra.Command, v *View) {
	*v = Plain
	cmd.Flags().VarP(v, "output", "o", "Output format: text, wide, json or yaml.")
	Complete(cmd, "output", views()...)
}

// Write writes objects as JSON or YAML if v is one of these formats. Otherwise it calls the
// function given as `text`, which writes the objects for people.
func (v View) Write(w io.Writer, objects any, text func(io.Writer) error) error {
	switch v {
	case View(JSON):
		return WriteJSON(w, objects)
	case YAML:
		content, err := yaml.Marshal(objects)
		if err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
		_, err = w.Write(content)
		return err
	}
	return text(w)
}
