package e2eutil

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/numalet/numalet/test/hollowcluster"
)

// Hollow creates a hollow node on the rig's control plane: the controller assigns its CPUs,
// but no pod on it ever starts. The node stays Ready until ctx ends; RemoveHollow removes it.
func (c *Cluster) Hollow(ctx context.Context, name string, shape hollowcluster.Shape) error {
	resources, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	node := shape.Named(name)
	delete(node.Labels, corev1.LabelOSStable) // DaemonSets select by it
	if err := hollowcluster.MakeNode(ctx, c.API, resources, node, shape); err != nil {
		return err
	}
	go c.beat(ctx, name)
	return nil
}

// RemoveHollow deletes what Hollow created. The pods of the node must be deleted first, because it
// has no kubelet that would do it.
func (c *Cluster) RemoveHollow(ctx context.Context, name string) error {
	return c.API.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}) // its NodeTopology goes with it
}

// beat sends a kubelet's heartbeats. The node lifecycle controller tolerates 40 s without.
func (c *Cluster) beat(ctx context.Context, node string) {
	every := time.NewTicker(10 * time.Second)
	defer every.Stop()
	for ; ctx.Err() == nil; <-every.C {
		alive := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339))
		_, _ = c.API.CoreV1().Nodes().PatchStatus(ctx, node, alive) // the next beat makes up for a lost one
	}
}
