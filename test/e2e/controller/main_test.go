//go:build e2e

package controller

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
	"github.com/numalet/numalet/test/hollowcluster"
)

const repository = "../../.."

var (
	rigBin           = flag.String("rig", repository+"/build/rig", "the rig's command")
	program          = flag.String("controller", repository+"/build/bin/numalet-controller", "the program under test")
	agentProgram     = flag.String("agent", repository+"/build/bin/numalet-agent", "the node agent")
	installerProgram = flag.String("installer", repository+"/build/bin/numalet-containerd", "the program that configures containerd")
	tool             = flag.String("numalet", repository+"/build/bin/numalet", "the people's tool")
)

// world is a control plane for one test. newWorld also starts a controller, but newPlane does not.
type world struct {
	*testing.T
	*hollowcluster.Plane
	api        kubernetes.Interface
	controller *hollowcluster.Controller
	ctx        context.Context
	readers    int // number of accounts that the method `reader` has created
}

// newWorld starts a control plane with n simulated nodes of a shape, and a controller. The argument
// `settings` has additional flags of the controller.
func newWorld(t *testing.T, n int, s hollowcluster.Shape, settings ...string) *world {
	t.Helper()
	w := newPlane(t, n, s)
	w.startController(settings...)
	return w
}

// startController starts a controller with additional flags, and waits until it is ready. At the end
// of the test, the controller is stopped and its log is shown.
func (w *world) startController(settings ...string) {
	w.Helper()
	c, err := w.StartController(w.ctx, "controller", *program, append(settings, "-v=2")...)
	w.must(err)
	w.controller = c
	w.Cleanup(func() { _ = c.Stop(10 * time.Second); w.show(c.Log) })
	w.must(c.AwaitReady(w.ctx))
}

// newPlane starts a control plane with n simulated nodes of a shape, and installs the manifests and
// admission policies of deploy.
func newPlane(t *testing.T, n int, s hollowcluster.Shape) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	t.Cleanup(cancel)
	w := &world{T: t, ctx: ctx}
	var err error
	w.Plane, err = hollowcluster.Up(ctx, *rigBin, fmt.Sprintf("test-%d", os.Getpid()))
	w.must(err)
	t.Cleanup(func() {
		if err := w.Down(); err != nil {
			t.Error(err)
		}
	})
	w.api, err = w.API()
	w.must(err)
	w.must(w.Install(ctx, repository))
	w.admission()
	w.must(w.MakeNodes(ctx, n, s))
	w.must(w.GiveUpLease(ctx, "numalet-system", "numalet-controller"))
	return w
}

// admission installs the admission policies of the controller and waits until they are active. With
// them, only the controller may set placements, and pods that request exclusive CPUs must have the
// controller's schedulerName. From Kubernetes 1.36, the API server adds this schedulerName.
func (w *world) admission() {
	w.Helper()
	w.confine()
	w.install("controller/admission", "before-1.36/scheduler-name")
	w.await("the policies are in force", w.inForce)
}

// inForce reports whether the admission policies are active. It sends a pod that requests exclusive
// CPUs and has no schedulerName. From Kubernetes 1.36 on, the policies are active if the API server
// adds the controller's schedulerName. Before 1.36, they are active if the API server refuses the
// pod. The request must not come from an administrator, who may choose any scheduler: the API
// server would admit the pod whether the policies are active or not. So the request comes from the
// account of kube-controller-manager. For its requests, the policies check the permissions of the
// pod's service account instead. The service account of this pod has no permission to use another
// scheduler.
func (w *world) inForce() bool {
	w.Helper()
	config, err := w.Config()
	w.must(err)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:kube-controller-manager", Groups: []string{"system:masters"}}
	api, err := kubernetes.NewForConfig(config)
	w.must(err)
	pending := ours("pending", "1", v1alpha1.PolicySingle)
	pending.Spec.SchedulerName, pending.Spec.NodeSelector = "", map[string]string{v1alpha1.LabelExclusiveCPUs: "true"}
	pod, err := api.CoreV1().Pods("default").Create(w.ctx, pending, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if !w.mutates() {
		return err != nil && strings.Contains(err.Error(), otherwise)
	}
	return err == nil && pod.Spec.SchedulerName == e2eutil.Scheduler
}

// confine installs the admission policies that every installation needs, whether it has a
// controller or not.
func (w *world) confine() {
	w.Helper()
	w.install("admission", "before-1.36/admission")
}

// install applies a folder of deploy: the one named by the argument `before` on Kubernetes older than
// 1.36, and the one named by the argument `folder` on newer versions.
func (w *world) install(folder, before string) {
	w.Helper()
	if !w.mutates() {
		folder = before
	}
	_, err := w.Kubectl(w.ctx, "apply", "--server-side", "-k", repository+"/deploy/"+folder)
	w.must(err)
}

// mutates reports whether the admission policies of the API server can add fields to objects.
func (w *world) mutates() bool {
	w.Helper()
	mutates, err := e2eutil.Mutates(w.api)
	w.must(err)
	return mutates
}

// create creates a pod in the namespace default. On Kubernetes before 1.36, no policy adds the
// schedulerName, so the method adds it.
func (w *world) create(pod *corev1.Pod) {
	w.Helper()
	if pod.Spec.SchedulerName == "" && !w.mutates() {
		pod.Spec.SchedulerName = e2eutil.Scheduler
	}
	_, err := w.api.CoreV1().Pods("default").Create(w.ctx, pod, metav1.CreateOptions{})
	w.must(err)
}

// pod reads a pod from the API server.
func (w *world) pod(name string) *corev1.Pod {
	w.Helper()
	pod, err := w.api.CoreV1().Pods("default").Get(w.ctx, name, metav1.GetOptions{})
	w.must(err)
	return pod
}

// patience is the longest time that await waits. It is long enough for a busy machine.
const patience = 2 * time.Minute

// await calls the function `ok` until it returns true. After the time in the constant `patience`, it
// fails the test. The argument `what` says what the test waits for, and is a part of the error
// message.
func (w *world) await(what string, ok func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// show prints a log file if the test has failed.
func (w *world) show(file string) {
	if log, err := os.ReadFile(file); err == nil && w.Failed() {
		w.Logf("%s:\n%s", file, log)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}
