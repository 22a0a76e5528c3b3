package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/api/v1alpha1"
)

// Clients has the clients with which the checks read a cluster.
type Clients struct {
	Kube      kubernetes.Interface
	Dynamic   dynamic.Interface
	Namespace string           // the namespace in which Numalet is installed; if empty, the function Cluster finds it
	Now       func() time.Time // the current time; the checks compute the age of the controller's Lease from it
}

// clusterCheck is one check of numalet doctor that reads objects from the API server. If the
// function `run` returns an error, the report has a finding with the status Unknown.
type clusterCheck struct {
	name string
	run  func(context.Context, Clients) (Report, error)
}

func clusterChecks() []clusterCheck {
	return []clusterCheck{
		{"kubernetes-version", checkVersion},
		{"custom-resources", checkResources},
		{"admission-policies", checkPolicies},
		{"agent", checkAgent},
		{"controller", checkController},
		{"queue-api", checkQueueAPI},
		{"nodes", checkNodes},
		{"node-labels", checkLabels},
		{"nvidia-plugin", checkPlugin},
		{"exempt-namespaces", checkExempt},
	}
}

// Cluster makes all checks of a cluster and returns their findings.
func Cluster(ctx context.Context, clients Clients) Report {
	if _, err := clients.Kube.Discovery().ServerVersion(); err != nil && !isAnswer(err) { // each check would wait for its own timeout
		return Report{{Check: "api-server", Status: Unknown, Found: err.Error(), Why: "the API server does not answer, so no check could be made", Remedy: "check the kubeconfig and the connection, and try again"}}
	}
	if clients.Namespace == "" {
		clients.Namespace = findNamespace(ctx, clients.Kube)
	}
	var report Report
	for _, check := range clusterChecks() {
		findings, err := check.run(ctx, clients)
		if err != nil {
			findings = Report{{Status: Unknown, Found: err.Error(), Why: "the check could not be made", Remedy: "use a kubeconfig that may read this, or try again"}}
		}
		for _, finding := range findings {
			finding.Check = check.name
			report = append(report, finding)
		}
	}
	return report
}

// isAnswer reports whether an error is an answer of the API server.
func isAnswer(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer)
}

// labelOfAgents is the label of the agents' DaemonSets and of their pods.
const labelOfAgents = "app.kubernetes.io/name=numalet"

// findNamespace returns the namespace that has the DaemonSets of the agents. If none has them, or
// the user may not list DaemonSets, it returns numalet-system, and the checks report what is missing.
func findNamespace(ctx context.Context, client kubernetes.Interface) string {
	sets, err := client.AppsV1().DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: labelOfAgents})
	if err != nil || len(sets.Items) == 0 {
		return "numalet-system"
	}
	return sets.Items[0].Namespace
}

// install is the remedy if the cluster has no DaemonSet of the agents.
const install = "install the chart with helm, or kubectl apply -k deploy/cluster"

func checkVersion(_ context.Context, clients Clients) (Report, error) {
	info, err := clients.Kube.Discovery().ServerVersion()
	if err != nil {
		return nil, err
	}
	v, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return nil, err
	}
	switch {
	case v.LessThan(version.MajorMinor(1, 34)):
		return Report{{Status: Error, Found: info.GitVersion, Why: "the controller needs resource.k8s.io/v1, which came with 1.34; older API servers leave it waiting", Remedy: "upgrade to Kubernetes 1.34 or later, or install deploy/daemonset alone"}}, nil
	case v.LessThan(version.MajorMinor(1, 36)):
		return Report{{Status: Warning, Found: info.GitVersion, Why: "pods are not completed: MutatingAdmissionPolicy v1 came with 1.36", Remedy: "write the nodeSelector or schedulerName in pods yourself; the policies of deploy/before-1.36, and the chart, refuse pods without them"}}, nil
	}
	return Report{{Status: OK, Found: info.GitVersion}}, nil
}

func checkResources(_ context.Context, clients Clients) (Report, error) {
	group := v1alpha1.NodeTopologyResource().GroupVersion().String()
	list, err := clients.Kube.Discovery().ServerResourcesForGroupVersion(group)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	var missing []string
	for _, want := range []string{"gpugroups", "jobs", "nodetopologies", "tenants"} {
		if err != nil || !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == want }) {
			missing = append(missing, want)
		}
	}
	if len(missing) == 0 {
		return Report{{Status: OK, Found: "all resources of " + group + " are installed"}}, nil
	}
	return Report{{Status: Error, Found: fmt.Sprintf("%s lacks %s", group, strings.Join(missing, ", ")), Why: "agents cannot report their nodes, and the controller does not start", Remedy: "helm upgrade the chart, or kubectl apply -k deploy/crds"}}, nil
}

// policies returns, in alphabetical order, the names of the validating admission policies in
// deploy/admission. Every cluster with Numalet must have these policies.
func policies() []string {
	return []string{
		"numalet-bindings", "numalet-changes", "numalet-controller-jobs", "numalet-controller-objects", "numalet-controller-status",
		"numalet-controller-volumes", "numalet-cpu-requests", "numalet-group-author", "numalet-group-deletion", "numalet-jobs",
		"numalet-mirror-pods", "numalet-own-lease", "numalet-own-node", "numalet-own-node-status", "numalet-own-pods",
		"numalet-own-topology", "numalet-tenant-use", "numalet-tenants", "numalet-tolerance",
	}
}

// checkPolicies checks that each policy exists, and that a binding makes it refuse requests. All names
// may have a prefix and a suffix, which an overlay of kustomize adds.
func checkPolicies(ctx context.Context, clients Clients) (Report, error) {
	api := clients.Kube.AdmissionregistrationV1()
	list, err := api.ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	bindings, err := api.ValidatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	denies := map[string]bool{}
	for _, b := range bindings.Items {
		denies[b.Spec.PolicyName] = denies[b.Spec.PolicyName] || slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
	}
	prefix, suffix := affixes(list.Items)
	var missing, idle []string
	for _, name := range policies() {
		switch full := prefix + name + suffix; {
		case !slices.ContainsFunc(list.Items, policyNamed(full)):
			missing = append(missing, full)
		case !denies[full]:
			idle = append(idle, full)
		}
	}
	if len(missing)+len(idle) == 0 {
		return Report{{Status: OK, Found: fmt.Sprintf("%d admission policies are installed", len(policies()))}}, nil
	}
	var found []string
	if len(missing) > 0 {
		found = append(found, "missing: "+strings.Join(missing, ", "))
	}
	if len(idle) > 0 {
		found = append(found, "without a binding with the action Deny: "+strings.Join(idle, ", "))
	}
	return Report{{Status: Error, Found: strings.Join(found, "; "), Why: "pods may forge placements, and invalid requests are refused only on the node", Remedy: "helm upgrade the chart, or kubectl apply -k deploy/admission"}}, nil
}

// affixes returns the prefix and the suffix that the names of the policies have, from the name of one of
// them.
func affixes(installed []admissionv1.ValidatingAdmissionPolicy) (prefix, suffix string) {
	for _, p := range installed {
		if prefix, suffix, ok := strings.Cut(p.Name, "numalet-tolerance"); ok {
			return prefix, suffix
		}
	}
	return "", ""
}

func policyNamed(name string) func(admissionv1.ValidatingAdmissionPolicy) bool {
	return func(p admissionv1.ValidatingAdmissionPolicy) bool { return p.Name == name }
}
