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

// Hollow creates a simulated node in the test cluster. The controller assigns its CPUs, but no pod
// on it ever starts. The node stays Ready until ctx ends. RemoveHollow deletes it.
func (c *Cluster) Hollow(ctx context.Context, name string, shape hollowcluster.Shape) error {
	resources, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	node := shape.Named(name)
	delete(node.Labels, corev1.LabelOSStable) // so that no DaemonSet creates pods for it
	if err := hollowcluster.MakeNode(ctx, c.API, resources, node, shape); err != nil {
		return err
	}
	go c.beat(ctx, name)
	return nil
}

// RemoveHollow deletes a node that Hollow created. Delete the pods of the node first: the node has
// no kubelet that would end them.
func (c *Cluster) RemoveHollow(ctx context.Context, name string) error {
	return c.API.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}) // the garbage collector deletes the node's NodeTopology
}

// beat sends heartbeats in place of a kubelet. By default, the node lifecycle controller sets the
// condition Ready of a node to Unknown after 50 s without a heartbeat.
func (c *Cluster) beat(ctx context.Context, node string) {
	every := time.NewTicker(10 * time.Second)
	defer every.Stop()
	for ; ctx.Err() == nil; <-every.C {
		alive := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339))
		_, _ = c.API.CoreV1().Nodes().PatchStatus(ctx, node, alive) // no retry is needed: the next heartbeat makes up for a lost one
	}
}
