// Command kubeone is a Kubernetes node and control plane in one binary, so that
// the large packages that these programs share are linked once:
//
//	kubeone etcd|kube-apiserver|kube-scheduler|kube-controller-manager|kubelet FLAGS...
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	components := map[string]func() *cobra.Command{
		"etcd":                    newEtcdCommand,
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": kcm.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	}
	if len(os.Args) < 2 || components[os.Args[1]] == nil {
		names := strings.Join(slices.Sorted(maps.Keys(components)), "|")
		fmt.Fprintf(os.Stderr, "usage: kubeone %s FLAGS...\n", names)
		os.Exit(2)
	}
	newCommand := components[os.Args[1]]
	os.Args = os.Args[1:]
	os.Exit(cli.Run(newCommand()))
}
