package doctor

import (
	"context"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// checkPlugin looks for a device plugin that offers the same GPUs as Numalet's device plugin. The
// kubelet does not refuse a second plugin for the same resource. Without numalet-nvml, Numalet offers
// no GPUs, and the finding is only for information.
func checkPlugin(ctx context.Context, clients Clients) (Report, error) {
	sets, err := clients.Kube.AppsV1().DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(sets.Items, isPlugin)
	if i < 0 {
		return Report{{Status: OK, Found: "no DaemonSet runs NVIDIA's device plugin"}}, nil
	}
	f := Finding{
		Object: sets.Items[i].Namespace + "/" + sets.Items[i].Name, Status: Info, Found: "NVIDIA's device plugin runs, and numalet-nvml is not installed",
		Why: "NVIDIA's device plugin offers the GPUs, and Numalet does not", Remedy: "remove it before you set gpu.enabled=true of the chart, or apply deploy/gpu",
	}
	if slices.ContainsFunc(sets.Items, func(set appsv1.DaemonSet) bool { return set.Labels["app.kubernetes.io/name"] == "numalet-nvml" }) {
		f.Status, f.Found, f.Why = Warning, "NVIDIA's device plugin runs", "two plugins cannot offer nvidia.com/gpu on one node: the kubelet obeys the one that registered last"
		f.Remedy = "keep it off the nodes that Numalet's device plugin serves (deploy/gpu), with its nodeSelector"
	}
	return Report{f}, nil
}

// isPlugin reports whether a DaemonSet runs NVIDIA's device plugin, or that of Google Kubernetes
// Engine, nvidia-gpu-device-plugin. The image of AMD's device plugin is rocm/k8s-device-plugin.
func isPlugin(set appsv1.DaemonSet) bool {
	return set.Status.DesiredNumberScheduled > 0 && slices.ContainsFunc(set.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		return strings.Contains(c.Image, "nvidia-gpu-device-plugin") ||
			strings.Contains(c.Image, "k8s-device-plugin") && !strings.Contains(c.Image, "rocm/") && !slices.ContainsFunc(c.Command, isOtherProgram)
	})
}

// isOtherProgram reports whether a word of a container's command names one of the other programs in
// the image of NVIDIA's device plugin. These programs offer no GPUs to the kubelet.
func isOtherProgram(word string) bool {
	return slices.Contains([]string{"gpu-feature-discovery", "config-manager", "mps-control-daemon"}, path.Base(word))
}
