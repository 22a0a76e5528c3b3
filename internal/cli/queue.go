package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/controller/queueapi"
)

const forward = `

The controller serves the queue on its loopback address. Forward the port of the
replica that holds the lease:

	kubectl -n numalet-system get lease numalet-controller    # HOLDER is POD_…
	kubectl -n numalet-system port-forward POD 8127`

// forwarded is the address of the queue API after kubectl port-forward.
const forwarded = "http://127.0.0.1:8127"

// server is the URL of the queue API. It implements pflag.Value.
type server string

func (s *server) String() string { return string(*s) }

// Type names the value in the help text.
func (s *server) Type() string { return "URL" }

// Set accepts an address without a scheme, as curl does.
func (s *server) Set(text string) error {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("want a URL such as " + forwarded)
	}
	*s = server(text)
	return nil
}

func (s *server) flag(cmd *cobra.Command) { cmd.Flags().Var(s, "server", "Address of the queue API.") }

func (s *server) client() queueapi.Client { return queueapi.Client{Server: string(*s)} }

func newQueue() *cobra.Command {
	api, out := server(forwarded), command.Text
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Show the pending pods in scheduling order",
		Long:  "Show the pending pods of each type of resource in scheduling order, with their\ntenants' scores and what each waits for." + forward,
		Args:  command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pods, err := api.client().Queue(cmd.Context())
			if err != nil {
				return err
			}
			if out == command.JSON {
				return command.WriteJSON(cmd.OutOrStdout(), pods)
			}
			return showQueue(cmd.OutOrStdout(), pods)
		},
	}
	api.flag(cmd)
	command.OutputFlag(cmd, &out)
	return cmd
}

func showQueue(out io.Writer, pods []queueapi.Pod) error {
	if len(pods) == 0 {
		_, err := fmt.Fprintln(out, "no pod is pending")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TYPE\tPOSITION\tPOD\tTENANT\tSCORE\tPRIORITY\tWAITED\tSTATE\tWAITS FOR")
	for _, p := range pods {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%.4g\t%d\t%s\t%s\t%s\n", p.Type, p.Position, p.Name, p.Tenant, p.Score, p.Priority, p.Waited, p.State, p.WaitsFor)
	}
	return table.Flush()
}
