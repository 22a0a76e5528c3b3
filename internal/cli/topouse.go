package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/cli/nodemap"
)

// readUse reads a NodeTopology as JSON from a file. If the name is "-", it reads the command's
// standard input instead.
func readUse(cmd *cobra.Command, file string) (nodemap.Node, error) {
	if file == "-" {
		return parseUse(command.TextReader(cmd.InOrStdin()))
	}
	return command.ReadFile(file, parseUse)
}

const wantNodeTopology = "want a NodeTopology as JSON, from: kubectl get nodetopology NODE -o json"

func parseUse(r io.Reader) (nodemap.Node, error) {
	var t v1alpha1.NodeTopology
	if err := command.DecodeJSON(r, &t); err != nil {
		return nodemap.Node{}, fmt.Errorf("%w: %s", err, wantNodeTopology)
	}
	if t.Kind != "NodeTopology" {
		return nodemap.Node{}, fmt.Errorf("its kind is %q: %s", t.Kind, wantNodeTopology)
	}
	node, err := nodemap.Read(&t)
	if err != nil {
		return nodemap.Node{}, fmt.Errorf("NodeTopology %q: %w", t.Name, err)
	}
	return node, nil
}
