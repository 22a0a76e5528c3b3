package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/controller/queueapi"
)

// newWhy returns "numalet why".
func newWhy() *cobra.Command {
	var at cluster
	var out command.View
	cmd := &cobra.Command{
		Use:               "why POD",
		Short:             "Explain why a pod is pending, and what would let it run",
		Long:              "Show a pending pod's position, its tenant's score, the pods ahead of it, what it\nwaits for, and what would let it run." + byRights,
		ValidArgsFunction: offer(1, at.pendingPods),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.WrongUsage("give the name of one pod")
			}
			pod, err := at.why(cmd, args[0])
			if err != nil {
				return err
			}
			return out.Write(cmd.OutOrStdout(), pod, func(w io.Writer) error { return showWhy(w, pod) })
		},
	}
	at.flag(cmd)
	command.ViewFlag(cmd, &out)
	return cmd
}

func (c *cluster) why(cmd *cobra.Command, name string) (pod queueapi.PendingPod, err error) {
	namespace, err := c.namespace()
	if err != nil {
		return pod, err
	}
	client, err := c.queue()
	if err != nil {
		return pod, err
	}
	return client.Get(cmd.Context(), namespace, name)
}

func showWhy(out io.Writer, p queueapi.PendingPod) error {
	s, style := p.Status, command.StyleOf(out)
	place := ""
	if s.Position > 0 {
		place = fmt.Sprintf("is number %d of %d pods that wait for %s", s.Position, s.Of, s.Type)
	} else {
		place = "waits for " + s.Type
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, pending for %s\n", style.Bold(p.Namespace+"/"+p.Name), place, s.Waited)
	fmt.Fprintf(&b, "  score    %.4g (tenant %s), priority %d\n", s.Score, s.Tenant, s.Priority)
	var ahead []string
	for _, a := range s.Ahead {
		ahead = append(ahead, fmt.Sprintf("%d of %s (score %.4g)", a.Pods, a.Tenant, a.Score))
	}
	if ahead != nil {
		fmt.Fprintf(&b, "  ahead    %s\n", strings.Join(ahead, ", "))
	}
	fmt.Fprintf(&b, "  state    %s: %s\n", s.State, style.Warn(s.WaitsFor))
	fmt.Fprintf(&b, "  needs    %s\n", style.Good(s.Needs))
	if s.Message != "" {
		fmt.Fprintf(&b, "  message  %s\n", s.Message)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
