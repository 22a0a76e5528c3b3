package nodeapi

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

const (
	// batchDelay is how long Topology.Run waits after a change before it writes the NodeTopology,
	// which is the custom resource with the CPUs, memory and GPUs of a node. Pods that start
	// together thus cause only one write.
	batchDelay = 200 * time.Millisecond
	// retryDelay is how long Run waits after a failed write of the NodeTopology before it tries
	// again.
	retryDelay = 5 * time.Second
)

// Topology keeps the NodeTopology of one node up to date. Whenever the NodeTopology or the node's
// state changes, Topology compares the two, and applies the parts of the status that differ. So
// Topology needs no state of its own, and it restores a NodeTopology that another client deleted or
// edited.
type Topology struct {
	source   TopologySource
	object   dynamic.ResourceInterface
	informer cache.SharedIndexInformer
	changed  chan struct{} // has an element while a comparison is requested
	// published is true after the agent has published the NodeTopology for the first time since its
	// start.
	published atomic.Bool
}

// TopologySource has the clients of a Topology, the name of the node, and the function that returns
// the node's status.
type TopologySource struct {
	Client    kubernetes.Interface
	Resources dynamic.Interface
	Node      string
	// Status returns the current status of the node for the NodeTopology. Topology keeps the
	// published transition time of a condition as long as the status of the condition (True, False
	// or Unknown) does not change.
	Status func() v1alpha1.NodeTopologyStatus
}

// NewTopology returns a Topology that sends nothing to the API server until Run is called.
func NewTopology(s TopologySource) (*Topology, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(s.Resources, v1alpha1.NodeTopologyResource(), "", 0, nil,
		func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.Node).String()
		},
	).Informer()
	t := &Topology{
		source: s, informer: informer, object: s.Resources.Resource(v1alpha1.NodeTopologyResource()),
		changed: make(chan struct{}, 1),
	}
	if err := informer.SetTransform(trim); err != nil {
		return nil, fmt.Errorf("watch NodeTopology: %w", err)
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { t.Notify() },
		UpdateFunc: func(any, any) { t.Notify() },
		DeleteFunc: func(any) { t.Notify() },
	})
	if err != nil {
		return nil, fmt.Errorf("watch NodeTopology: %w", err)
	}
	return t, nil
}

// Notify requests that Run compares the node's current status with the published NodeTopology. Call
// Notify when the node's status may have changed. It does not block.
func (t *Topology) Notify() {
	select {
	case t.changed <- struct{}{}:
	default: // a comparison is already requested
	}
}

// Published reports whether the published NodeTopology has a condition with the same type and the
// same status as the condition c. It returns false until the agent has published the NodeTopology
// for the first time since its start.
func (t *Topology) Published(c metav1.Condition) bool {
	s, found, err := t.current()
	return t.published.Load() && found && err == nil && meta.IsStatusConditionPresentAndEqual(s.Conditions, c.Type, c.Status)
}

// Run keeps the NodeTopology up to date until ctx ends. After a failure it retries. It logs
// failures but does not return them, because the agent must keep running without the NodeTopology.
func (t *Topology) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { t.informer.RunWithContext(ctx) })
	log := logr.FromContextOrDiscard(ctx)
	if !t.waitForSync(ctx, log) {
		return nil
	}
	t.Notify()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.changed:
		}
		if pause(ctx, batchDelay); ctx.Err() != nil {
			return nil
		}
		if err := t.publish(ctx); err != nil && ctx.Err() == nil {
			log.Error(err, "cannot publish the NodeTopology; retrying", "after", retryDelay)
			time.AfterFunc(retryDelay, t.Notify)
		} else if err == nil {
			t.published.Store(true)
		}
	}
}

// waitForSync waits until the informer has listed the NodeTopology. It returns false if ctx ends
// before that.
func (t *Topology) waitForSync(ctx context.Context, log logr.Logger) bool {
	first, cancel := context.WithTimeout(ctx, retryDelay)
	defer cancel()
	if !cache.WaitForCacheSync(first.Done(), t.informer.HasSynced) && ctx.Err() == nil {
		log.Info("the API server does not serve NodeTopology; install its CRD (kubectl apply -k deploy/crds)")
	}
	return cache.WaitForCacheSync(ctx.Done(), t.informer.HasSynced)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
