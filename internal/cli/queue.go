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

// server is the address of the controller's port after kubectl port-forward.
const server = "http://127.0.0.1:8127"

const forward = `

The controller serves the queue on its loopback address. Forward the port of the
replica that holds the lease:

	kubectl -n numalet-system get lease numalet-controller    # HOLDER is POD_…
	kubectl -n numalet-system port-forward POD 8127`

func newQueue() *cobra.Command {
	var client queueapi.Client
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Show the pending pods in scheduling order",
		Long:  "Show the pending pods of each type of resource in scheduling order, with their\ntenants' scores and what each waits for." + forward,
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
	fmt.Fprintln(table, "TYPE\tPOSITION\tPOD\tTENANT\tSCORE\tPRIORITY\tWAITED\tSTATE\tWAITS FOR")
	for _, p := range pods {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%.4g\t%d\t%s\t%s\t%s\n", p.Type, p.Position, p.Name, p.Tenant, p.Score, p.Priority, p.Waited, p.State, p.WaitsFor)
	}
	return table.Flush()
}

func newWhy() *cobra.Command {
	var client queueapi.Client
	var namespace string
	cmd := &cobra.Command{
		Use:   "why POD",
		Short: "Explain why a pod is pending, and what would let it run",
		Long:  "Show a pending pod's position, its tenant's score, the pods ahead of it, what it\nwaits for, and what would let it run." + forward,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.WrongUsage("give the name of one pod")
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
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "`namespace` of the pod")
	return cmd
}

func showWhy(out io.Writer, p queueapi.Pod) {
	if p.Position > 0 {
		fmt.Fprintf(out, "%s is number %d of %d pods that wait for %s, pending for %s\n", p.Name, p.Position, p.Of, p.Type, p.Waited)
	} else {
		fmt.Fprintf(out, "%s waits for %s, pending for %s\n", p.Name, p.Type, p.Waited)
	}
	fmt.Fprintf(out, "  score    %.4g (tenant %s), priority %d\n", p.Score, p.Tenant, p.Priority)
	var ahead []string
	for _, a := range p.Ahead {
		ahead = append(ahead, fmt.Sprintf("%d of %s (score %.4g)", a.Pods, a.Tenant, a.Score))
	}
	if ahead != nil {
		fmt.Fprintf(out, "  ahead    %s\n", strings.Join(ahead, ", "))
	}
	fmt.Fprintf(out, "  state    %s: %s\n  needs    %s\n", p.State, p.WaitsFor, p.Needs)
	if p.Message != "" {
		fmt.Fprintf(out, "  message  %s\n", p.Message)
	}
}
