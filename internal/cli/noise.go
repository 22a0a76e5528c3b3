package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
)

// agentAddress is the default address of the agent's HTTP server (its flag
// --health-addr), which serves the agent's metrics.
const agentAddress = "http://127.0.0.1:8123"

// noise has the flags of "numalet noise".
type noise struct {
	agent server
	span  time.Duration
	out   command.Format
}

// newNoise returns the command "numalet noise", which shows the foreign time of
// containers: the CPU time that interrupts, kernel threads and other processes used on a
// container's exclusive CPUs.
func newNoise() *cobra.Command {
	n := noise{agent: agentAddress, out: command.Text}
	cmd := &cobra.Command{
		Use:   "noise",
		Short: "Show how much time interrupts and other processes use on exclusive CPUs of this node",
		Long: `Show how many percent of the time of each container's exclusive CPUs on this node others
used: interrupts, threads of the kernel, and other processes.

The agent of the node measures this time every 10 seconds. Without --for, the output for
a container covers the time since the agent first measured the CPUs of this container.
It starts again from zero when the agent restarts.`,
		Example: `  numalet noise
  numalet noise --for 1m
  numalet noise -o json`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return n.run(cmd) },
	}
	cmd.Flags().Var(&n.agent, "agent", "Address of the agent (its --health-addr).")
	cmd.Flags().DurationVar(&n.span, "for", 0, "How long to measure, at least 10s. 0 shows all that the agent has measured since its last start.")
	command.OutputFlag(cmd, &n.out)
	return cmd
}

func (n noise) run(cmd *cobra.Command) error {
	if n.span != 0 && n.span < 10*time.Second {
		return command.WrongUsage("--for %s is shorter than the interval of the measurements, 10s", n.span)
	}
	var before noises
	var err error
	if n.span > 0 {
		if before, err = readNoise(cmd.Context(), string(n.agent)); err != nil {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(n.span):
		}
	}
	now, err := readNoise(cmd.Context(), string(n.agent))
	if err != nil {
		return err
	}
	found := now.since(before)
	if n.out == command.JSON {
		return command.WriteJSON(cmd.OutOrStdout(), found)
	}
	return showNoise(cmd.OutOrStdout(), found)
}

// readNoise reads the foreign time of each container from the agent's metrics: the CPU
// time that interrupts, kernel threads and other processes used on its exclusive CPUs.
func readNoise(ctx context.Context, agent string) (noises, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, agent+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of the agent: %w; run this command on a node with numalet-agent, or give --agent", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the metrics of the agent: %s answers %s", agent, answer.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(command.TextReader(answer.Body))
	if err != nil {
		return nil, fmt.Errorf("parse the metrics of the agent: %w", err)
	}
	return noiseOf(families), nil
}

func showNoise(out io.Writer, all []containerNoise) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "no container with exclusive CPUs was measured")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tPOD\tCONTAINER\tFOREIGN\tINTERRUPTS\tKERNEL\tOTHER\tCPU TIME")
	for _, c := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%.2f%%\t%.2f%%\t%.2f%%\t%.2f%%\t%.0fs\n", c.Namespace, c.Pod, c.Container,
			c.ForeignPercent, c.percent(c.Interrupts), c.percent(c.Kernel), c.percent(c.Other), c.CPUSeconds)
	}
	return table.Flush()
}
