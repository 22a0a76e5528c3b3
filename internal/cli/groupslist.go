package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/cli/command"
)

// listGroups prints the GPU groups with these names. Without names, it prints all GPU groups that
// the user is allowed to read.
func listGroups(cmd *cobra.Command, at *cluster, out command.View, names []string) error {
	client, err := at.objects()
	if err != nil {
		return err
	}
	groups, err := client.Groups(cmd.Context(), names...)
	if err != nil {
		return err
	}
	return out.Write(cmd.OutOrStdout(), v1alpha1.GPUGroupList{TypeMeta: listOf("GPUGroup"), Items: groups}, func(w io.Writer) error { return writeGroups(w, groups, out == command.Wide) })
}

func writeGroups(to io.Writer, groups []v1alpha1.GPUGroup, wide bool) error {
	if len(groups) == 0 {
		_, err := fmt.Fprintln(to, "no GPU groups that you may see")
		return err
	}
	rows := [][]string{{"GROUP", "TENANTS", "FORM", "TYPE", "GPUS", "USED", "BY", "ACCEPTED"}}
	if wide {
		rows[0] = append(rows[0], "MESSAGE")
	}
	for i := range groups {
		cells := row(&groups[i])
		if wide {
			cells = append(cells, why(&groups[i]))
		}
		rows = append(rows, cells)
	}
	return command.Table(to, rows)
}

// why returns the message of a group's condition Accepted, or "-".
func why(group *v1alpha1.GPUGroup) string {
	if condition := meta.FindStatusCondition(group.Status.Conditions, v1alpha1.ConditionAccepted); condition != nil {
		return condition.Message
	}
	return "-"
}

func row(group *v1alpha1.GPUGroup) []string {
	kind, used, by := group.Spec.Type, "0", "-"
	if kind == "" {
		kind = "any"
	}
	if group.Status.Used != nil {
		used = group.Status.Used.String()
	}
	var holders []string
	for _, u := range group.Status.Usage {
		holders = append(holders, u.Tenant+" "+u.GPUs.String())
	}
	if len(holders) > 0 {
		by = strings.Join(holders, ", ")
	}
	accepted := "not yet"
	if condition := meta.FindStatusCondition(group.Status.Conditions, v1alpha1.ConditionAccepted); condition != nil {
		accepted = string(condition.Status)
		if condition.Status != "True" {
			accepted = condition.Reason
		}
	}
	return []string{group.Name, strings.Join(group.Spec.Tenants, ","), group.Spec.Form, kind, fmt.Sprint(group.Status.GPUs), used, by, accepted}
}
