package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/numalet/numalet/internal/cli/command"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/controller/queueapi"
)

// server is where a forwarded port of the controller is.
const server = "http://127.0.0.1:8127"

const forward = `

The controller answers on its loopback; forward the port of the replica that leads:

	kubectl -n numalet-system get lease numalet-controller    # HOLDER is POD_…
	kubectl -n numalet-system port-forward POD 8127`

func newQueue() *cobra.Command {
	var client queueapi.Client
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Show the pending pods in the order of their turns",
		Long:  "Show the pending pods of each type of resource in the order of their turns, with\ntheir tenants' scores, and what each waits for." + forward,
		Args:  command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pods, err := client.Queue(cmd.Context())
			if err != nil {
				return err
			}
			return showQueue(cmd.OutOrStdout(), pods)
		},
	}
	cmd.Flags().StringVar(&client.Server, "server", server, "`URL` of the controller")
	return cmd
}

func showQueue(out io.Writer, pods []queueapi.Pod) error {
	if len(pods) == 0 {
		fmt.Fprintln(out, "no pod is pending")
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TYPE\tPLACE\tPOD\tTENANT\tSCORE\tPRIORITY\tWAITED\tSTATE\tWAITS FOR")
	for _, p := range pods {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%.4g\t%d\t%s\t%s\t%s\n", p.Type, p.Place, p.Name, p.Tenant, p.Score, p.Priority, p.Waited, p.State, p.WaitsFor)
	}
	return table.Flush()
}

func newWhy() *cobra.Command {
	var client queueapi.Client
	var namespace string
	cmd := &cobra.Command{
		Use:   "why POD",
		Short: "Say why a pod is pending, and what would let it run",
		Long:  "Say of a pending pod its place, its tenant's score, what is ahead of it, what it\nwaits for, and what would let it run." + forward,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.WrongUsage("name one pod")
			}
			pod, err := client.Why(cmd.Context(), namespace, args[0])
			if err != nil {
				return err
			}
			showWhy(cmd.OutOrStdout(), pod)
			return nil
		},
	}
	cmd.Flags().StringVar(&client.Server, "server", server, "`URL` of the controller")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "`name` of the pod's namespace")
	return cmd
}

func showWhy(out io.Writer, p queueapi.Pod) {
	fmt.Fprintf(out, "%s is %d of %d that wait for %s, for %s now\n", p.Name, p.Place, p.Of, p.Type, p.Waited)
	fmt.Fprintf(out, "  score    %.4g, of its tenant %s; priority %d\n", p.Score, p.Tenant, p.Priority)
	var ahead []string
	for _, a := range p.Ahead {
		ahead = append(ahead, fmt.Sprintf("%d of %s (score %.4g)", a.Pods, a.Tenant, a.Score))
	}
	if ahead != nil {
		fmt.Fprintf(out, "  ahead    %s\n", strings.Join(ahead, ", "))
	}
	fmt.Fprintf(out, "  state    %s: %s\n  needs    %s\n", p.State, p.WaitsFor, p.Needs)
	if p.Said != "" {
		fmt.Fprintf(out, "  told     %s\n", p.Said)
	}
}
