//go:build e2e

package controller

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// TestEveryPermissionIsNeeded withdraws all permissions of the controller except one, and starts
// the controller. The call of lacking.elsewhere names the exception, a permission that this test
// cannot check. Then the test makes the controller use all of its functions. For each missing
// permission, the test checks that a request fails because the permission is missing, and that the
// controller reports this in its log or in the condition of a GPUGroup. After that, the permission
// is granted again, and the controller has to work. If you add a rule to a role, add a step here
// that fails without the rule.
func TestEveryPermissionIsNeeded(t *testing.T) {
	w := newPlane(t, 2, hollowcluster.Shape{NUMA: 2, CPUs: 16, GPUs: 4, Model: "NVIDIA A100"})
	w.upstream()
	w.must(w.InstallQueue(w.ctx, repository))
	w.must(w.api.CoordinationV1().Leases("numalet-system").Delete(w.ctx, "numalet-controller", metav1.DeleteOptions{}))
	lacking := w.withdraw(rolesOf(t.Name()), manifests...)
	lacking.elsewhere(permission{"resource.k8s.io", "resourceclaims/binding", "patch"}, "checked by the API server if the claim that is given back is allocated still")
	lacking.logs(w.File("controller.log"))
	account, err := w.Account(w.ctx, "numalet-system", "numalet-controller")
	w.must(err)
	proxy, kubeconfig, err := w.Refusals(account, lacking.refused)
	w.must(err)
	t.Cleanup(proxy.Close)
	w.startController("--kubeconfig="+kubeconfig, "--metrics-secure=true", "--score-interval=1s",
		"--pod-ip=192.0.2.7", "--config="+profiles(t, "numalet-scheduler", "")) // with the default spread constraints, the controller must read Services, ReplicaSets and StatefulSets
	w.everything(proxy)
	lacking.check()
}

// The method `everything` makes the controller use each permission. The controller binds pods with
// volumes and ResourceClaims, reports why pods wait, handles Jobs, GPU groups and tenants, and
// answers a request for metrics.
func (w *world) everything(proxy *hollowcluster.Refusals) {
	w.Helper()
	proxy.Fail(http.MethodPut, "/resourceclaims/one", http.StatusConflict) // the controller then reads the claim again
	for _, pod := range []string{"own", "second"} {                        // the Binding fails, so the controller has to release the pod's ResourceClaims
		proxy.Fail(http.MethodPost, "/pods/"+pod+"/binding", http.StatusBadRequest)
	}
	for _, name := range []string{"claim", "claim-template", "device-freed", "volume-later", "volume-local", "volume-race"} {
		w.Run(name, func(t *testing.T) {
			sections, err := txtar.ParseFile("testdata/parity/" + name + ".txt")
			w.must(err)
			s := newStage(t, w, "numalet-scheduler")
			s.play(sections.Files[:len(sections.Files)-1])
			s.still()
		})
	}
	w.apply(provisioned)
	w.await("the claim has the node of its pod", func() bool {
		node, err := w.Kubectl(w.ctx, "get", "pvc", "provisioned", "-o", `jsonpath={.metadata.annotations.volume\.kubernetes\.io/selected-node}`)
		return err == nil && node != ""
	})
	w.apply("{apiVersion: numalet.dev/v1alpha1, kind: Tenant, metadata: {name: ann}}")
	w.apply(groupGuide(w.T))
	w.await("the group is accepted", func() bool { return w.condition("training") == "True Accepted" })
	w.gpuPod("first", "ann", "", 1)
	w.await("ann gets a GPU", func() bool { return w.given("first") != "" })
	w.create(ours("large", "99", v1alpha1.PolicySingle))
	w.await("its author hears why it waits", func() bool { return said(w.pod("large")) != "" })
	w.must(w.ServeQueue(w.ctx, w.controller))
	j := &jobs{w, w.objects()}
	foreign(j)
	gang(j)
	ttl(j)
	suspend(j)
	j.make("changed", `replicas: 2`)
	j.runs("changed-0", "changed-1")
	for _, kind := range []string{"service", "configmap"} {
		_, err := w.Kubectl(w.ctx, "label", "--overwrite", kind, "changed", v1alpha1.LabelJob+"=other")
		w.must(err)
		w.await("the "+kind+" is as it was", func() bool {
			label, err := w.Kubectl(w.ctx, "get", kind, "changed", "-o", `jsonpath={.metadata.labels.numalet\.dev/job}`)
			return err == nil && label == "changed"
		})
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	request, err := http.NewRequestWithContext(w.ctx, http.MethodGet, "https://"+w.controller.Metrics+"/metrics", nil)
	w.must(err)
	request.Header.Set("Authorization", "Bearer nobody")
	response, err := client.Do(request)
	w.must(err)
	response.Body.Close()
	if response.StatusCode == http.StatusOK {
		w.Error("anybody may read metrics")
	}
}

// provisioned has a pod and a PersistentVolumeClaim, for which a storage driver would create a volume
// once the pod has a node.
const provisioned = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: provisioned}
provisioner: example.com/disk
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: provisioned, namespace: default}
spec: {storageClassName: provisioned, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: provisioned, namespace: default}
spec:
  schedulerName: numalet-scheduler
  containers: [{name: main, image: none, volumeMounts: [{name: disk, mountPath: /disk}]}]
  volumes: [{name: disk, persistentVolumeClaim: {claimName: provisioned}}]
`

// The function `foreign` creates a Service and a ConfigMap, and then a job with the same name. The
// two objects are in the way of the Service and the ConfigMap that the controller has to create for
// the job.
func foreign(j *jobs) {
	for _, kind := range []string{"service", "configmap"} {
		args := []string{"create", kind, "foreign"}
		if kind == "service" {
			args = []string{"create", "service", "clusterip", "foreign", "--clusterip=None"}
		}
		_, err := j.Kubectl(j.ctx, args...)
		j.must(err)
	}
	j.make("foreign", `replicas: 2`)
	for _, kind := range []string{"service", "configmap"} {
		j.await("the "+kind+" is in the way", func() bool {
			return strings.Contains(strings.ToLower(j.get("foreign").Status.Message), kind+" foreign exists and does not belong to this job")
		})
		_, err := j.Kubectl(j.ctx, "delete", kind, "foreign")
		j.must(err)
	}
	j.runs("foreign-0", "foreign-1")
}
