package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/controller/queueapi"
)

// newWhy returns the command "numalet why", which explains why a pod does not run.
func newWhy() *cobra.Command {
	var at cluster
	var out command.View
	whatIf := false
	cmd := &cobra.Command{
		Use:               "why POD",
		Short:             "Explain why a pod is pending, and what would let it run",
		Long:              "Show a pending pod's position, its tenant's score, the pods ahead of it, what it\nwaits for, what would let it run, and when it will probably start." + byRights,
		ValidArgsFunction: offer(1, at.pendingPods),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.WrongUsage("give the name of one pod")
			}
			if whatIf {
				return at.whatIf(cmd, args[0], out)
			}
			pod, err := at.why(cmd, args[0])
			if err != nil {
				return err
			}
			return out.Write(cmd.OutOrStdout(), pod, func(w io.Writer) error { return showWhy(w, pod) })
		},
	}
	at.flag(cmd)
	cmd.Flags().BoolVar(&whatIf, "what-if", false, "Show with which changes the pod would fit on a node now: fewer CPUs, another policy, any GPU type, fewer restrictions.")
	command.ViewFlag(cmd, &out)
	return cmd
}

// whatIf shows which changes of a pod's request would let the pod fit on a node now.
func (c *cluster) whatIf(cmd *cobra.Command, name string, out command.View) error {
	namespace, err := c.namespace()
	if err != nil {
		return err
	}
	client, err := c.queue()
	if err != nil {
		return err
	}
	answers, err := client.WhatIf(cmd.Context(), namespace, name)
	if err != nil {
		return err
	}
	return out.Write(cmd.OutOrStdout(), answers, func(w io.Writer) error { return showWhatIf(w, answers) })
}

func showWhatIf(out io.Writer, answers queueapi.WhatIf) error {
	rows := [][]string{{"CHANGE", "ROOM NOW"}}
	for _, v := range answers.Variants {
		room := "no"
		if v.Fits {
			room = "on " + v.Node
		}
		rows = append(rows, []string{v.Change, room})
	}
	return command.Table(out, rows)
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
	pod, err = client.Get(cmd.Context(), namespace, name)
	if !unexplained(err) {
		return pod, err
	}
	pod, other := c.diagnose(cmd.Context(), namespace, name, err)
	if apierrors.IsForbidden(other) {
		return pod, err // the user may read neither the queue nor the pod
	}
	return pod, other
}

func showWhy(out io.Writer, p queueapi.PendingPod) error {
	s, style := p.Status, command.StyleOf(out)
	var b strings.Builder
	b.WriteString(style.Bold(p.Namespace+"/"+p.Name) + " " + standingOf(s) + "\n")
	line := func(name, text string) { fmt.Fprintf(&b, "  %-8s %s\n", name, text) }
	if s.State != notQueued {
		line("score", fmt.Sprintf("%.4g (tenant %s), priority %d", s.Score, s.Tenant, s.Priority))
		if len(s.Ahead) > 0 {
			line("ahead", ahead(s.Ahead))
		}
		line("state", s.State+": "+style.Warn(command.Printable(s.WaitsFor)))
		line("needs", style.Good(s.Needs))
		if s.Forecast != nil {
			line("start", start(*s.Forecast))
		}
	}
	for _, a := range s.Advice {
		line("cause", style.Warn(command.Printable(a.Cause))+": "+style.Good(a.Remedy))
	}
	if s.Message != "" {
		line("message", command.Printable(s.Message))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// standingOf returns a text about the position of a pod in the scheduling queue.
func standingOf(s queueapi.Status) string {
	switch {
	case s.State == notQueued:
		return "is not known to be in the queue, created " + s.Waited + " ago"
	case s.Position == 0:
		return fmt.Sprintf("waits for %s, pending for %s", s.Type, s.Waited)
	}
	return fmt.Sprintf("is number %d of %d pods that wait for %s, pending for %s", s.Position, s.Of, s.Type, s.Waited)
}

// start returns a text that says when a pod will probably start.
func start(f queueapi.Forecast) string {
	switch {
	case f.Unknown != "":
		return "cannot be predicted: " + f.Unknown
	case f.P50 == "0s":
		return "probably at once, when it is its turn"
	case f.P90 == "":
		return "probably in " + f.P50 + ", but perhaps not at all as things are"
	}
	return fmt.Sprintf("probably in %s, rarely later than in %s, unless pods that are created later go first", f.P50, f.P90)
}

func ahead(tenants []queueapi.Ahead) string {
	var all []string
	for _, a := range tenants {
		all = append(all, fmt.Sprintf("%d of %s (score %.4g)", a.Pods, a.Tenant, a.Score))
	}
	return strings.Join(all, ", ")
}
