package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/internal/cli/ui"
	"github.com/numalet/numalet/internal/controller/queueapi"
)

// newUI returns the command "numalet ui", which serves a web page that shows the cluster.
func newUI() *cobra.Command {
	var at cluster
	port := uint16(0)
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve a web page that shows the nodes, the queue, the tenants and the GPU groups",
		Long: `Serve a web page on this computer that shows how full the nodes are, who holds which
CPUs and GPUs, the queue, the tenants and the GPU groups.

The page reads the cluster with your own permissions, as kubectl proxy does. If you may
not read a part of the page, this part says so. The page opens only at the printed
address, which contains a secret. Press Ctrl-C to stop.`,
		Example: `  kubectl numalet ui
  kubectl numalet ui --port 8080`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveUI(cmd, &at, port) },
	}
	at.flag(cmd)
	cmd.Flags().Uint16Var(&port, "port", port, "Port on the loopback address. 0 chooses any free port.")
	return cmd
}

func serveUI(cmd *cobra.Command, at *cluster, port uint16) error {
	source, err := at.pageSource()
	if err != nil {
		return err
	}
	token := rand.Text()
	page, err := ui.New(token, source)
	if err != nil {
		return err
	}
	on, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("%w: choose another port with --port", err)
	}
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	fmt.Fprintf(cmd.OutOrStdout(), "Open http://%s/?token=%s\n", on.Addr(), token)
	return ui.Serve(ctx, on, page)
}

// queueOf is what the page shows of the queue.
type queueOf struct {
	Namespace string                `json:"namespace"` // "" for all namespaces
	Pods      []queueapi.PendingPod `json:"pods"`
}

// visibleQueue returns the pending pods of all namespaces if the user may list them, and otherwise
// those of one namespace.
func visibleQueue(ctx context.Context, list func(ctx context.Context, namespace string) ([]queueapi.PendingPod, error), namespace string) (shown queueOf, err error) {
	shown.Pods, err = list(ctx, metav1.NamespaceAll)
	if apierrors.IsForbidden(err) {
		shown.Namespace = namespace
		shown.Pods, err = list(ctx, namespace)
	}
	return shown, err
}

// pageSource returns the source of the data for the web page of "numalet ui". The source reads the
// cluster with the user's rights. It lists the pending pods of all namespaces if the user may list
// them, and otherwise only those of the current namespace.
func (c *cluster) pageSource() (ui.Source, error) {
	objects, err := c.objects()
	if err != nil {
		return ui.Source{}, err
	}
	topologies, err := c.nodeTopologies()
	if err != nil {
		return ui.Source{}, err
	}
	queue, err := c.queue()
	if err != nil {
		return ui.Source{}, err
	}
	namespace, err := c.namespace()
	if err != nil {
		return ui.Source{}, err
	}
	return ui.Source{
		Tenants: func(ctx context.Context) ([]v1alpha1.Tenant, error) { return objects.Tenants(ctx) },
		Groups:  func(ctx context.Context) ([]v1alpha1.GPUGroup, error) { return objects.Groups(ctx) },
		Nodes: func(ctx context.Context) (any, error) {
			found, err := objects.Topologies(ctx)
			return summarize(found), err
		},
		Map: func(ctx context.Context, node string, svg io.Writer) error {
			t, err := getTopology(ctx, topologies, node)
			if err != nil {
				return err
			}
			return nodeMap{svg: true}.draw(svg, t)
		},
		Queue: func(ctx context.Context) (any, error) {
			return visibleQueue(ctx, queue.List, namespace)
		},
	}, nil
}
