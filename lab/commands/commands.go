// Package commands has the laboratory's commands of the numalet tool: they run the
// real engine on traces and virtual clocks, and touch no cluster.
package commands

import "github.com/spf13/cobra"

// All returns the laboratory's commands: score and simulate.
func All() []*cobra.Command { return []*cobra.Command{newScore(), newSimulate()} }
