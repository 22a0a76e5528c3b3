package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/cli/doctor"
)

// diagnosis has the flags of the command "numalet doctor", which select what the command checks.
type diagnosis struct {
	node, cluster                         bool
	root, kubeletConfig, kubeletConfigDir string
	from                                  cluster // the cluster to check, with the namespace in which Numalet is installed
}

// errFindings is the error of "numalet doctor" if a check failed. With this error, the exit status
// is 1.
var errFindings = errors.New("some checks failed; see the findings")

// newDoctor returns the command "numalet doctor", which finds what keeps Numalet from working, and
// says how to correct it.
func newDoctor() *cobra.Command {
	out := command.Text
	var d diagnosis
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether a cluster and a node have what Numalet needs",
		Long: `Check whether a cluster and a node have what Numalet needs, before or after Numalet
is installed. Each finding says what was found, why it matters, and what to do.

Without flags, the command checks the cluster of the kubeconfig, and what the agents
report about their nodes. It finds the namespace of Numalet by Numalet's DaemonSets,
unless -n names the namespace. With --node, it checks this machine, or the machine whose
root directory is --root, and not the cluster. With --node and --cluster, it checks the
machine and the cluster. The command changes nothing.

The exit status is 1 if something does not work or could not be checked. Otherwise it is
0, even if there are warnings.`,
		Example: `  numalet doctor
  sudo numalet doctor --node
  numalet doctor -o json`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := d.run(cmd.Context())
			if err != nil {
				return err
			}
			if out == command.JSON {
				err = command.WriteJSON(cmd.OutOrStdout(), report)
			} else {
				err = report.WriteText(cmd.OutOrStdout())
			}
			if err == nil && report.Fails() {
				err = errFindings
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&d.node, "node", false, "Check this machine.")
	flags.BoolVar(&d.cluster, "cluster", false, "Check the cluster. Without --node, this is the default.")
	flags.StringVar(&d.root, "root", "/", "Root `directory` of the machine.")
	flags.StringVar(&d.kubeletConfig, "kubelet-config", "", "Configuration `file` of the kubelet, below --root. By default the file that the flag --config of the running kubelet names, or else /var/lib/kubelet/config.yaml.")
	flags.StringVar(&d.kubeletConfigDir, "kubelet-config-dir", "", "The kubelet's drop-in `directory` of *.conf files, below --root. By default the directory that the flag --config-dir of the running kubelet names, or else none. On k3s /var/lib/rancher/k3s/agent/etc/kubelet.conf.d.")
	d.from.flag(cmd)
	cmd.PersistentFlags().Lookup("namespace").Usage = "Namespace of Numalet. By default the namespace that has Numalet's DaemonSets, or numalet-system if none has them."
	command.OutputFlag(cmd, &out)
	return cmd
}

func (d diagnosis) run(ctx context.Context) (report doctor.Report, err error) {
	if d.cluster || !d.node {
		clients, err := d.clients()
		if err != nil {
			return nil, err
		}
		report = doctor.Cluster(ctx, clients)
	}
	if d.node {
		if _, err := os.Stat(d.root); err != nil {
			return nil, fmt.Errorf("read --root: %w", err)
		}
		options := doctor.NodeOptions{KubeletConfig: strings.TrimLeft(d.kubeletConfig, "/"), KubeletConfigDir: strings.Trim(d.kubeletConfigDir, "/")}
		report = append(report, doctor.Node(os.DirFS(d.root), options)...)
	}
	return report, nil
}

func (d diagnosis) clients() (c doctor.Clients, err error) {
	config, err := d.from.config()
	if err != nil {
		return c, err
	}
	config.Timeout = cmp.Or(config.Timeout, 30*time.Second)
	if c.Kube, err = kubernetes.NewForConfig(config); err != nil {
		return c, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	if c.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return c, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	c.Namespace, c.Now = d.from.overrides.Context.Namespace, time.Now
	return c, nil
}
