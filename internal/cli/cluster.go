package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is a cluster as kubectl finds it: by a kubeconfig file, by $KUBECONFIG, or by
// ~/.kube/config.
type cluster struct{ kubeconfig string }

// flag adds --kubeconfig to a command and its subcommands.
func (c *cluster) flag(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&c.kubeconfig, "kubeconfig", "", "Kubeconfig file. By default the one that kubectl uses.")
	if err := cmd.MarkPersistentFlagFilename("kubeconfig"); err != nil {
		panic(err)
	}
}

func (c *cluster) config() (*rest.Config, error) {
	config, err := c.load().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	return config, nil
}

// namespace returns the namespace of the current context, or "default".
func (c *cluster) namespace() (string, error) {
	namespace, _, err := c.load().Namespace()
	if err != nil {
		return "", fmt.Errorf("read the namespace of the current context, which -n replaces: %w", err)
	}
	return namespace, nil
}

func (c *cluster) load() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
}
