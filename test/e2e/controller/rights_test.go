//go:build e2e

package controller

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// unseen lists the permissions that TestEveryPermissionIsUsed does not exercise, and what needs
// them.
func unseen() map[hollowcluster.Permission]string {
	return map[hollowcluster.Permission]string{
		{Group: "", Resource: "pods", Verb: "get"}:                                     "after a Binding without an answer",
		{Group: "", Resource: "services", Verb: "get"}:                                 "if another object has the name of one of a Job",
		{Group: "", Resource: "configmaps", Verb: "get"}:                               "the same",
		{Group: "resource.k8s.io", Resource: "resourceclaims", Verb: "get"}:            "after a conflict",
		{Group: "resource.k8s.io", Resource: "resourceclaims/status", Verb: "patch"}:   "if a pod's claim is given back",
		{Group: "resource.k8s.io", Resource: "resourceclaims/binding", Verb: "patch"}:  "checked by the API server at updates of the status",
		{Group: "resource.k8s.io", Resource: "resourceclaims/binding", Verb: "update"}: "the same",
		{Group: "resource.k8s.io", Resource: "devicetaintrules", Verb: "watch"}:        "with a feature gate of 1.36",
		{Group: "numalet.dev", Resource: "placements", Verb: "create"}:                 "checked by deploy/admission/changes.yaml",
		{Group: "numalet.dev", Resource: "jobs/finalizers", Verb: "update"}:            "checked by the plugin OwnerReferencesPermissionEnforcement",
		{Group: "events.k8s.io", Resource: "events", Verb: "patch"}:                    "for an event that repeats",
		{Group: "coordination.k8s.io", Resource: "leases", Verb: "create"}:             "this test creates the lease",
	}
}

// TestEveryPermissionIsUsed lets the controller do everything that it does, and checks that
// it uses each permission of its role, by group, resource and verb: without one of them, the
// API server would refuse a request. If you add a rule to the role, add a step here that uses it.
func TestEveryPermissionIsUsed(t *testing.T) {
	w := newPlane(t, 2, hollowcluster.Shape{NUMA: 2, CPUs: 16, GPUs: 4, Model: "NVIDIA A100"})
	w.upstream()
	record, kubeconfig, err := w.Record(w.ctx, "numalet-system", "numalet-controller")
	w.must(err)
	t.Cleanup(record.Close)
	w.controller, err = w.StartController(w.ctx, "controller", *program, "--kubeconfig="+kubeconfig, "--metrics-secure=true", "--score-interval=1s", "-v=2",
		"--config="+profiles(t, "numalet-scheduler", "")) // default constraints read services and sets
	w.must(err)
	t.Cleanup(func() { _ = w.controller.Stop(10 * time.Second); w.show(w.controller.Log) })
	w.must(w.controller.AwaitReady(w.ctx))
	w.everything()
	reasons := unseen()
	for _, p := range granted(t) {
		_, excused := reasons[p]
		used := record.Used(p)
		if p.Verb == "list" { // with older API servers, which do not list by a watch
			p.Verb = "watch"
			_, excused = reasons[p]
			used = record.Used(p)
			p.Verb = "list"
		}
		switch {
		case !used && !excused:
			t.Errorf("nothing uses the permission to %s %s of the API group %q; remove it from deploy/controller/rbac.yaml", p.Verb, p.Resource, p.Group)
		case used && excused:
			t.Errorf("%v is used, and in the list of those that are not", p)
		}
		delete(reasons, p)
	}
	for p := range reasons {
		t.Errorf("%v is in the list, and not in the role", p)
	}
}

// everything makes the controller bind pods with volumes and claims, report others, run
// Jobs, groups and tenants, and answer a request for metrics.
func (w *world) everything() {
	w.Helper()
	for _, name := range []string{"volume-later", "volume-local", "volume-race", "claim", "claim-template", "device-freed"} {
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
	j := &jobs{w, w.objects()}
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

// provisioned is a pod with a volume that a driver provisions on the pod's node.
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

// granted returns the permissions of the controller's roles, as the manifest has them.
func granted(t *testing.T) (all []hollowcluster.Permission) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, "deploy/controller/rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.Unmarshal(document, &role); err != nil {
			t.Fatal(err)
		}
		if role.Name != "numalet-controller" {
			continue
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						all = append(all, hollowcluster.Permission{Group: group, Resource: resource, Verb: verb})
					}
				}
			}
		}
	}
	return all
}
