//go:build e2e

package controller

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// jobs is a control plane with nodes for Jobs (numalet.dev). The nodes have no kubelet, so the test
// sets the status of the pods.
type jobs struct {
	*world
	objects client.Client
}

// TestJobs runs its subtests on one control plane. No two subtests use the same name for a Job.
func TestJobs(t *testing.T) {
	w := newWorld(t, 2, hollowcluster.Shape{NUMA: 2, CPUs: 16})
	j := &jobs{w, w.objects()}
	for name, play := range map[string]func(*jobs){
		"guide": guide, "succeeds": succeeds, "retries": retries, "gang": gang, "suspend": suspend, "ttl": ttl, "in the way": inTheWay, "cascade": cascade,
	} {
		t.Run(name, func(t *testing.T) {
			own := *j.world
			own.T = t
			play(&jobs{&own, j.objects})
		})
	}
}

// objects returns a client for Kubernetes objects and for Numalet's custom resources.
func (w *world) objects() client.Client {
	w.Helper()
	config, err := w.Config()
	w.must(err)
	config.ContentType = runtime.ContentTypeJSON // the API server has no protobuf encoding for custom resources
	known := runtime.NewScheme()
	w.must(scheme.AddToScheme(known))
	w.must(v1alpha1.AddToScheme(known))
	objects, err := client.New(config, client.Options{Scheme: known})
	w.must(err)
	return objects
}

// guide checks that the example in docs/tasks/run-jobs.md creates two pods and that both are bound.
// It checks the rank and other fields of the second pod, and a hostfile with the DNS names of both
// pods.
func guide(j *jobs) {
	text, err := os.ReadFile(repository + "/docs/tasks/run-jobs.md")
	j.must(err)
	file := j.File("train.yaml")
	j.must(os.WriteFile(file, example(string(text)), 0o644))
	_, err = j.Kubectl(j.ctx, "apply", "-f", file)
	j.must(err)
	j.await("both pods are bound", func() bool { return j.bound("train-0") && j.bound("train-1") })
	pod := j.pod("train-1")
	got := map[string]string{
		"host":      pod.Spec.Hostname + "." + pod.Spec.Subdomain,
		"tenant":    pod.Labels[v1alpha1.LabelTenant],
		"gang":      pod.Labels[v1alpha1.LabelGang] + " " + pod.Annotations[v1alpha1.AnnotationGangMinAvailable],
		"class":     string(pod.Status.QOSClass),
		"placement": strings.Split(pod.Annotations[v1alpha1.AnnotationPlacement], ",")[0],
		"owner":     metav1.GetControllerOf(pod).Kind + " " + metav1.GetControllerOf(pod).Name,
	}
	for _, v := range pod.Spec.Containers[0].Env {
		if slices.Contains([]string{"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}, v.Name) {
			got[v.Name] = v.Value
		}
	}
	service, err := j.api.CoreV1().Services("default").Get(j.ctx, "train", metav1.GetOptions{})
	j.must(err)
	got["service"] = service.Spec.ClusterIP + " " + service.Spec.Selector[v1alpha1.LabelJob]
	names, err := j.api.CoreV1().ConfigMaps("default").Get(j.ctx, "train", metav1.GetOptions{})
	j.must(err)
	got["hostfile"] = names.Data["hostfile"]
	want := map[string]string{
		"host": "train-1.train", "tenant": "ann", "gang": "train 2", "class": "Guaranteed", "placement": `{"version":1`, "owner": "Job train",
		"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "train-0.train.default.svc", "MASTER_PORT": "29500", "service": "None train",
		"hostfile": "train-0.train.default.svc slots=4\ntrain-1.train.default.svc slots=4\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		j.Errorf("pod train-1 and what comes with it (-want +got):\n%s", diff)
	}
}

// example returns the first indented block of a Markdown text.
func example(text string) []byte {
	_, text, _ = strings.Cut(text, "\n    ")
	var b strings.Builder
	for line := range strings.Lines("    " + text) {
		own, ok := strings.CutPrefix(line, "    ")
		if !ok {
			break
		}
		b.WriteString(own)
	}
	return []byte(b.String())
}

// succeeds checks that a job is Succeeded once all of its pods have succeeded.
func succeeds(j *jobs) {
	j.make("good", `replicas: 2`)
	j.runs("good-0", "good-1")
	j.phase("good", v1alpha1.JobRunning)
	j.ends("good-0", 0)
	j.ends("good-1", 0)
	j.phase("good", v1alpha1.JobSucceeded)
	got := j.get("good")
	if s := got.Status; s.CompletionTime == nil || s.StartTime == nil || !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionComplete) || s.CompletedIndexes != "0-1" {
		j.Errorf("status: %+v", s)
	}
	j.await("its author is told", func() bool { return j.event("good", "Completed") != "" })
	var made []string
	for _, o := range got.Status.Objects {
		made = append(made, o.Kind+" "+o.Name)
	}
	if diff := cmp.Diff([]string{"ConfigMap good", "Pod good-0", "Pod good-1", "Service good"}, made); diff != "" {
		j.Errorf("objects (-want +got):\n%s", diff)
	}
}

// retries checks that a failed pod is replaced by a pod of the same name, and that the job fails
// once more pods have failed than backoffLimit allows.
func retries(j *jobs) {
	j.make("bad", `{replicas: 2, backoffLimit: 1}`)
	j.runs("bad-0", "bad-1")
	first := j.pod("bad-1")
	j.ends("bad-1", 3)
	j.await("another bad-1 is bound", func() bool { return j.replaced(first) && j.bound("bad-1") })
	if attempt := j.pod("bad-1").Labels[v1alpha1.LabelJobAttempt]; attempt != "1" {
		j.Errorf("attempt %s", attempt)
	}
	j.runs("bad-1")
	j.ends("bad-1", 3)
	j.phase("bad", v1alpha1.JobFailed)
	j.absent("bad-0")
	got := j.get("bad").Status
	want := "pods failed 2 times, which exceeds backoffLimit 1; last failure: pod 1: container main ended with exit code 3 (Error)"
	if got.Message != want || got.Failed != 2 || j.pod("bad-1").Status.Phase != corev1.PodFailed {
		j.Errorf("status: %+v", got)
	}
}

// gang checks a job of two pods that have to start together. The test deletes one pod, and the
// replacement of this pod waits because no node is schedulable. Meanwhile the other pod succeeds.
// The test checks that the replacement may then start alone.
func gang(j *jobs) {
	j.make("pair", `{replicas: 2, minAvailable: 2}`)
	j.runs("pair-0", "pair-1")
	first := j.pod("pair-1")
	j.cordon(true)
	j.must(j.api.CoreV1().Pods("default").Delete(j.ctx, "pair-1", *metav1.NewDeleteOptions(0)))
	least := func() string { return j.pod("pair-1").Annotations[v1alpha1.AnnotationGangMinAvailable] }
	j.await("another pair-1 waits", func() bool { return j.replaced(first) })
	if n := least(); n != "2" {
		j.Errorf("%s start together, want 2", n)
	}
	j.ends("pair-0", 0)
	j.await("one is enough to start", func() bool { return least() == "1" })
	j.cordon(false)
	j.await("it is bound", func() bool { return j.bound("pair-1") })
}

// suspend checks that the pods of a job are deleted when it is suspended, and created again when it
// is resumed.
func suspend(j *jobs) {
	j.make("pause", `replicas: 2`)
	j.runs("pause-0", "pause-1")
	first := j.pod("pause-0")
	j.set("pause", func(s *v1alpha1.JobSpec) { s.Suspend = true })
	j.phase("pause", v1alpha1.JobSuspended)
	j.absent("pause-0")
	j.absent("pause-1")
	if s := j.get("pause").Status; s.StartTime != nil || !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionSuspended) {
		j.Errorf("status: %+v", s)
	}
	j.set("pause", func(s *v1alpha1.JobSpec) { s.Suspend, s.Replicas = false, 1 })
	j.await("another pause-0 is bound", func() bool { return j.bound("pause-0") && j.pod("pause-0").UID != first.UID })
	j.phase("pause", v1alpha1.JobPending)
	j.absent("pause-1")
}

// ttl checks that a finished job is deleted after ttlSecondsAfterFinished.
func ttl(j *jobs) {
	j.make("short", `ttlSecondsAfterFinished: 2`)
	j.runs("short-0")
	j.ends("short-0", 0)
	j.phase("short", v1alpha1.JobSucceeded)
	j.await("the job is deleted", func() bool {
		return apierrors.IsNotFound(j.objects.Get(j.ctx, client.ObjectKey{Namespace: "default", Name: "short"}, &v1alpha1.Job{}))
	})
}

// inTheWay creates an object that does not belong to a job but has a name that the job needs. It
// checks that the controller does not change this object, and that the job's status and an event
// report it.
func inTheWay(j *jobs) {
	j.create(ours("taken-1", "1", ""))
	mine := j.pod("taken-1").UID
	j.make("taken", `replicas: 2`)
	j.runs("taken-0")
	const want = "Pod taken-1 exists and does not belong to this job: delete it, or rename the job"
	j.await("the status says so", func() bool { return j.get("taken").Status.Message == want })
	j.await("an event says so", func() bool { return j.event("taken", "FailedCreate") == want })
	if j.pod("taken-1").UID != mine {
		j.Error("the pod that was in the way is gone")
	}
	j.must(j.api.CoreV1().Pods("default").Delete(j.ctx, "taken-1", *metav1.NewDeleteOptions(0)))
	j.await("the pod is made", func() bool { return j.exists("taken-1") && j.get("taken").Status.Message != want })
}

// cascade checks that all objects of a job are deleted when the job is deleted. The garbage
// collector of kube-controller-manager deletes them.
func cascade(j *jobs) {
	j.make("whole", `replicas: 2`)
	j.await("its pods are bound", func() bool { return j.bound("whole-0") && j.bound("whole-1") })
	process, err := j.Start("kube-controller-manager", filepath.Join(j.Bin, "kubeone"), "kube-controller-manager",
		"--kubeconfig="+j.Kubeconfig, "--secure-port=0", "--leader-elect=false", "--controllers=garbage-collector-controller")
	j.must(err)
	j.Cleanup(func() { _ = process.Stop(10 * time.Second); j.show(process.Log) })
	j.must(j.objects.Delete(j.ctx, j.get("whole"), client.PropagationPolicy(metav1.DeletePropagationForeground)))
	j.await("the job is gone, and what was made for it", func() bool {
		var left []string
		for kind, list := range map[string]client.ObjectList{"job": &v1alpha1.JobList{}, "pod": &corev1.PodList{}, "service": &corev1.ServiceList{}, "config map": &corev1.ConfigMapList{}} {
			j.must(j.objects.List(j.ctx, list, client.InNamespace("default")))
			j.must(meta.EachListItem(list, func(o runtime.Object) error {
				if strings.HasPrefix(o.(client.Object).GetName(), "whole") {
					left = append(left, kind)
				}
				return nil
			}))
		}
		return left == nil
	})
}

// make creates a job of the tenant ann, with additional fields of the spec in YAML.
func (j *jobs) make(name, fields string) {
	j.Helper()
	now := int64(0)
	job := &v1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{v1alpha1.LabelTenant: "ann"}}}
	j.must(yaml.UnmarshalStrict([]byte(fields), &job.Spec))
	spec, err := yaml.Marshal(corev1.PodSpec{TerminationGracePeriodSeconds: &now, Containers: []corev1.Container{container("main", "100m")}})
	j.must(err)
	job.Spec.Template.Spec.Raw, err = yaml.YAMLToJSON(spec)
	j.must(err)
	j.must(j.objects.Create(j.ctx, job))
}

func (j *jobs) get(name string) *v1alpha1.Job {
	j.Helper()
	job := &v1alpha1.Job{}
	j.must(j.objects.Get(j.ctx, client.ObjectKey{Namespace: "default", Name: name}, job))
	return job
}

func (j *jobs) set(name string, change func(*v1alpha1.JobSpec)) {
	j.Helper()
	job := j.get(name)
	before := job.DeepCopy()
	change(&job.Spec)
	j.must(j.objects.Patch(j.ctx, job, client.MergeFrom(before)))
}

func (j *jobs) phase(name string, want v1alpha1.JobPhase) {
	j.Helper()
	j.await("job "+name+" is "+string(want), func() bool { return j.get(name).Status.Phase == want })
}

// cordon makes all nodes unschedulable if `closed` is true, and schedulable if it is false.
func (j *jobs) cordon(closed bool) {
	j.Helper()
	nodes, err := j.api.CoreV1().Nodes().List(j.ctx, metav1.ListOptions{})
	j.must(err)
	for i := range nodes.Items {
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, closed)
		_, err := j.api.CoreV1().Nodes().Patch(j.ctx, nodes.Items[i].Name, types.MergePatchType, patch, metav1.PatchOptions{})
		j.must(err)
	}
}

// found returns the pod with the given name, or nil if there is none. There is none between the
// deletion of a pod and the creation of its replacement.
func (j *jobs) found(name string) *corev1.Pod {
	j.Helper()
	pod, err := j.api.CoreV1().Pods("default").Get(j.ctx, name, metav1.GetOptions{})
	j.must(client.IgnoreNotFound(err))
	if err != nil {
		return nil
	}
	return pod
}

func (j *jobs) exists(pod string) bool { return j.found(pod) != nil }

func (j *jobs) bound(name string) bool {
	pod := j.found(name)
	return pod != nil && pod.Spec.NodeName != ""
}

// replaced reports whether the pod has been replaced, that is, whether another pod with the same
// name exists.
func (j *jobs) replaced(before *corev1.Pod) bool {
	pod := j.found(before.Name)
	return pod != nil && pod.UID != before.UID
}

func (j *jobs) absent(pod string) {
	j.Helper()
	j.await(pod+" is gone", func() bool { return !j.exists(pod) })
}

// runs waits until each pod is bound, and then sets its phase to Running.
func (j *jobs) runs(pods ...string) {
	j.Helper()
	for _, name := range pods {
		j.await(name+" is bound", func() bool { return j.bound(name) })
		j.say(name, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})
	}
}

// ends sets the phase of a pod to Succeeded, or to Failed if the exit code is not 0.
func (j *jobs) ends(name string, code int32) {
	j.Helper()
	phase, reason := corev1.PodSucceeded, "Completed"
	if code != 0 {
		phase, reason = corev1.PodFailed, "Error"
	}
	j.say(name, phase, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: metav1.Now()}})
}

func (j *jobs) say(name string, phase corev1.PodPhase, state corev1.ContainerState) {
	j.Helper()
	pod := j.pod(name)
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: state}}
	_, err := j.api.CoreV1().Pods("default").UpdateStatus(j.ctx, pod, metav1.UpdateOptions{})
	j.must(err)
}
