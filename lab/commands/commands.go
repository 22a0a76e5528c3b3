// Package commands has the simulation commands of the numalet tool. They run the
// scheduling engine on traces and virtual clocks, without a cluster.
package commands

import "github.com/spf13/cobra"

// All returns the commands score and simulate.
func All() []*cobra.Command { return []*cobra.Command{newScore(), newSimulate()} }
