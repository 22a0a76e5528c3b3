package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/jobs"
	"github.com/numalet/numalet/internal/controller/mirror"
	"github.com/numalet/numalet/internal/controller/operators"
	"github.com/numalet/numalet/internal/controller/podreader"
	"github.com/numalet/numalet/internal/controller/podwriter"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/kubeapi"
)

const component = "numalet-controller"

// clients are the controller's clients of the API server. Each client has a rate limit of its own,
// or none. If all clients shared one rate limit, a burst of events could delay Bindings
// (kubernetes/kubernetes#135900), or could delay the renewal of the leader's lease until the lease
// expires.
type clients struct {
	watch      kubernetes.Interface                         // for the informers that have no field of their own here, for access reviews, and for the filters; in PreBind, the filters also change a pod's volume claims and ResourceClaims
	pods       typedcorev1.PodsGetter                       // for the informer of pods
	bind       kubernetes.Interface                         // to read pods after a Binding; not rate-limited, because the binder has its own limit
	report     kubernetes.Interface                         // for pod conditions, for events about pods that cannot be scheduled, and for the dry run that checks the admission policies
	bindings   func(context.Context, *corev1.Binding) error // creates a Binding; not rate-limited
	events     func(context.Context, *eventsv1.Event) error // creates the event Scheduled of a bound pod
	lease      kubernetes.Interface
	metadata   metadata.Interface
	topologies cache.SharedIndexInformer
	groups     cache.SharedIndexInformer   // of GPUGroups
	quotas     cache.SharedIndexInformer   // of Tenants
	resources  dynamic.Interface           // writes objects of any kind, such as the statuses of GPUGroups
	tenants    client.Reader               // reads Tenants
	operators  manager.Manager             // runs the reconcilers of Jobs and Tenants; nil for none
	overstep   func(context.Context) error // tries, as a dry run, a request that the admission policies forbid
	api        *rest.Config                // for the reviews that decide who may read metrics
}

func connect(cfg config.Controller, log logr.Logger) (clients, error) {
	config, err := kubeapi.NewConfig(cfg.Kubeconfig, kubeapi.Traffic{UserAgent: component, QPS: cfg.RequestRate, Burst: int(cfg.RequestRate) + 1})
	if err != nil {
		return clients{}, err
	}
	c, err := connectScheduler(config, cfg)
	if err != nil {
		return clients{}, err
	}
	if err := c.connectOperators(config, log); err != nil {
		return clients{}, err
	}
	c.api = config
	return c, nil
}

// connectScheduler creates the clients and informers that scheduling needs.
func connectScheduler(config *rest.Config, cfg config.Controller) (c clients, err error) {
	for _, watched := range []struct {
		informer *cache.SharedIndexInformer
		resource schema.GroupVersionResource
		object   runtime.Object
	}{
		{&c.topologies, v1alpha1.NodeTopologyResource(), &v1alpha1.NodeTopology{}},
		{&c.groups, v1alpha1.GPUGroupResource(), &v1alpha1.GPUGroup{}},
		{&c.quotas, v1alpha1.TenantResource(), &v1alpha1.Tenant{}},
	} {
		if *watched.informer, err = mirror.NewCustom(config, watched.resource, watched.object); err != nil {
			return clients{}, err
		}
	}
	if c.resources, err = dynamic.NewForConfig(config); err != nil {
		return clients{}, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	if c.metadata, err = metadata.NewForConfig(config); err != nil {
		return clients{}, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	for _, made := range []struct {
		client  *kubernetes.Interface
		qps     float32
		timeout time.Duration // of a request; also sent to the API server, which aborts the request when this time is over; 0 for no timeout
	}{{&c.watch, cfg.RequestRate, 0}, {&c.bind, -1, cfg.BindTimeout}, {&c.report, cfg.RequestRate, cfg.BindTimeout}, {&c.lease, cfg.RequestRate, cfg.LeaseDuration / 3}} { // a third of the lease duration: if one renewal of the lease gets no answer, there is still time for another one
		config := rest.CopyConfig(config)
		config.QPS, config.Timeout = made.qps, made.timeout
		if made.client == &c.report {
			config.NextProtos = []string{"http/1.1"} // over HTTP/2, all requests share one connection; if this connection hangs, no condition is written until client-go notices that, after up to 45 s
		}
		if *made.client, err = kubernetes.NewForConfig(config); err != nil {
			return clients{}, fmt.Errorf("make client of %s: %w", config.Host, err)
		}
	}
	if c.pods, err = podreader.New(config); err != nil {
		return clients{}, err
	}
	c.overstep = func(ctx context.Context) error {
		stray := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "numalet-policy-check"}} // the admission policies forbid it, because it belongs to no Job of Numalet
		_, err := c.report.CoreV1().ConfigMaps(cfg.LeaseNS).Create(ctx, stray, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	return c, c.connectWriters(rest.CopyConfig(config), cfg)
}

// connectOperators creates the manager (of controller-runtime) that runs the reconcilers of Jobs
// and Tenants.
func (c *clients) connectOperators(config *rest.Config, log logr.Logger) error {
	cached, err := jobs.Cached()
	if err != nil {
		return err
	}
	if c.operators, err = operators.New(config, operators.Options{Cached: cached, Log: log.WithName("operators")}); err != nil {
		return err
	}
	c.tenants = c.operators.GetAPIReader()
	return nil
}

// connectWriters creates the clients that write for each pod: one for Bindings, and one for events
// of bound pods.
func (c *clients) connectWriters(config *rest.Config, cfg config.Controller) error {
	config.QPS, config.Timeout = cfg.RequestRate, 0
	events, err := podwriter.NewEvents(config)
	if err != nil {
		return err
	}
	config.QPS, config.Timeout = -1, cfg.BindTimeout
	bindings, err := podwriter.NewBindings(config)
	if err != nil {
		return err
	}
	c.bindings, c.events = bindings.Create, events.Create
	return nil
}
