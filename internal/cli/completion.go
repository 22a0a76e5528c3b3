package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// completionTimeout is how long shell completion waits for the cluster's answer.
const completionTimeout = time.Second

// offer returns a shell completion function for a command that accepts at most `max` arguments. The
// completion function calls the function `list`, and offers the names that this call returns. It
// offers nothing if the call fails or takes longer than completionTimeout.
func offer(max int, list func(context.Context) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= max {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		parent := cmd.Context()
		if parent == nil {
			parent = context.Background()
		}
		ctx, cancel := context.WithTimeout(parent, completionTimeout)
		defer cancel()
		names, err := list(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// pendingPods returns the names of the pending pods in the namespace that the flag -n names.
// Without the flag, it uses the namespace of the kubeconfig's current context.
func (c *cluster) pendingPods(ctx context.Context) ([]string, error) {
	namespace, err := c.namespace()
	if err != nil {
		return nil, err
	}
	client, err := c.queue()
	if err != nil {
		return nil, err
	}
	pods, err := client.List(ctx, namespace)
	return namesOf(pods, func(i int) string { return pods[i].Name }), err
}

func (c *cluster) tenantNames(ctx context.Context) ([]string, error) {
	client, err := c.objects()
	if err != nil {
		return nil, err
	}
	found, err := client.Tenants(ctx)
	return namesOf(found, func(i int) string { return found[i].Name }), err
}

func (c *cluster) groupNames(ctx context.Context) ([]string, error) {
	client, err := c.objects()
	if err != nil {
		return nil, err
	}
	found, err := client.Groups(ctx)
	return namesOf(found, func(i int) string { return found[i].Name }), err
}

func (c *cluster) nodeNames(ctx context.Context) ([]string, error) {
	client, err := c.objects()
	if err != nil {
		return nil, err
	}
	found, err := client.Topologies(ctx)
	return namesOf(found, func(i int) string { return found[i].Name }), err
}

// completeNamespaces offers the names of the cluster's namespaces, if the user is allowed to list
// them.
func (c *cluster) completeNamespaces(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return offer(1, func(ctx context.Context) ([]string, error) {
		config, err := c.config()
		if err != nil {
			return nil, err
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return namesOf(list.Items, func(i int) string { return list.Items[i].Name }), nil
	})(cmd, nil, typed)
}

func (c *cluster) completeContexts(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return offer(1, func(context.Context) ([]string, error) {
		raw, err := c.load().RawConfig()
		return slices.Sorted(maps.Keys(raw.Contexts)), err
	})(cmd, nil, typed)
}

func namesOf[T any](list []T, name func(i int) string) []string {
	var names []string
	for i := range list {
		names = append(names, name(i))
	}
	return names
}
