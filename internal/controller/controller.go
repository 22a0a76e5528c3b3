package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/numalet/numalet/internal/controller/filters"
	"github.com/numalet/numalet/internal/controller/groups"
	"github.com/numalet/numalet/internal/controller/lease"
	"github.com/numalet/numalet/internal/controller/mirror"
	"github.com/numalet/numalet/internal/controller/podwriter"
	"github.com/numalet/numalet/internal/controller/tenants"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/kubeapi"
	"github.com/numalet/numalet/internal/platform/telemetry"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
	"github.com/numalet/numalet/pkg/sched/nodebackoff"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
	"github.com/numalet/numalet/pkg/sched/queue"
	"github.com/numalet/numalet/pkg/sched/reservation"
)

// controller has all parts of the controller process.
type controller struct {
	cfg          config.Controller
	log          logr.Logger
	clients      clients
	factory      informers.SharedInformerFactory
	synced       []cache.InformerSynced                   // each reports whether the objects of one informer's initial list were handled
	newest       *mirror.Newest                           // the largest resource version among the pods that the field `mirror` has handled
	seen         func(namespace, name string) *corev1.Pod // returns the newest version of a pod that this process has seen, or nil if the pod is gone
	state        *nodestate.State
	ledger       *tenants.Ledger // usage of the tenants, and their scores (decayed averages of the usage)
	groups       gpuGroups       // GPU groups and quotas
	queue        *queue.GangQueue
	mirror       *mirror.Mirror // keeps state and queue equal to the objects in the API server
	namespaces   *mirror.Namespaces
	known        *tenants.Known            // tenants that have a Tenant object
	reservations *reservation.Reservations // nil if the settings reserve no nodes
	avoided      *nodebackoff.List
	rejected     cache.SharedIndexInformer // informer of failed pods; if the agent of a node has rejected a pod's placement, this node is recorded in the field `avoided`
	succeeded    cache.SharedIndexInformer // informer of succeeded pods that belong to gangs; the field `queue` is notified of these pods
	heartbeats   *mirror.Heartbeats
	leases       cache.SharedIndexInformer // informer of the Leases of the nodes' agents; updates the field `heartbeats`
	filters      hosted
	reporter     *podwriter.Reporter
	binder       *podwriter.Binder
	pipeline     *pipeline.Pipeline
	lease        *lease.Lease  // nil without leader election
	fence        func() error  // returns an error while another replica may lead
	leads        chan struct{} // closed once this process leads and schedules
	measured     *metrics
	health       *telemetry.Server
	metrics      *telemetry.Server
	confinement  *kubeapi.Confinement // checks that the admission policies confine this program
	whatIf       *rehearsal
	starts       *starts
	answers      *answers // nil if there is no queue API
}

// newController creates the parts of the controller and connects them, in the order of the method
// `parts`. The parts start only when the method `run` is called. The goroutines that newController
// itself starts end when ctx is done.
func newController(ctx context.Context, cfg config.Controller, log logr.Logger, clients clients) (*controller, error) {
	c := unconnected(cfg, log, clients)
	ctx = logr.NewContext(ctx, log)
	for _, part := range c.parts() {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// unconnected returns a controller whose parts are not created yet.
func unconnected(cfg config.Controller, log logr.Logger, clients clients) *controller {
	factory := mirror.NewInformers(clients.watch, clients.pods)
	return &controller{
		cfg: cfg, log: log, clients: clients, factory: factory, seen: newestOf(factory.Core().V1().Pods().Lister()), leads: make(chan struct{}), measured: newMetrics(),
	}
}

// parts returns the steps that create the parts of the controller and connect them, in the order in
// which the steps must run. Each step, while it runs, uses only what earlier steps have made.
func (c *controller) parts() []func(context.Context) error {
	return []func(context.Context) error{
		c.newState, c.newGroups, c.newFilters, c.newReporter, c.newReservations, c.newMirror, c.watchGroups, c.newLease, c.newPipeline, c.newOperators, c.newConfinement, c.newHealth, c.newMetricsServer, c.newRehearsal, c.newAnswers,
	}
}

// newState creates the state of the nodes, the ledger with the tenants' usage and scores, the queue
// of pending pods, and the list of the nodes that certain pods avoid. A pod avoids a node for some
// time after the agent of the node has rejected the placement of a pod of the same owner. The order
// of the queue depends on the scores in the ledger.
func (c *controller) newState(context.Context) (err error) {
	profile := c.cfg.Policy.Apply(filter.Profile{
		Name: c.cfg.SchedulerName, Space: c.cfg.Dimensions.Space, Theta: c.cfg.Dimensions.Theta, Candidates: c.cfg.Candidates,
	}, fragmentation.Options{Now: time.Now, GPUResource: c.cfg.GPUResource})
	c.state, err = nodestate.New(profile)
	if err != nil {
		return err
	}
	decay, err := c.cfg.Decay()
	if err != nil {
		return err
	}
	c.ledger = tenants.NewLedger(decay, tenants.SteadyClock(time.Now(), time.Since))
	after := func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	c.queue = queue.NewGangQueue(queue.New(
		queue.Env{Now: time.Now, FreedSeq: c.state.FreedSeq, After: after, Rank: c.ledger.Rank, Space: c.cfg.Dimensions.Space, Hopeless: c.hopeless},
		queue.Options{Strict: c.cfg.ReserveAfter != 0},
	))
	c.ledger.OnRescore(c.queue.Rescore)
	c.avoided = nodebackoff.New(nodebackoff.Env{After: after, Over: c.retryOn}, sched.Backoff{})
	c.rejected, err = mirror.NewRejected(c.clients.watch, c.avoided.Refused, c.panicked)
	return err
}

// learn is subscribed to the state of the nodes. Some scheduling policies have a ranker, which
// rates candidate nodes by what it knows about pods. learn tells the ranker which pods hold
// resources of a node, and which pods are gone.
func (c *controller) learn(event nodestate.Event) {
	ranker := c.state.Profile("").Ranker
	switch {
	case ranker == nil:
	case event.Kind == nodestate.Bound:
		ranker.SeeHeld(event.UID, event.Now.Holding, event.Now.WholeGPUs, event.Now.Since)
	case event.Gone:
		ranker.Forget(event.UID)
	}
}

// panicked counts and logs a panic in the handling of an object. The deferred function that
// recovers the panic must itself call the method `panicked`, so that the logged stack still shows
// where the panic began.
func (c *controller) panicked(object string, cause any) {
	c.measured.panics.Inc()
	c.log.Error(fmt.Errorf("panic: %v", cause), "the object is ignored, or handled only in part, until it changes; a pod to schedule is tried again; please report this with the stack", "object", object, "stack", string(debug.Stack()))
}

func (c *controller) newReporter(ctx context.Context) (err error) {
	c.reporter, err = podwriter.NewReporter(ctx, podwriter.Dependencies{
		Client: c.clients.report, CreateEvent: c.clients.events, Explain: c.filters.explain, Kind: c.filters.kind,
		Fence: func() error { return c.fence() }, Timeout: c.cfg.BindTimeout, Newest: c.seen,
		Placed: c.state.Holds,
	})
	return err
}

// newestOf returns a function that returns the newest version of a pod in the informer's cache, or
// nil if the pod is not in the cache.
func newestOf(pods corelisters.PodLister) func(namespace, name string) *corev1.Pod {
	return func(namespace, name string) *corev1.Pod {
		pod, err := pods.Pods(namespace).Get(name)
		if err != nil {
			return nil // the cache has no other error than "not found"
		}
		return pod
	}
}

// newMirror connects the informers to the node state, and subscribes the other parts to changes of
// this state. The queue is subscribed after the filters and the quotas. Otherwise the queue could
// retry a pod too early after a change: the filter or the quota that has refused the pod would not
// know of the change yet, and would refuse the pod again.
func (c *controller) newMirror(context.Context) (err error) {
	c.state.Subscribe(c.filters.cluster.Observe)
	c.state.Subscribe(c.ledger.Observe, nodestate.Bound, nodestate.Released, nodestate.NodeChanged)
	c.state.Subscribe(c.groups.quotas.Observe)
	c.state.Subscribe(c.queue.Observe, nodestate.Bound, nodestate.Released)
	c.filters.cluster.Announce(c.queue.Notify, c.reporter.Outdated)
	c.state.Subscribe(c.reporter.Observe, nodestate.Bound, nodestate.Released)
	c.state.Subscribe(c.learn, nodestate.Bound, nodestate.Released)
	c.starts = newStarts(c.state, c.queue)
	c.state.Subscribe(c.starts.observe, nodestate.Released)
	c.state.OnFreed(c.queue.Freed)
	if c.namespaces, err = mirror.NewNamespaces(c.clients.watch); err != nil {
		return err
	}
	c.mirror = mirror.NewMirror(mirror.Env{
		State: c.state, Filters: filters.Reader{Cluster: c.filters.cluster, Configuration: c.filters.api.Configuration, Freed: c.retryOn}, Avoids: c.avoided.Avoids, Limit: groups.Matcher{Groups: c.groups.registry, Quotas: c.groups.quotas, Known: c.known.Check}.Complete, NamespaceTenant: c.namespaces.Tenant, GPUs: c.cfg.GPUResource,
		Priority:   c.cfg.PodPriority,
		Schedulers: c.filters.api.Configuration.SchedulerNames(),
		Pending:    c.queue.Add,
		Withdraw:   func(uid string) { c.queue.Remove(uid); c.reporter.Forget(uid) },
		Refused:    c.reporter.Refused,
		Odd:        func(err error) { c.log.Error(err, "an object is handled only in part") },
		Panicked:   c.panicked,
	})
	synced, newest, err := mirror.Watch(c.factory, c.clients.topologies, c.mirror)
	if err != nil {
		return err
	}
	c.heartbeats = mirror.NewHeartbeats(time.Now, c.agentAlive)
	leases, listed, err := mirror.NewHeartbeatInformer(c.clients.watch, c.cfg.LeaseNS, c.heartbeats, c.panicked)
	if err != nil {
		return fmt.Errorf("watch the Leases of agents: %w", err)
	}
	c.leases = leases
	informer, notified, err := mirror.NewSucceeded(c.clients.watch, c.queue, c.panicked)
	c.synced, c.newest, c.succeeded = append(append(c.synced, synced...), notified, listed), newest, informer
	return errors.Join(err, c.namespaces.Watch(c.mirror), filters.Watch(c.factory, c.queue.Notify))
}

// agentAlive is called when the agent of a node stops renewing its Lease (`alive` is false), and
// when the agent renews the Lease again (`alive` is true). As long as the Lease is not renewed, no
// pods with exclusive CPUs are placed on the node.
func (c *controller) agentAlive(node string, alive bool) {
	if alive {
		c.log.Info("the agent of a node renews its Lease again", "node", node)
	} else {
		c.log.Info("the agent of a node does not renew its Lease; no exclusive CPUs are placed there until it does", "node", node)
	}
	c.mirror.SetAlive(node, alive)
}

// newLease creates the lease by which the replicas elect a leader, if leader election is on. It
// also creates the binder, which checks the lease before each Binding.
func (c *controller) newLease(context.Context) (err error) {
	c.fence = func() error { return nil }
	if c.cfg.LeaderElect {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("name this process: %w", err)
		}
		c.lease, err = lease.New(c.clients.lease, lease.Options{
			Namespace: c.cfg.LeaseNS, Name: c.cfg.LeaseName, Identity: host + "_" + string(uuid.NewUUID()),
			Duration: c.cfg.LeaseDuration, ActionTimeout: c.cfg.BindTimeout,
		})
		if err != nil {
			return err
		}
		c.fence = c.lease.Check
	}
	c.binder = podwriter.NewBinder(podwriter.BinderOptions{
		CreateBinding: c.clients.bindings, Client: c.clients.bind, Fence: c.fence, Timeout: c.cfg.BindTimeout, Durations: c.measured.binds,
		Limit: flowcontrol.NewTokenBucketRateLimiter(c.cfg.BindRate, int(c.cfg.BindRate)+1),
	})
	return nil
}

func (c *controller) newPipeline(context.Context) error {
	writer := &podwriter.Writer{
		Reporter: c.reporter, Binder: c.binder, Prepare: c.filters.committer.Bind, Waited: c.queue.Waited, Waits: c.measured.wait,
	}
	c.pipeline = pipeline.New(c.state, pending{c.queue, c.reporter}, pipeline.Config{
		Proposers: c.filters.proposers, Filter: c.filters.committer, Binders: c.cfg.Binders, Bind: writer.Bind, Resolve: c.binder.Resolve,
		Panicked: func(pod *sched.Pod, cause any) {
			c.panicked("pod "+pod.String(), cause)
			c.reporter.Panicked(pod, cause)
		},
		Undone: func(decision sched.Decision) {
			c.retryOn(decision.At.Node)
			c.queue.ReactivateTenant(decision.Pod.Tenant)
		},
	})
	return nil
}

// newConfinement creates the check of whether the admission policies of Numalet restrict this
// program's ServiceAccount. The check sends a dry run of a request that the policies forbid.
func (c *controller) newConfinement(context.Context) error {
	c.confinement = kubeapi.NewConfinement(kubeapi.ConfinementOptions{Try: c.clients.overstep})
	return nil
}

func (c *controller) newHealth(context.Context) (err error) {
	c.health, err = telemetry.NewServer(c.cfg.HealthAddr, nil, telemetry.Check{Name: "nodes, topologies and pods", Ready: c.listed},
		telemetry.Check{Name: "admission policies", Ready: c.confinement.Ready})
	return err
}
