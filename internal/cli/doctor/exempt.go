package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/platform/config"
)

// checkExempt lists the namespaces whose pods are exempt from Numalet's rules. There are two kinds
// of such namespaces. In the first, pods may use GPUs and exclusive CPUs without regard to the
// scheduling queue and the quotas. In the second, containers may see GPUs that were not allocated
// to them.
func checkExempt(ctx context.Context, clients Clients) (Report, error) {
	list, err := clients.Kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelEnforcement + "=" + v1alpha1.EnforcementAdvisory})
	if err != nil {
		return nil, err
	}
	seeing, err := seeGPUs(ctx, clients)
	if err != nil {
		return nil, err
	}
	var report Report
	for _, namespace := range list.Items {
		report = append(report, Finding{
			Object: namespace.Name, Status: Info, Found: "the label " + v1alpha1.LabelEnforcement + " is " + v1alpha1.EnforcementAdvisory,
			Why:    "its pods may use other schedulers, nodeName and claims for GPUs and exclusive CPUs, without regard to quotas and the order of the queue",
			Remedy: "kubectl label namespace " + namespace.Name + " " + v1alpha1.LabelEnforcement + "-, if nothing in it needs this",
		})
	}
	if len(seeing) == 0 {
		return append(report, Finding{Status: OK, Found: "containers without GPUs see none, in any namespace"}), nil
	}
	return append(report, Finding{
		Status: Info, Found: fmt.Sprintf("containers without GPUs see those that they name in %s", strings.Join(seeing, ", ")),
		Why: "gpu-exempt-namespaces has these, for monitoring", Remedy: "let tenants create no pods in them",
	}), nil
}

// seeGPUs returns the namespaces in which containers may see GPUs that were not allocated to them.
// It reads the setting gpu-exempt-namespaces from the ConfigMaps of the agents. If there is no such
// setting, it uses the default value. A flag or an environment variable of an agent can override the
// setting; seeGPUs does not read these.
func seeGPUs(ctx context.Context, clients Clients) (all config.Names, err error) {
	sets, err := clients.Kube.AppsV1().DaemonSets(clients.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labelOfAgents})
	if err != nil {
		return nil, err
	}
	for _, set := range sets.Items {
		names := config.DefaultGPUExemptNamespaces()
		for _, volume := range set.Spec.Template.Spec.Volumes {
			if volume.ConfigMap == nil {
				continue
			}
			settings, err := clients.Kube.CoreV1().ConfigMaps(clients.Namespace).Get(ctx, volume.ConfigMap.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			if own, set := exemptIn(settings); set {
				names = own
			}
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// exemptIn returns the setting gpu-exempt-namespaces in a ConfigMap, and whether the ConfigMap has
// this setting.
func exemptIn(settings *corev1.ConfigMap) (names config.Names, set bool) {
	var file struct {
		Names *string `json:"gpu-exempt-namespaces"`
	}
	if yaml.Unmarshal([]byte(settings.Data["config.yaml"]), &file) != nil || file.Names == nil {
		return nil, false
	}
	_ = names.UnmarshalText([]byte(*file.Names)) // never fails
	return names, true
}
