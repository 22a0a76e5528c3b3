//go:build e2e

package controller

import (
	"bufio"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
	"github.com/numalet/numalet/test/hollowcluster"
)

var (
	browser  = flag.String("browser", "", "test/browser as a program, for TestUI")
	axe      = flag.String("axe", "", "axe-core as a script")
	pictures = flag.String("pictures", repository+"/build", "directory of the screenshots")
)

// TestUI checks the page of `numalet ui` in Chromium. The page shows 1,000 nodes with pods of three
// tenants, a queue, the tenants' scores and a GPU group. The test writes what the nodes' agents would
// report about the pods.
func TestUI(t *testing.T) {
	if *browser == "" {
		t.Fatal("give the program with -browser, as make ui-check does")
	}
	w := newAnswering(t, 1000, hollowcluster.Shape{NUMA: 2, CPUs: 16, GPUs: 4, Model: "NVIDIA A100"}, "--score-interval=1s", "--score-time-constant=1m")
	for _, tenant := range []string{"ann", "ben", "carl"} {
		w.apply(fmt.Sprintf(`{"apiVersion": "numalet.dev/v1alpha1", "kind": "Tenant", "metadata": {"name": %q}, "spec": {"quotas": {"NVIDIA-A100": 4000}}}`, tenant))
	}
	w.apply(groupGuide(t)) // the group is for ann, whose pods get no other GPUs
	w.await("the group is accepted", func() bool { return w.condition("training") == "True Accepted" })
	w.must(w.MakePods(w.ctx, "default", 1200, func(i int) *corev1.Pod {
		return uiPod(fmt.Sprintf("train-%04d", i), []string{"ben", "carl"}[i%2], 1+i%2)
	}))
	w.gpuPod("grouped", "ann", "training", 1)
	w.create(uiPod("too-large", "ben", 8))
	w.await("only one pod waits", func() bool {
		waiting, err := w.api.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
		w.must(err)
		return len(waiting.Items) == 1
	})
	pods, err := w.api.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
	w.must(err)
	w.must(w.Hold(w.ctx, pods.Items))

	ui := exec.CommandContext(w.ctx, *tool, "ui", "--kubeconfig", w.Kubeconfig)
	out, err := ui.StdoutPipe()
	w.must(err)
	w.must(ui.Start())
	defer func() { _ = ui.Process.Kill(); _ = ui.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	w.must(err)
	url := strings.TrimPrefix(strings.TrimSpace(line), "Open ")
	report, err := exec.CommandContext(w.ctx, *browser, "-url", url, "-axe", *axe, "-out", *pictures).CombinedOutput()
	t.Logf("%s", report)
	w.must(err)
}

// uiPod returns a pod of a tenant with GPUs and exclusive CPUs.
func uiPod(name, tenant string, gpus int) *corev1.Pod {
	limits := corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(4, resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("1Gi"),
		hollowcluster.GPU: *resource.NewQuantity(int64(gpus), resource.DecimalSI),
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelTenant: tenant}, Annotations: map[string]string{v1alpha1.AnnotationCPUPolicy: "single"}},
		Spec:       corev1.PodSpec{SchedulerName: e2eutil.Scheduler, Containers: []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Limits: limits}}}},
	}
}
