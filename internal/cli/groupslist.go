package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/controller/groups"
)

// listGroups prints the groups that the user may see.
func listGroups(cmd *cobra.Command, at cluster, out command.Format) error {
	client, err := at.groups()
	if err != nil {
		return err
	}
	groups, err := client.Groups(cmd.Context())
	if err != nil {
		return err
	}
	if out == command.JSON {
		return command.WriteJSON(cmd.OutOrStdout(), v1alpha1.GPUGroupList{Items: groups})
	}
	return writeGroups(cmd.OutOrStdout(), groups)
}

func (c *cluster) groups() (*groups.Client, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	return groups.NewClient(config)
}

func writeGroups(to io.Writer, groups []v1alpha1.GPUGroup) error {
	if len(groups) == 0 {
		_, err := fmt.Fprintln(to, "no GPU groups that you may see")
		return err
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "GROUP\tTENANTS\tFORM\tTYPE\tGPUS\tUSED\tBY\tACCEPTED")
	for i := range groups {
		fmt.Fprintln(table, strings.Join(row(&groups[i]), "\t"))
	}
	return table.Flush()
}

func row(g *v1alpha1.GPUGroup) []string {
	kind, used, by := g.Spec.Type, "0", "-"
	if kind == "" {
		kind = "any"
	}
	if g.Status.Used != nil {
		used = g.Status.Used.String()
	}
	var holders []string
	for _, u := range g.Status.Usage {
		holders = append(holders, u.Tenant+" "+u.GPUs.String())
	}
	if len(holders) > 0 {
		by = strings.Join(holders, ", ")
	}
	accepted := "not yet"
	if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionAccepted); c != nil {
		accepted = string(c.Status)
		if c.Status != "True" {
			accepted = c.Reason
		}
	}
	return []string{g.Name, strings.Join(g.Spec.Tenants, ","), g.Spec.Form, kind, fmt.Sprint(g.Status.GPUs), used, by, accepted}
}
