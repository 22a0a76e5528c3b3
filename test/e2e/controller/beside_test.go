//go:build e2e

package controller

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// besideDir has the programs and manifests of other projects, which test/ecosystem builds.
var besideDir = flag.String("beside", repository+"/build/ecosystem", "the directory that test/ecosystem fills")

// TestBeside runs Kueue and JobSet with the controller on one API server: Kueue admits batch Jobs,
// pods and JobSets, and Numalet places their pods. The Job controller of kube-controller-manager
// creates the pods of Jobs. No pod really runs, because there is no kubelet. So the test itself
// sets the phases of pods, such as Succeeded.
func TestBeside(t *testing.T) {
	w := newWorld(t, 1, hollowcluster.Shape{NUMA: 2, CPUs: 8, GPUs: 4, Model: "NVIDIA A100"})
	w.controllers("job-controller,garbage-collector-controller")
	w.besideProgram("jobset", "9543", "jobset.x-k8s.io", "")
	w.besideProgram("kueue", "9443", "kueue.x-k8s.io", "")
	w.retry("the queue is created", func() error { return w.kubectlApply(kueueQueue) })
	for name, part := range map[string]func(*world){"Job": (*world).kueueJobs, "Pod": (*world).kueuePods, "JobSet": (*world).jobSets} {
		t.Run(name, func(t *testing.T) {
			own := *w
			own.T = t
			part(&own)
			own.await("Kueue's quota is free", own.kueueIdle)
		})
	}
}

// kueueQueue is a LocalQueue that admits workloads with up to 6 CPUs and 2 GPUs at a time. The node
// has 15 CPUs and 4 GPUs.
const kueueQueue = `
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: any}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu, memory, nvidia.com/gpu]
      flavors:
        - name: any
          resources:
            - {name: cpu, nominalQuota: 6}
            - {name: memory, nominalQuota: 8Gi}
            - {name: nvidia.com/gpu, nominalQuota: 2}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {namespace: default, name: team}, spec: {clusterQueue: team}}
`

// besideTemplate is the spec of a pod with 2 exclusive CPUs and a GPU.
const besideTemplate = `{metadata: {annotations: {numalet.dev/cpu-policy: single}}, spec: {restartPolicy: Never, containers: [{name: main, image: localhost/busybox, resources: {limits: {cpu: "2", memory: 64Mi, nvidia.com/gpu: 1}}}]}}`

// kueueJobs creates two batch Jobs with two pods each. Kueue's quota is enough for one of the two
// Jobs, so the other Job starts when the first one has ended.
func (w *world) kueueJobs() {
	for _, name := range []string{"one", "two"} {
		w.apply(`{apiVersion: batch/v1, kind: Job, metadata: {namespace: default, name: ` + name + `, labels: {kueue.x-k8s.io/queue-name: team}}, spec: {parallelism: 2, completions: 2, template: ` + besideTemplate + `}}`)
	}
	first, second := "one", "two"
	w.await("the pods of a Job are placed", func() bool {
		if w.placedOf("job-name=two") == 2 {
			first, second = "two", "one"
		}
		return w.placedOf("job-name="+first) == 2
	})
	if n := len(w.podsOf("job-name=" + second)); n != 0 {
		w.Errorf("Job %s has %d pods, although Kueue's quota is used up", second, n)
	}
	w.end("job-name=" + first)
	w.await("the pods of the other Job are placed", func() bool { return w.placedOf("job-name="+second) == 2 })
	w.end("job-name=" + second)
}

// kueuePods creates two pods, each of which uses up the quota of Kueue. Kueue adds scheduling
// gates to each, and removes them when it admits the pod. Numalet places no pod with a gate.
func (w *world) kueuePods() {
	for _, name := range []string{"first", "second"} {
		w.apply(`{apiVersion: v1, kind: Pod, metadata: {namespace: default, name: ` + name + `, labels: {kueue.x-k8s.io/queue-name: team, test: pods}, annotations: {numalet.dev/cpu-policy: single}}, spec: {restartPolicy: Never, containers: [{name: main, image: localhost/busybox, resources: {limits: {cpu: "4", memory: 64Mi, nvidia.com/gpu: 2}}}]}}`)
	}
	w.await("a pod is placed", func() bool { return w.placedOf("test=pods") == 1 })
	for _, pod := range w.podsOf("test=pods") {
		if pod.Spec.NodeName == "" {
			w.hears(user{w, w.Kubeconfig}, pod.Name, "the pod has the scheduling gates kueue.x-k8s.io/admission, kueue.x-k8s.io/topology: whoever set them has to remove them")
		}
	}
	w.end("test=pods")
	w.await("the other pod is placed", func() bool { return w.placedOf("test=pods,ended!=true") == 1 })
	w.end("test=pods")
}

// jobSets creates two JobSets, each with a leader and a worker. Kueue admits one of them.
func (w *world) jobSets() {
	for _, name := range []string{"red", "blue"} {
		w.apply(`{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {namespace: default, name: ` + name + `, labels: {kueue.x-k8s.io/queue-name: team}}, spec: {replicatedJobs: [{name: leader, template: {spec: {template: ` + besideTemplate + `}}}, {name: worker, template: {spec: {template: ` + besideTemplate + `}}}]}}`)
	}
	set := func(name string) string { return "jobset.sigs.k8s.io/jobset-name=" + name }
	first, second := "red", "blue"
	w.await("the pods of a JobSet are placed", func() bool {
		if w.placedOf(set("blue")) == 2 {
			first, second = "blue", "red"
		}
		return w.placedOf(set(first)) == 2
	})
	if n := len(w.podsOf(set(second))); n != 0 {
		w.Errorf("JobSet %s has %d pods, although Kueue's quota is used up", second, n)
	}
	w.end(set(first))
	w.await("the pods of the other JobSet are placed", func() bool { return w.placedOf(set(second)) == 2 })
	w.end(set(second))
}

// podsOf returns the pods in the namespace default that match a label selector.
func (w *world) podsOf(selector string) []corev1.Pod {
	w.Helper()
	list, err := w.api.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{LabelSelector: selector})
	w.must(err)
	return list.Items
}

// placedOf returns the number of pods that match a label selector and that Numalet has placed. A
// placed pod is bound to a node, and has the annotation with the CPUs and GPUs that Numalet chose.
func (w *world) placedOf(selector string) (n int) {
	w.Helper()
	for _, pod := range w.podsOf(selector) {
		if pod.Spec.NodeName != "" && pod.Annotations[v1alpha1.AnnotationPlacement] != "" {
			n++
		}
	}
	return n
}

// The method `end` sets the phase of the placed pods that match a label selector to Succeeded, as a
// kubelet does when pods end. It also adds the label ended=true to these pods.
func (w *world) end(selector string) {
	w.Helper()
	for _, pod := range w.podsOf(selector) {
		if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		status := `{"status": {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False", "reason": "PodCompleted"}]}}`
		for patch, subresources := range map[string][]string{status: {"status"}, `{"metadata": {"labels": {"ended": "true"}}}`: nil} {
			_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
			w.must(err)
		}
	}
}

// kueueIdle reports whether no workload uses the quota of the ClusterQueue.
func (w *world) kueueIdle() bool {
	w.Helper()
	out, err := w.Kubectl(w.ctx, "get", "clusterqueue", "team", "-o", "jsonpath={.status.admittedWorkloads} {.status.reservingWorkloads}")
	w.must(err)
	return strings.Trim(out, "0 ") == "" // Kueue may leave out a number that is 0
}

// controllers starts controllers of kube-controller-manager, with their own service accounts. The
// parameter `names` is a list separated by commas.
func (w *world) controllers(names string) {
	w.Helper()
	w.keep(nil, "kube-controller-manager", filepath.Join(w.Bin, "kubeone"), "kube-controller-manager",
		"--kubeconfig="+w.File("kube-controller-manager.kubeconfig"), "--secure-port=0", "--leader-elect=false", "--use-service-account-credentials",
		"--controllers="+names)
}

// keep starts a program, which runs until the end of the test. If the test fails, the log of the
// program is shown. The parameter `env` has additional environment variables.
func (w *world) keep(env []string, name, program string, args ...string) *hollowcluster.Process {
	w.Helper()
	process, err := w.StartWith(env, name, program, args...)
	w.must(err)
	w.Cleanup(func() { _ = process.Stop(10 * time.Second); w.show(process.Log) })
	return process
}

// besideProgram installs the custom resource definitions of another project, and starts its
// controller with the rights of the administrator. The controller listens on a port of 127.0.0.1,
// and the API server calls its webhooks there. The parameter `group` is the API group of the
// project, and `settings` has additional fields of its configuration.
func (w *world) besideProgram(name, port, group, settings string) {
	w.Helper()
	definitions := filepath.Join(*besideDir, name, "config/components/crd/bases")
	_, err := w.Kubectl(w.ctx, "apply", "--server-side", "-f", definitions)
	w.must(err)
	files, err := os.ReadDir(definitions)
	w.must(err)
	w.await("the API server serves "+group, func() bool { return w.resourcesOf(group) == len(files) }) // otherwise Kueue would exit when it starts
	authority := w.certificate(w.File(name))
	config := fmt.Sprintf(`
apiVersion: config.%s/%s
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:0"}
metrics: {bindAddress: "0"}
leaderElection: {leaderElect: false}
webhook: {host: 127.0.0.1, port: %s, certDir: %s}
internalCertManagement: {enable: false}
%s
`, group, map[string]string{"kueue": "v1beta2", "jobset": "v1alpha1"}[name], port, w.File(name), settings)
	if name == "kueue" {
		config += "manageJobsWithoutQueueName: false\nintegrations: {frameworks: [batch/job, pod, jobset.x-k8s.io/jobset]}\n"
	}
	w.must(os.WriteFile(w.File(name+".yaml"), []byte(config), 0o600))
	args := []string{"--config=" + w.File(name+".yaml")}
	if name == "kueue" {
		args = append(args, "--feature-gates=VisibilityOnDemand=false") // the API that lists pending workloads
	}
	// Kueue reads the certificate of its metrics from a fixed path in /etc, so it gets an /etc of its own.
	const inOwnEtc = `mkdir -p "$0/upper/kueue/metrics" "$0/work" && cp -r "$0" "/tmp/certs.$$" && mv "/tmp/certs.$$" "$0/upper/kueue/metrics/certs" &&
		mount -t overlay overlay -o "lowerdir=/etc,upperdir=$0/upper,workdir=$0/work" /etc && exec "$@"`
	args = append([]string{"-m", "sh", "-c", inOwnEtc, w.File(name), filepath.Join(*besideDir, "bin", name)}, args...)
	w.keep([]string{"KUBECONFIG=" + w.Kubeconfig}, name, "unshare", args...)
	w.must(w.kubectlApply(w.webhooks(name, "config/components/webhook/manifests.yaml", port, authority)))
	w.retry("the webhooks of "+name+" answer", func() error {
		_, err := w.api.CoreV1().Pods("default").Create(w.ctx, hollowcluster.Pod("default", "trial", "numalet-scheduler", "1", 0), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

// resourcesOf returns the number of resources of an API group that the API server lists.
func (w *world) resourcesOf(group string) int {
	w.Helper()
	_, lists, _ := w.api.Discovery().ServerGroupsAndResources() // the lists are complete except for groups with errors
	names := map[string]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			if strings.HasPrefix(list.GroupVersion, group+"/") && !strings.Contains(resource.Name, "/") {
				names[resource.Name] = true
			}
		}
	}
	return len(names)
}

// certificate writes a certificate for 127.0.0.1 and its key into a directory, and returns the
// certificate.
func (w *world) certificate(dir string) []byte {
	w.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	w.must(err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	w.must(os.MkdirAll(dir, 0o700))
	w.must(os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600))
	w.must(os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	return certificate
}

// service matches the address of a webhook in a manifest. The address is a Service of the cluster.
var service = regexp.MustCompile(`service:\n\s+name: webhook-service\n\s+namespace: system\n(\s+)path: (\S+)`)

// webhooks returns the webhook configurations of another project, with the address of its process
// instead of a Service. The parameter `file` is the path of the manifest in the source of the project.
func (w *world) webhooks(name, file, port string, authority []byte) string {
	w.Helper()
	manifest, err := os.ReadFile(filepath.Join(*besideDir, name, file))
	w.must(err)
	text := service.ReplaceAllString(string(manifest), "url: https://127.0.0.1:"+port+"$2\n    caBundle: "+base64.StdEncoding.EncodeToString(authority))
	return strings.NewReplacer("name: mutating-webhook-configuration", "name: "+name, "name: validating-webhook-configuration", "name: "+name).Replace(text)
}

// ownRoot makes a root directory for a program that reads files from fixed paths, and returns its
// path. The program is the file NAME in this directory. The directory also contains the file
// kubeconfig, which has the rights of a service account.
func (w *world) ownRoot(name, namespace, account string) string {
	w.Helper()
	root := w.File(name)
	w.must(os.MkdirAll(root, 0o700))
	config, err := w.Account(w.ctx, namespace, account)
	w.must(err)
	for from, to := range map[string]string{filepath.Join(*besideDir, "bin", name): name, config: "kubeconfig"} {
		content, err := os.ReadFile(from)
		w.must(err)
		w.must(os.WriteFile(filepath.Join(root, to), content, 0o700))
	}
	return root
}

// kubectlApply applies a manifest.
func (w *world) kubectlApply(text string) error {
	file := filepath.Join(w.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	_, err := w.Kubectl(w.ctx, "apply", "-f", file)
	return err
}

// retry calls the function given as `do` until it returns no error. If there is still an error
// after the time that the constant `patience` allows, it fails the test.
func (w *world) retry(what string, do func() error) {
	w.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		if err = do(); err == nil {
			return
		}
	}
	w.Fatalf("not within %v: %s: %v", patience, what, err)
}
