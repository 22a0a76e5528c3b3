//go:build e2e

package controller

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/tenants"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/test/hollowcluster"
)

// timeConstant is the time constant of the tenants' scores in these tests. A score is an average of
// what the tenant used, in which recent use counts more. Waiting pods of the tenant with the lowest
// score come first. With this time constant, scores change in 80 s as much as they do in a week
// with the default.
const timeConstant = 20 * time.Second

// office is a control plane with tenants. For each of three GPU models it has a node with two GPUs.
type office struct {
	*world
	tenants client.Client
	decay   fairshare.Decay
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{world: newPlane(t, 0, hollowcluster.Shape{})}
	config, err := o.Config()
	o.must(err)
	plain := rest.CopyConfig(config)
	plain.ContentType, plain.AcceptContentTypes = "", "" // the API server has no protobuf encoding for custom resources
	known := runtime.NewScheme()
	o.must(v1alpha1.AddToScheme(known))
	o.tenants, err = client.New(plain, client.Options{Scheme: known})
	o.must(err)
	o.decay, err = fairshare.NewDecay(timeConstant.Seconds())
	o.must(err)
	resources, err := dynamic.NewForConfig(config)
	o.must(err)
	shape := hollowcluster.Shape{NUMA: 1, CPUs: 32, GPUs: 2}
	for _, model := range []string{"T4", "V100", "H200"} {
		node := shape.Named("of-" + strings.ToLower(model))
		node.Labels["nvidia.com/gpu.product"] = model
		o.must(hollowcluster.MakeNode(o.ctx, o.api, resources, node, shape))
	}
	return o
}

// begin starts a controller with a short time constant of scores. The parameter `name` is the name of
// its process.
func (o *office) begin(name string) {
	o.Helper()
	var err error
	o.controller, err = o.StartController(o.ctx, name, *program, "-v=2", "--score-time-constant="+timeConstant.String(), "--score-interval=1s")
	o.must(err)
	log := o.controller.Log
	o.Cleanup(func() { o.show(log) })
	o.must(o.controller.AwaitReady(o.ctx))
}

// open creates a Tenant, with the given score in its status if the score is more
// than 0.
func (o *office) open(name string, of fairshare.Type, score float64) {
	o.Helper()
	t := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.must(o.tenants.Create(o.ctx, t))
	if score > 0 {
		t.Status.Accounts = tenants.Write([]fairshare.Account{{Type: of, Score: score, Time: time.Now()}})
		o.must(o.tenants.Status().Update(o.ctx, t))
	}
}

// stored returns the account (score and usage) for a resource type from the status of a Tenant.
func (o *office) stored(name string, of fairshare.Type) fairshare.Account {
	o.Helper()
	t := &v1alpha1.Tenant{}
	o.must(o.tenants.Get(o.ctx, client.ObjectKey{Name: name}, t))
	for _, written := range t.Status.Accounts {
		if written.Type == string(of) {
			a, err := tenants.Read(written)
			o.must(err)
			return a
		}
	}
	return fairshare.Account{}
}

// gpu returns a pod of a tenant that requests one GPU of a model.
func gpu(who, name, model string) *corev1.Pod {
	pod := hollowcluster.Pod("default", name, "numalet-scheduler", "100m", 1)
	pod.Labels[v1alpha1.LabelTenant], pod.Annotations[v1alpha1.AnnotationGPUType] = who, model
	return pod
}

// turns lets the pods of tenants take turns: it deletes each pod a second after it found the pod
// bound, until n pods were bound. It returns the tenants of these pods in the order in which it
// found the pods bound.
func (o *office) turns(n int) (whose []string) {
	o.Helper()
	began := map[string]time.Time{}
	for deadline := time.Now().Add(3 * time.Minute); len(whose) < n; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			o.Fatalf("only %v had their turn", whose)
		}
		list, err := o.api.CoreV1().Pods("default").List(o.ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelTenant})
		o.must(err)
		for _, pod := range list.Items {
			since, known := began[pod.Name]
			switch {
			case pod.Spec.NodeName == "":
			case !known:
				began[pod.Name] = time.Now()
				whose = append(whose, pod.Labels[v1alpha1.LabelTenant])
			case time.Since(since) > time.Second:
				o.must(client.IgnoreNotFound(o.api.CoreV1().Pods("default").Delete(o.ctx, pod.Name, *metav1.NewDeleteOptions(0))))
			}
		}
	}
	return whose
}

// TestTenants checks the scores of tenants. The tenant ann has used both T4 GPUs for a week. So
// pods of bob, which arrive later, get these GPUs until his score equals hers. A pod of carl
// already runs when the controller starts, and its use of resources counts for his score. After a
// restart of the controller, the scores continue from their stored values.
func TestTenants(t *testing.T) {
	o := newOffice(t)
	o.open("ann", "T4", 2*(1-math.Exp(-4)))
	o.open("bob", "", 0)
	o.open("carl", "", 0)
	o.open("dora", "", 0)
	runs := hollowcluster.Pod("default", "runs", "numalet-scheduler", "2", 0)
	runs.Labels[v1alpha1.LabelTenant], runs.Spec.NodeName = "carl", "of-t4"
	o.create(runs)
	runs = o.pod("runs")
	began := metav1.NewTime(time.Now().Add(-timeConstant).Truncate(time.Second))
	runs.Status.StartTime = &began
	_, err := o.api.CoreV1().Pods("default").UpdateStatus(o.ctx, runs, metav1.UpdateOptions{})
	o.must(err)
	for i := range 60 {
		o.create(gpu("ann", fmt.Sprintf("a%02d", i), "T4"))
	}
	for i := range 60 {
		o.create(gpu("bob", fmt.Sprintf("b%02d", i), "T4"))
	}
	o.begin("first")
	o.firstSeen(began.Time)
	o.typesApart()
	o.untilScoresMeet()
	o.explained()
	o.restart()
}

// firstSeen checks that carl's score counts the time before the controller started. With a constant
// use of 2 cores, a score approaches 2 exponentially, with the time constant T of the decay. So his
// score must be 2 · (1 − e^(−t/T)), where t is how long his pod has run.
func (o *office) firstSeen(began time.Time) {
	o.Helper()
	var a fairshare.Account
	o.await("carl's score is stored", func() bool { a = o.stored("carl", fairshare.CPU); return !a.Time.IsZero() })
	want := o.decay.Next(0, 2, a.Time.Sub(began).Seconds())
	o.Logf("carl, met with 2 cores that had run for %.1f s: score %.12f, want %.12f", a.Time.Sub(began).Seconds(), a.Score, want)
	if math.Abs(a.Score-want) > 1e-9 {
		o.Errorf("score of carl %v, want %v", a.Score, want)
	}
}

// typesApart checks that pods do not wait for pods of other GPU types. Many pods wait for T4 and
// V100 GPUs, but a pod that requests an H200 starts at once.
func (o *office) typesApart() {
	o.Helper()
	for i := range 4 {
		o.create(gpu("dora", fmt.Sprint("v", i), "V100"))
	}
	o.await("two V100s are taken, and waited for", func() bool {
		waits := 0
		for i := range 4 {
			if o.pod(fmt.Sprint("v", i)).Spec.NodeName == "" {
				waits++
			}
		}
		return waits == 2
	})
	o.create(gpu("dora", "h", "H200"))
	o.await("the H200 is given", func() bool { return o.pod("h").Spec.NodeName == "of-h200" })
	for i := range 4 {
		o.must(o.api.CoreV1().Pods("default").Delete(o.ctx, fmt.Sprint("v", i), *metav1.NewDeleteOptions(0)))
	}
	o.must(o.api.CoreV1().Pods("default").Delete(o.ctx, "h", *metav1.NewDeleteOptions(0)))
}

// untilScoresMeet checks that bob's pods get both T4 GPUs, although ann's pods are older. Once the
// scores of ann and bob are equal, ann's pods start, too. Scores change with time, so on a slower
// machine fewer of bob's pods start before that. At least two of them must.
func (o *office) untilScoresMeet() {
	o.Helper()
	whose := o.turns(50)
	first := map[string]int{}
	for i := len(whose) - 1; i >= 0; i-- {
		first[whose[i]] = i
	}
	o.Logf("turns: %v", whose)
	if n, ok := first["ann"]; !ok || n < 2 {
		o.Errorf("the first of ann's had turn %d (%v), want two of bob's first, and then hers, too", n, ok)
	}
	ann, bob := o.stored("ann", "T4"), o.stored("bob", "T4")
	o.Logf("scores: ann %.3f, bob %.3f", ann.Score, bob.Score)
}

// explained checks that the queue API explains why a pod waits. This takes seconds, in which scores
// decay. So it must be called after untilScoresMeet, whose result depends on the scores.
func (o *office) explained() {
	o.Helper()
	queue := o.serveQueue()
	o.await("the queue explains a pod that waits", func() bool {
		pod, err := queue.Get(o.ctx, "default", "a59")
		return err == nil && pod.Status.Type == "T4" && pod.Status.Position > 1 && len(pod.Status.Ahead) > 0
	})
	pods, err := queue.List(o.ctx, "")
	o.must(err)
	o.Logf("%d pods are pending; the first: %+v", len(pods), pods[0])
}

// restart stops the controller just after a pod was bound, and starts a second controller. It
// checks the scores that the second controller stores. Each must be the last stored score, less its
// decay since then, plus what the tenant has used since then. This includes what the new pod has
// used since it was bound.
func (o *office) restart() {
	o.Helper()
	o.must(o.api.CoreV1().Pods("default").DeleteCollection(o.ctx, *metav1.NewDeleteOptions(0),
		metav1.ListOptions{LabelSelector: v1alpha1.LabelTenant + " in (ann,bob)"}))
	o.await("nobody holds a T4", func() bool { return o.stored("ann", "T4").Usage == 0 && o.stored("bob", "T4").Usage == 0 })
	o.create(gpu("ann", "late", "T4"))
	o.await("ann holds one again", func() bool { return o.pod("late").Spec.NodeName != "" })
	before := map[string]fairshare.Account{"ann": o.stored("ann", "T4"), "bob": o.stored("bob", "T4"), "carl": o.stored("carl", fairshare.CPU)}
	o.must(o.controller.Stop(10 * time.Second))
	if a := o.stored("ann", "T4"); a.Time.After(before["ann"].Time) {
		before["ann"] = a
	}
	for who, of := range map[string]fairshare.Type{"bob": "T4", "carl": fairshare.CPU} {
		before[who] = o.stored(who, of)
	}
	o.begin("second")
	for who, was := range before {
		var a fairshare.Account
		o.await(who+"'s score is stored anew", func() bool { a = o.stored(who, was.Type); return a.Time.After(was.Time) })
		want := o.decay.Next(was.Score, float64(was.Usage)/1000, a.Time.Sub(was.Time).Seconds())
		if who == "ann" && a.Usage > was.Usage {
			want += o.decay.Next(0, 1, a.Time.Sub(o.boundAt("late")).Seconds())
		}
		o.Logf("%s: score %.12f after the restart, want %.12f", who, a.Score, want)
		if math.Abs(a.Score-want) > 1e-9 {
			o.Errorf("score of %s is %v after the restart, want %v", who, a.Score, want)
		}
	}
}

// boundAt returns the time at which a pod was bound according to the API server.
func (o *office) boundAt(name string) time.Time {
	o.Helper()
	for _, c := range o.pod(name).Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.LastTransitionTime.Time
		}
	}
	o.Fatalf("pod %s has no condition PodScheduled", name)
	return time.Time{}
}
