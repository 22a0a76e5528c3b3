package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/cli/command"
)

// newTenants returns the command "numalet tenants".
func newTenants() *cobra.Command {
	var at cluster
	var out command.View
	cmd := &cobra.Command{
		Use:   "tenants [TENANT]...",
		Short: "Show what tenants use, their scores and their quotas",
		Long: `Show for each tenant and type of resource how much the tenant uses, its quota, and its
score, by which the queue orders the pods of different tenants. If you may list Tenants,
all tenants are shown, otherwise only the Tenants that your roles name.`,
		ValidArgsFunction: offer(100, at.tenantNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := at.objects()
			if err != nil {
				return err
			}
			found, err := client.Tenants(cmd.Context(), args...)
			if err != nil {
				return err
			}
			return out.Write(cmd.OutOrStdout(), v1alpha1.TenantList{TypeMeta: listOf("Tenant"), Items: found}, func(w io.Writer) error { return showTenants(w, found, out == command.Wide) })
		},
	}
	at.flag(cmd)
	command.ViewFlag(cmd, &out)
	return cmd
}

func showTenants(out io.Writer, found []v1alpha1.Tenant, wide bool) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(out, "no tenants that you may see")
		return err
	}
	header := []string{"TENANT", "WEIGHT", "TYPE", "USES", "QUOTA", "SCORE"}
	if wide {
		header = append(header, "UPDATED")
	}
	rows := [][]string{header}
	for i := range found {
		rows = append(rows, tenantRows(&found[i], wide)...)
	}
	return command.Table(out, rows)
}

// tenantRows returns a row for each type of resource that a tenant uses or for which it has a
// quota. If there is no such type, it returns one row with the type "-".
func tenantRows(tenant *v1alpha1.Tenant, wide bool) (rows [][]string) {
	weight := "1"
	if tenant.Spec.Weight != nil {
		weight = tenant.Spec.Weight.String()
	}
	accounts := map[string]v1alpha1.Account{}
	for name := range tenant.Spec.Quotas {
		accounts[name] = v1alpha1.Account{Type: name, Score: "0"}
	}
	for _, a := range tenant.Status.Accounts {
		accounts[a.Type] = a
	}
	if len(accounts) == 0 {
		accounts["-"] = v1alpha1.Account{Type: "-", Score: "0"}
	}
	for _, a := range slices.SortedFunc(maps.Values(accounts), func(a, b v1alpha1.Account) int { return cmp.Compare(a.Type, b.Type) }) {
		quota := "-"
		if limit, ok := tenant.Spec.Quotas[a.Type]; ok {
			quota = limit.String()
		}
		row := []string{tenant.Name, weight, a.Type, a.Usage.String(), quota, shortScore(a.Score)}
		if wide {
			updated := "-"
			if !a.LastUpdateTime.IsZero() {
				updated = a.LastUpdateTime.UTC().Format("2006-01-02T15:04:05Z")
			}
			row = append(row, updated)
		}
		rows = append(rows, row)
	}
	return rows
}

// shortScore rounds a tenant's score, which is the decayed average of its usage, to four
// significant digits for display. A text that is not a number stays unchanged.
func shortScore(text string) string {
	var score float64
	if _, err := fmt.Sscan(strings.TrimSpace(text), &score); err != nil {
		return text
	}
	return fmt.Sprintf("%.4g", score)
}
