package installer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/pkg/containerdconf"
)

// EventContainerd is the reason of the events that numalet-containerd writes on a Node.
// These events report whether containerd is configured to require the agent.
const EventContainerd = "NumaletContainerd"

const (
	normal  = corev1.EventTypeNormal
	warning = corev1.EventTypeWarning
)

// cluster reads pods of one node from the API server, and writes events on that node.
type cluster struct {
	client kubernetes.Interface
	node   string
	first  labels.Selector // selects pods that must start before the agent; static pods must start before it in any case
}

func newEvents(ctx context.Context, client kubernetes.Interface, node string) record.EventBroadcaster {
	b := record.NewBroadcaster(record.WithContext(ctx))
	b.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return b
}

// report returns a function that writes an event on the Node. The function never blocks.
func (c *cluster) report(b record.EventBroadcaster) func(kind, message string) {
	recorder := b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "numalet-containerd", Host: c.node})
	return func(kind, message string) {
		recorder.Event(nodeapi.NodeRef(c.node), kind, EventContainerd, message)
	}
}

// tolerated checks the pods of the node that must start before the agent. containerd
// starts such a pod without the agent only if the pod has containerdconf.Annotation with
// the value "true". If pods lack this annotation, tolerated returns an error with their
// names.
func (c *cluster) tolerated(ctx context.Context) error {
	pods, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", c.node).String()})
	if err != nil {
		return fmt.Errorf("list the pods of node %q: %w", c.node, err)
	}
	var missing []string
	for _, pod := range pods.Items {
		_, static := pod.Annotations[corev1.MirrorPodAnnotationKey]
		if (static || c.first.Matches(labels.Set(pod.Labels))) && pod.Annotations[containerdconf.Annotation] != "true" {
			missing = append(missing, pod.Namespace+"/"+pod.Name)
		}
	}
	if missing == nil {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("these pods must start before the agent, and could not if containerd required it: %s; give them the annotation %s: \"true\" as deploy/containerd/README.md says",
		strings.Join(missing, ", "), containerdconf.Annotation)
}
