package hollowcluster

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/api/v1alpha1"
)

// atOnce is the maximum number of calls that the function Each runs at the same time.
const atOnce = 16

// Each calls the function given as `do` once for each i from 0 to n-1, several calls at a time.
// After a call has failed, Each starts no further calls. It waits for the calls in progress, and
// returns the error.
func Each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(ctx, i)
		})
	}
	return g.Wait()
}

// MakeNodes creates n nodes of a shape. It also creates their NodeTopologies if the shape has NUMA
// nodes.
func (p *Plane) MakeNodes(ctx context.Context, n int, s Shape) error {
	return p.MakeNodesFrom(ctx, n, s, s.Node)
}

// MakeNodesFrom creates nodes as MakeNodes does. But it takes the Node objects from a function of the
// caller (the parameter `node`), not from Shape.Node. So the caller can add labels and taints.
func (p *Plane) MakeNodesFrom(ctx context.Context, n int, s Shape, node func(i int) *corev1.Node) error {
	config, err := p.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	resources, err := p.resources()
	if err != nil {
		return err
	}
	return Each(ctx, n, func(ctx context.Context, i int) error {
		return MakeNode(ctx, client, resources, node(i), s)
	})
}

// MakeNode creates a node, and its NodeTopology if the shape has NUMA nodes. The node owns
// the NodeTopology.
func MakeNode(ctx context.Context, client kubernetes.Interface, resources dynamic.Interface, node *corev1.Node, s Shape) error {
	made, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil || s.NUMA == 0 {
		return err
	}
	return publish(ctx, resources, s.topology(made))
}

// Serve creates the NodeTopology of an existing node, as the node's agent would.
func (p *Plane) Serve(ctx context.Context, node *corev1.Node, s Shape) error {
	resources, err := p.resources()
	if err != nil {
		return err
	}
	return publish(ctx, resources, s.topology(node))
}

// resources returns a client of the API server for the custom resources of Numalet.
func (p *Plane) resources() (dynamic.Interface, error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

func publish(ctx context.Context, client dynamic.Interface, topology *v1alpha1.NodeTopology) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(topology)
	if err != nil {
		return fmt.Errorf("write topology of %s: %w", topology.Name, err)
	}
	to := client.Resource(v1alpha1.NodeTopologyResource())
	made, err := to.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make topology of %s: %w", topology.Name, err)
	}
	made.Object["status"] = object["status"]
	_, err = to.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

// Pod returns a Guaranteed pod of one container that requests CPUs, a little memory, and
// GPUs if `gpus` is not 0.
func Pod(namespace, name, scheduler string, cpus string, gpus int) *corev1.Pod {
	list := corev1.ResourceList{corev1.ResourceCPU: parse(cpus), corev1.ResourceMemory: parse("128Mi")}
	if gpus > 0 {
		list[GPU] = quantity(gpus)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{}, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{SchedulerName: scheduler, Containers: []corev1.Container{{
			Name: "main", Image: "localhost/busybox", Resources: corev1.ResourceRequirements{Requests: list, Limits: list},
		}}},
	}
}

// MakePods creates n pods in a namespace. If the namespace does not exist, MakePods creates it
// first.
func (p *Plane) MakePods(ctx context.Context, namespace string, n int, pod func(i int) *corev1.Pod) error {
	client, err := p.API()
	if err != nil {
		return err
	}
	if err := makeNamespace(ctx, client, namespace); err != nil {
		return err
	}
	return Each(ctx, n, func(ctx context.Context, i int) error {
		_, err := client.CoreV1().Pods(namespace).Create(ctx, pod(i), metav1.CreateOptions{})
		return err
	})
}
