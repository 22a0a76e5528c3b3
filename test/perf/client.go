package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/mirror"
	"github.com/numalet/numalet/internal/controller/podreader"
	"github.com/numalet/numalet/internal/controller/podwriter"
)

// poster writes what a scheduler writes, with the code of the controller. It decides nothing: it
// binds the pods to the nodes in turn. So its rate is an upper limit for the rate of a scheduler.
type poster struct {
	bindings    *podwriter.Bindings
	events      *podwriter.Events
	nodes, pods int
	workers     int
	reports     bool // whether it also creates an event for each pod
	placements  bool // whether the Bindings assign one GPU to each pod, as those of the controller do
}

// client is the main function of `perf client`. It runs as a process of its own, so that its CPU
// time and memory can be measured.
func client(args []string) error {
	flags := flag.NewFlagSet("client", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "path of the kubeconfig")
	watching := flags.Bool("informers", false, "run informers for nodes, NodeTopologies and pods, as the controller does")
	p := poster{workers: 32}
	flags.IntVar(&p.nodes, "nodes", 0, "number of nodes")
	flags.IntVar(&p.pods, "pods", 0, "number of pods to bind")
	flags.BoolVar(&p.reports, "events", false, "also create an event for each pod")
	flags.BoolVar(&p.placements, "placements", false, "also write a placement with one GPU into each Binding")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	begin := make(chan os.Signal, 1)
	signal.Notify(begin, syscall.SIGUSR1)
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig %s: %w", *kubeconfig, err)
	}
	config.QPS, config.ContentType = -1, runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	if p.bindings, err = podwriter.NewBindings(config); err != nil {
		return err
	}
	if p.events, err = podwriter.NewEvents(config); err != nil {
		return err
	}
	if *watching {
		if err := watch(ctx, config); err != nil {
			return err
		}
	}
	<-begin
	if err := p.post(ctx); err != nil {
		return err
	}
	<-ctx.Done() // the process must still exist when perf reads its CPU time
	return nil
}

// watch runs informers for nodes, pods and NodeTopologies. Of the controller's informers, these are
// the ones that get events in this cluster.
func watch(ctx context.Context, config *rest.Config) error {
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	read, err := podreader.New(config)
	if err != nil {
		return err
	}
	topologies, err := mirror.NewCustom(config, v1alpha1.NodeTopologyResource(), &v1alpha1.NodeTopology{})
	if err != nil {
		return err
	}
	factory := mirror.NewInformers(api, read)
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	factory.StartWithContext(ctx)
	go topologies.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), nodes.HasSynced, pods.HasSynced, topologies.HasSynced) {
		return fmt.Errorf("list nodes, pods and topologies: %w", ctx.Err())
	}
	return nil
}

func (p poster) post(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(p.workers)
	for i := range p.pods {
		g.Go(func() error { return p.bind(ctx, i) })
	}
	return g.Wait()
}

func (p poster) bind(ctx context.Context, i int) error {
	node := fmt.Sprintf("node-%05d", i%p.nodes)
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podName(i)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	if p.placements {
		gpu := fmt.Sprintf("GPU-%s-%d", node, i/p.nodes)
		text, err := v1alpha1.FormatPlacement(map[string]v1alpha1.ContainerPlacement{"main": {GPUs: []string{gpu}}})
		if err != nil {
			return err
		}
		binding.Annotations = map[string]string{v1alpha1.AnnotationPlacement: text}
	}
	if err := p.bindings.Create(ctx, binding); err != nil || !p.reports {
		return err
	}
	now := metav1.NewMicroTime(time.Now())
	return p.events.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%x", podName(i), now.UnixNano())},
		EventTime:  now, Type: corev1.EventTypeNormal, Reason: "Scheduled", Action: "Binding",
		ReportingController: "floor", ReportingInstance: "floor-1",
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: podName(i)},
		Note:      fmt.Sprintf("Successfully assigned %s/%s to %s", namespace, podName(i), node),
	})
}
