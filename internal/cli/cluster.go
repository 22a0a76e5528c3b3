package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/groups"
	"github.com/numalet/numalet/internal/controller/queueapi"
)

// cluster is the Kubernetes cluster that a command talks to. The command finds the cluster as
// kubectl does: by the flag --kubeconfig, by $KUBECONFIG, or by ~/.kube/config. Other flags of
// kubectl, such as --context, override settings of the kubeconfig file.
//
// Numalet takes these flags from client-go. The library k8s.io/cli-runtime has the same flags, but
// would also add kustomize and a disk cache to the program.
type cluster struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

// flag adds kubectl's flags for the choice of a cluster to a command and its subcommands.
func (c *cluster) flag(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "Kubeconfig file. By default the one that kubectl uses.")
	clientcmd.BindOverrideFlags(&c.overrides, flags, clientcmd.ConfigOverrideFlags{
		CurrentContext: clientcmd.FlagInfo{LongName: clientcmd.FlagContext, Description: "The context of the kubeconfig to use."},
		ContextOverrideFlags: clientcmd.ContextOverrideFlags{
			Namespace: clientcmd.FlagInfo{LongName: clientcmd.FlagNamespace, ShortName: "n", Description: "Namespace. By default that of the context."},
		},
		AuthOverrideFlags: clientcmd.AuthOverrideFlags{
			Impersonate:       clientcmd.FlagInfo{LongName: clientcmd.FlagImpersonate, Description: "User to act as."},
			ImpersonateGroups: clientcmd.FlagInfo{LongName: clientcmd.FlagImpersonateGroup, Description: "Group to act as; may be repeated."},
		},
		Timeout: clientcmd.FlagInfo{LongName: clientcmd.FlagTimeout, Default: "0", Description: "Timeout of a request, such as 5s. 0 for none."},
	})
	err := errors.Join(cmd.MarkPersistentFlagFilename("kubeconfig"),
		cmd.RegisterFlagCompletionFunc("context", c.completeContexts), cmd.RegisterFlagCompletionFunc("namespace", c.completeNamespaces))
	if err != nil {
		panic(err)
	}
}

func (c *cluster) config() (*rest.Config, error) {
	config, err := c.load().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS, config.Burst = 50, 300 // as kubectl; client-go's default is 5 requests a second
	return config, nil
}

// namespace returns the value of the flag -n. Without the flag, it returns the namespace of
// the kubeconfig's current context, or "default".
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
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &c.overrides)
}

// queue returns a client of the queue API of numalet-controller, which lists pending pods.
func (c *cluster) queue() (queueapi.Client, error) {
	config, err := c.config()
	if err != nil {
		return queueapi.Client{}, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return queueapi.Client{}, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	url, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return queueapi.Client{}, fmt.Errorf("find the cluster: %w", err)
	}
	return queueapi.Client{Server: url.String(), HTTP: client}, nil
}

// listOf returns the type of a list of Numalet's custom resources of a kind.
func listOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: kind + "List"}
}

// objects returns a client that lists those custom resources of Numalet that the user may read.
func (c *cluster) objects() (*groups.Client, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	return groups.NewClient(config)
}
