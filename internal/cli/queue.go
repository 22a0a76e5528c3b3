package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/controller/queueapi"
)

const byRights = `

The command reads the queue through the API server, with your own permissions. The role
"view" in a namespace is enough to see the pending pods of this namespace.`

// newQueue returns the command "numalet queue".
func newQueue() *cobra.Command {
	var at cluster
	var out command.View
	all := false
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Show the pending pods in scheduling order",
		Long: `Show the pending pods in scheduling order, with what each pod waits for and the score of
its tenant. Each type of resource (CPUs, or GPUs of certain models) has an order of its
own: by priority (unless the controller has --pod-priority=false), then by score, then
by age. Pods with a lower score come first. The score is an average of what the tenant
has held of this type, in which recent use counts more, divided by the tenant's weight.` + byRights,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pods, err := at.listQueue(cmd, all)
			if err != nil {
				return err
			}
			list := queueapi.PendingPodList{TypeMeta: metav1.TypeMeta{APIVersion: queueapi.Group + "/" + queueapi.Version, Kind: queueapi.Kind + "List"}, Items: pods}
			return out.Write(cmd.OutOrStdout(), list, func(w io.Writer) error { return showQueue(w, pods, out == command.Wide) })
		},
	}
	at.flag(cmd)
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Show the pods of all namespaces. You need permission to list pendingpods.queue.numalet.dev in all namespaces.")
	command.ViewFlag(cmd, &out)
	return cmd
}

func (c *cluster) listQueue(cmd *cobra.Command, all bool) ([]queueapi.PendingPod, error) {
	namespace, err := c.namespace()
	if err != nil {
		return nil, err
	}
	if all {
		namespace = metav1.NamespaceAll
	}
	client, err := c.queue()
	if err != nil {
		return nil, err
	}
	return client.List(cmd.Context(), namespace)
}

func showQueue(out io.Writer, pods []queueapi.PendingPod, wide bool) error {
	if len(pods) == 0 {
		_, err := fmt.Fprintln(out, "no pod is pending")
		return err
	}
	header := []string{"TYPE", "POSITION", "POD", "TENANT", "SCORE", "WAITED", "STATE", "WAITS FOR"}
	if wide {
		header = append(header, "PRIORITY", "OF", "UID")
	}
	rows := [][]string{header}
	for _, pod := range pods {
		status := pod.Status
		row := []string{status.Type, fmt.Sprint(status.Position), pod.Namespace + "/" + pod.Name, status.Tenant, fmt.Sprintf("%.4g", status.Score), status.Waited, status.State, status.WaitsFor}
		if wide {
			row = append(row, fmt.Sprint(status.Priority), fmt.Sprint(status.Of), string(pod.UID))
		}
		rows = append(rows, row)
	}
	return command.Table(out, rows)
}
