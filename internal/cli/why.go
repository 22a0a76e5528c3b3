package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/controller/queueapi"
)

// why has the flags of "numalet why".
type why struct {
	server    server
	cluster   cluster
	namespace string // "" for that of the kubeconfig's current context
	out       command.Format
}

func newWhy() *cobra.Command {
	w := why{server: forwarded, out: command.Text}
	cmd := &cobra.Command{
		Use:               "why POD",
		Short:             "Explain why a pod is pending, and what would let it run",
		Long:              "Show a pending pod's position, its tenant's score, the pods ahead of it, what it\nwaits for, and what would let it run." + forward,
		ValidArgsFunction: w.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.WrongUsage("give the name of one pod")
			}
			return w.run(cmd, args[0])
		},
	}
	w.server.flag(cmd)
	w.cluster.flag(cmd)
	cmd.Flags().StringVarP(&w.namespace, "namespace", "n", "", "`Namespace` of the pod. By default that of the current context, as in kubectl.")
	command.OutputFlag(cmd, &w.out)
	return cmd
}

func (w *why) run(cmd *cobra.Command, name string) error {
	if err := w.findNamespace(); err != nil {
		return err
	}
	pod, err := w.server.client().Why(cmd.Context(), w.namespace, name)
	if err != nil {
		return err
	}
	if w.out == command.JSON {
		return command.WriteJSON(cmd.OutOrStdout(), pod)
	}
	showWhy(cmd.OutOrStdout(), pod)
	return nil
}

func (w *why) findNamespace() (err error) {
	if w.namespace == "" {
		w.namespace, err = w.cluster.namespace()
	}
	return err
}

// complete returns the pending pods of the namespace, for the shell. It returns none if
// the queue does not answer within a second.
func (w *why) complete(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 || w.findNamespace() != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, time.Second)
	defer cancel()
	pods, _ := w.server.client().Queue(ctx)
	var names []cobra.Completion
	for _, p := range pods {
		if name, ok := strings.CutPrefix(p.Name, w.namespace+"/"); ok {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
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
