package nodeapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

const (
	// gather is how long news are gathered: pods that start together make one write.
	gather = 200 * time.Millisecond
	// publishAgain is how long a failed publication waits.
	publishAgain = 5 * time.Second
)

// Topology keeps the NodeTopology of one node as it should be. It compares what
// the API server has with what is so, whenever either changes, and applies the
// parts that differ; so it needs no memory of its own, and an object that
// somebody deleted or edited is set right like any other difference.
type Topology struct {
	source   TopologySource
	object   dynamic.ResourceInterface
	informer cache.SharedIndexInformer
	news     chan struct{} // something changed: compare
}

// TopologySource is what a Topology is made of.
type TopologySource struct {
	Client    kubernetes.Interface
	Resources dynamic.Interface
	Node      string
	// Status is what is so. A condition is given with the time at which it
	// became so, which is written only when its status differs from before.
	Status func() v1alpha1.NodeTopologyStatus
}

// NewTopology returns one that publishes nothing before Run.
func NewTopology(s TopologySource) (*Topology, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(s.Resources, v1alpha1.NodeTopologyResource(), "", 0, nil,
		func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.Node).String()
		},
	).Informer()
	t := &Topology{
		source: s, informer: informer, object: s.Resources.Resource(v1alpha1.NodeTopologyResource()),
		news: make(chan struct{}, 1),
	}
	if err := informer.SetTransform(trim); err != nil {
		return nil, fmt.Errorf("watch NodeTopology: %w", err)
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { t.Poke() },
		UpdateFunc: func(any, any) { t.Poke() },
		DeleteFunc: func(any) { t.Poke() },
	})
	if err != nil {
		return nil, fmt.Errorf("watch NodeTopology: %w", err)
	}
	return t, nil
}

// Poke says that the status may have changed. It returns at once.
func (t *Topology) Poke() {
	select {
	case t.news <- struct{}{}:
	default: // somebody said so already
	}
}

// Run publishes until ctx ends. What fails is logged and tried again: no pod
// has to wait for it.
func (t *Topology) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { t.informer.RunWithContext(ctx) })
	log := logr.FromContextOrDiscard(ctx)
	if !t.listed(ctx, log) {
		return nil
	}
	t.Poke()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.news:
		}
		if pause(ctx, gather); ctx.Err() != nil {
			return nil
		}
		if err := t.publish(ctx); err != nil && ctx.Err() == nil {
			log.Error(err, "trying again")
			time.AfterFunc(publishAgain, t.Poke)
		}
	}
}

// listed waits until it is known what the API server has; false when ctx ended.
func (t *Topology) listed(ctx context.Context, log logr.Logger) bool {
	first, cancel := context.WithTimeout(ctx, publishAgain)
	defer cancel()
	if !cache.WaitForCacheSync(first.Done(), t.informer.HasSynced) && ctx.Err() == nil {
		log.Info("the API server does not serve NodeTopology; is it installed (kubectl apply -k deploy/crds)?")
	}
	return cache.WaitForCacheSync(ctx.Done(), t.informer.HasSynced)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
