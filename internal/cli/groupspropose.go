package cli

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/controller/groups"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group"
)

// newGroupsPropose returns the command "numalet groups propose".
func newGroupsPropose(at *cluster) *cobra.Command {
	var tenant, kind, prefix string
	var demands []int
	var containers []string
	cmd := &cobra.Command{
		Use:   "propose",
		Short: "Write groups of this cluster's GPUs, in which all demands fit at the same time",
		Long: `Write a GPUGroup for each container in --demands, from the GPUs that you may use and
that are in no group yet. Each group has, on one node, as many GPUs as its container
needs, so that all containers fit at the same time, in any order of arrival. If no way
to fit all containers is found, the exit status is 1. Then some groups share GPUs, or a
container has no group, because it needs more GPUs than any node has.
The cluster is not changed: review the output, edit it, and create the groups from it.
The groups get names that no group has that you may read.`,
		Example: `  numalet groups propose --tenant ann --demands 2,1,2,3 > groups.yaml
  kubectl create -f groups.yaml`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tenant == "" || len(demands) == 0 || len(containers) > 0 && len(containers) != len(demands) {
				return command.WrongUsage("give the tenant with --tenant NAME, the number of GPUs of each container with --demands 2,1,…, and with --containers either the names of all containers or none")
			}
			e := group.Estimate{Form: gpu.Physical, Type: kind}
			for i, demand := range demands {
				e.Demands = append(e.Demands, group.Demand{GPUs: demand})
				if len(containers) > 0 {
					e.Demands[i].Container = containers[i]
				}
			}
			client, err := at.objects()
			if err != nil {
				return err
			}
			existing, err := client.Groups(cmd.Context())
			if err != nil {
				return err
			}
			nodes, err := client.Free(cmd.Context(), existing)
			if err != nil {
				return err
			}
			return writeProposal(cmd.OutOrStdout(), cmd.ErrOrStderr(), nodes, e, newNaming(tenant, prefix, existing))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&tenant, "tenant", "", "Tenant that may use the groups.")
	flags.IntSliceVar(&demands, "demands", nil, "Number of GPUs that each container needs, one number per container, such as 2,1. The GPUs of one container are on one node.")
	flags.StringSliceVar(&containers, "containers", nil, "Names of the containers that may use the groups: one name for each number in --demands, in the same order.")
	flags.StringVar(&kind, "type", "", "Use only GPUs of this type.")
	flags.StringVar(&prefix, "name", "", "Prefix of the groups' names. By default the name of the tenant.")
	return cmd
}

// naming chooses the names of proposed GPU groups: a prefix and a number.
type naming struct {
	tenant, prefix string
	taken          map[string]bool // the names of existing groups
	last           int             // the number in the last chosen name
}

// newNaming returns a naming for groups of a tenant. The parameter `existing` has the groups whose
// names the naming does not choose: otherwise "kubectl apply" would move an existing group to other
// GPUs. If the prefix is "", it is the tenant's name.
func newNaming(tenant, prefix string, existing []v1alpha1.GPUGroup) *naming {
	n := &naming{tenant: tenant, prefix: cmp.Or(prefix, tenant), taken: map[string]bool{}}
	for i := range existing {
		n.taken[existing[i].Name] = true
	}
	return n
}

// next returns the next name that no existing group has.
func (n *naming) next() string {
	for {
		n.last++
		if name := fmt.Sprintf("%s-%d", n.prefix, n.last); !n.taken[name] {
			return name
		}
	}
}

// writeProposal proposes GPU groups for an estimate, which has all demands of a tenant. A demand is
// the number of GPUs that one container is expected to need. For each demand that fits on a node,
// writeProposal writes a GPU group to the writer `out`. If the demands do not all fit at the same
// time, writeProposal then returns an error. Otherwise it writes a message to the writer `messages`,
// which says that the demands fit.
func writeProposal(out, messages io.Writer, nodes group.Nodes, e group.Estimate, names *naming) error {
	proposal, err := group.Propose(nodes, e, nil)
	if err != nil {
		return command.BadUsage(err)
	}
	for _, p := range proposal.Groups {
		object := groups.Object(p.Group(names.next(), names.tenant, e))
		object.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "GPUGroup"}
		text, err := yaml.Marshal(map[string]any{
			"apiVersion": object.APIVersion, "kind": object.Kind, "metadata": map[string]string{"name": object.Name}, "spec": object.Spec,
		})
		if err != nil {
			return fmt.Errorf("write GPUGroup %q: %w", object.Name, err)
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return err
		}
	}
	if err := notFitting(proposal); err != nil {
		return err
	}
	_, err = fmt.Fprintln(messages, allFit)
	return err
}
