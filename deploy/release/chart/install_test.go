//go:build e2e

package chart

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/action"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

var rig = flag.String("rig", "../../../build/rig", "the rig's command")

var tenants = schema.GroupVersionResource{Group: "numalet.dev", Version: "v1alpha1", Resource: "tenants"}

// TestInstall installs, upgrades and uninstalls the chart on a real API server. Then it does so
// again, with another release name and namespace. It checks that a Tenant still exists after each
// uninstallation, and that other objects do not.
func TestInstall(t *testing.T) {
	kubeconfig := plane(t)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct {
		to     Target
		values string
	}{
		{Target{Release: "numalet", Namespace: "numalet-system"}, `gpu: {enabled: true}`},
		{Target{Release: "numa", Namespace: "platform"}, `
pools:
  - {name: cpu, nodeSelector: {pool: cpu}, gpu: false, settings: {reserved-cpus: 0-3}}
  - {name: gpu, nodeSelector: {pool: gpu}}
gpu: {enabled: true}
networkPolicy: {enabled: true}
priorityQuota: {enabled: true}
`},
	} {
		helm := new(action.Configuration)
		flags := genericclioptions.NewConfigFlags(false)
		flags.KubeConfig, flags.Namespace = &kubeconfig, &tc.to.Namespace
		if err := helm.Init(flags, tc.to.Namespace, "secrets", t.Logf); err != nil {
			t.Fatal(err)
		}
		install := action.NewInstall(helm)
		install.ReleaseName, install.Namespace, install.CreateNamespace = tc.to.Release, tc.to.Namespace, true
		install.TakeOwnership = i > 0 // the first uninstallation has left the CRDs, of which the second release takes ownership
		if _, err := install.Run(load(t), values(t, tc.values)); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			tenant := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "numalet.dev/v1alpha1", "kind": "Tenant", "metadata": map[string]any{"name": "ann"}}}
			await(t, "a Tenant is created", func() error {
				_, err := client.Resource(tenants).Create(t.Context(), tenant, metav1.CreateOptions{})
				return err
			})
		}
		upgrade := action.NewUpgrade(helm)
		upgrade.Namespace = tc.to.Namespace
		if _, err := upgrade.Run(tc.to.Release, load(t), values(t, tc.values+"\ncontroller: {replicas: 3}")); err != nil {
			t.Fatal(err)
		}
		if _, err := action.NewUninstall(helm).Run(tc.to.Release); err != nil {
			t.Fatal(err)
		}
		left, err := client.Resource(tenants).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(left.Items) != 1 {
			t.Errorf("after %s was uninstalled, %d Tenants are left, want 1: %v", tc.to.Release, len(left.Items), err)
		}
		if diff := cmp.Diff([]string(nil), remains(t, client, tc.to.Namespace)); diff != "" {
			t.Errorf("after %s was uninstalled (-want +got):\n%s", tc.to.Release, diff)
		}
	}
}

// remains returns the workloads and admission policies of Numalet that are left in a cluster.
func remains(t *testing.T, client dynamic.Interface, namespace string) (left []string) {
	t.Helper()
	for _, kind := range []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "daemonsets"}, {Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicybindings"},
	} {
		list, err := client.Resource(kind).List(t.Context(), metav1.ListOptions{})
		if apierrors.IsNotFound(err) { // before Kubernetes 1.36 there are no mutating policies
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			if o.GetNamespace() == "" || o.GetNamespace() == namespace {
				left = append(left, kind.Resource+" "+o.GetName())
			}
		}
	}
	return left
}

// plane starts a control plane without nodes, which runs until the test ends. It returns the path
// of its kubeconfig.
func plane(t *testing.T) string {
	t.Helper()
	name := fmt.Sprint("chart-", os.Getpid())
	said, err := exec.CommandContext(t.Context(), *rig, "plane", "up", name).Output()
	if err != nil {
		t.Fatalf("start a control plane: %v: %s", err, said)
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.Background(), *rig, "plane", "down", name).CombinedOutput(); err != nil {
			t.Errorf("stop the control plane: %v: %s", err, out)
		}
	})
	return regexp.MustCompile(`KUBECONFIG=(.+)\n`).FindStringSubmatch(string(said))[1]
}

// await calls the function given as `do` again and again until the function returns no error. If it
// still returns an error after 30 s, the test fails with a message that contains the text `what`.
func await(t *testing.T, what string, do func() error) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s: %v", what, err)
		}
	}
}
