package doctor

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/numalet/numalet/api/v1alpha1"
)

func checkAgent(ctx context.Context, clients Clients) (Report, error) {
	sets, err := clients.Kube.AppsV1().DaemonSets(clients.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labelOfAgents})
	if err != nil {
		return nil, err
	}
	if len(sets.Items) == 0 {
		return Report{{Status: Error, Found: "no DaemonSet of Numalet in namespace " + clients.Namespace, Why: "no node pins containers", Remedy: install}}, nil
	}
	var report Report
	for _, set := range sets.Items {
		report = append(report, agentFinding(set))
	}
	return report, nil
}

// agentFinding says whether the pods of a DaemonSet are ready. If pods were not created, the events
// of the DaemonSet have the reason. If pods were created but are not ready, the events of the pods
// have the reason.
func agentFinding(set appsv1.DaemonSet) Finding {
	want, created, ready := set.Status.DesiredNumberScheduled, set.Status.CurrentNumberScheduled, set.Status.NumberReady
	f := Finding{Object: set.Name, Status: OK, Found: fmt.Sprintf("%d of %d pods are ready", ready, want)}
	const why = "nodes whose agent is not ready get no pods with exclusive CPUs"
	switch {
	case want == 0:
		f.Status, f.Found, f.Why = Info, "no node matches the nodeSelector", "no node of this pool pins containers, unless nodes join it later"
	case created < want && ready < want:
		f.Status, f.Found, f.Why = Error, fmt.Sprintf("%d of %d pods were created", created, want), why+"; Pod Security admission or a quota may refuse the pods"
		f.Remedy = fmt.Sprintf("kubectl -n %s describe daemonset %s", set.Namespace, set.Name)
	case ready < want:
		f.Status, f.Why, f.Remedy = Error, why, fmt.Sprintf("kubectl -n %s describe pods -l %s", set.Namespace, labelOfAgents)
	}
	return f
}

func checkNodes(ctx context.Context, clients Clients) (Report, error) {
	list, err := clients.Dynamic.Resource(v1alpha1.NodeTopologyResource()).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || err == nil && len(list.Items) == 0 { // the check `custom-resources` reports that the resource does not exist
		return noNodes(ctx, clients)
	}
	if err != nil {
		return nil, err
	}
	var report Report
	ready := 0
	for _, item := range list.Items {
		var t v1alpha1.NodeTopology
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &t); err != nil {
			return nil, fmt.Errorf("read NodeTopology %s: %w", item.GetName(), err)
		}
		if meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionReady) {
			ready++
		}
		report = append(report, nodeFindings(t)...)
	}
	summary := Finding{Status: OK, Found: fmt.Sprintf("%d of %d nodes with an agent serve exclusive CPUs", ready, len(list.Items))}
	return append(Report{summary}, report...), nil
}

// noNodes returns the finding for a cluster without NodeTopologies. Agents publish them only if the
// controller is installed.
func noNodes(ctx context.Context, clients Clients) (Report, error) {
	replicas, err := controllers(ctx, clients)
	if err != nil {
		return nil, err
	}
	if len(replicas) == 0 {
		return Report{{Status: OK, Found: "without the controller, agents do not report their nodes"}}, nil
	}
	return Report{{
		Status: Warning, Found: "0 of 0 nodes with an agent serve exclusive CPUs", Why: "no agent has reported its node yet",
		Remedy: fmt.Sprintf("kubectl -n %s logs -l %s -c agent", clients.Namespace, labelOfAgents),
	}}, nil
}

// nodeFindings returns a finding for each condition of a NodeTopology that is not true. On a node
// without problems, all conditions are true.
func nodeFindings(t v1alpha1.NodeTopology) (report Report) {
	for _, condition := range t.Status.Conditions {
		if condition.Status == metav1.ConditionTrue {
			continue
		}
		f := Finding{Object: t.Name, Status: Warning, Found: condition.Type + ": " + condition.Reason, Why: condition.Message, Remedy: "on the node: numalet doctor --node"}
		switch condition.Type {
		case v1alpha1.ConditionReady:
			f.Status = Error
		case v1alpha1.ConditionCPUsUndisturbed:
			f.Remedy = "on the node: numalet noise"
		case v1alpha1.ConditionGPUsHealthy:
			f.Remedy = "kubectl get nodetopologies -o yaml"
		}
		report = append(report, f)
	}
	return report
}

// checkLabels finds nodes that have the label numalet.dev/exclusive-cpus=true, but no agent. The
// agent sets this label. If the DaemonSets no longer select a node, the agent ends and the label
// stays.
func checkLabels(ctx context.Context, clients Clients) (Report, error) {
	nodes, err := clients.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelExclusiveCPUs + "=true"})
	if err != nil {
		return nil, err
	}
	pods, err := clients.Kube.CoreV1().Pods(clients.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labelOfAgents})
	if err != nil {
		return nil, err
	}
	hasAgent := map[string]bool{}
	for _, pod := range pods.Items {
		hasAgent[pod.Spec.NodeName] = true
	}
	var report Report
	for _, node := range nodes.Items {
		if !hasAgent[node.Name] {
			report = append(report, Finding{
				Object: node.Name, Status: Error, Found: "the node has the label " + v1alpha1.LabelExclusiveCPUs + ", but no pod of the agent",
				Why:    "kube-scheduler places pods with exclusive CPUs on it, and nothing pins them; if its containerd requires the agent, no container starts",
				Remedy: "let the nodeSelector of a pool select the node, or remove the label: kubectl label node " + node.Name + " " + v1alpha1.LabelExclusiveCPUs + "-",
			})
		}
	}
	if len(report) == 0 {
		report = Report{{Status: OK, Found: fmt.Sprintf("%d nodes have the label %s, and an agent", len(nodes.Items), v1alpha1.LabelExclusiveCPUs)}}
	}
	return report, nil
}
