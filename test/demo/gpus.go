package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// withGPUs returns two pods. The first pod requests CPUs and GPUs. The second pod belongs to a
// tenant without permission for any GPU.
func withGPUs() []actor {
	of := func(tenant string, pod *corev1.Pod, gpus string) actor {
		pod.Labels = map[string]string{v1alpha1.LabelTenant: tenant}
		pod.Annotations[v1alpha1.AnnotationGPUGroup] = tenant
		pod.Spec.SchedulerName = "numalet-scheduler"
		pod.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"] = resource.MustParse(gpus) // also changes the requests, which are the same map
		return actor{0, pod}
	}
	return []actor{
		of("ben", e2eutil.Pod("learn", "single", e2eutil.Container{Name: "c", CPU: "4"}), "2"),
		of("eve", e2eutil.Pod("peek", "", e2eutil.Container{Name: "c", CPU: "100m"}), "1"),
	}
}

// plugIn installs the fake GPUs on the node, and prints what the agent reports about them.
func (d demo) plugIn(ctx context.Context, _ []actor) error {
	if err := d.Script(ctx, "test/e2e/gpu/install", "eight.layout"); err != nil {
		return err
	}
	fmt.Println("  $ kubectl exec -n numalet-system daemonset/numalet -c agent -- numalet topo")
	for {
		out, err := kubectl(ctx, "exec", "-n", "numalet-system", "daemonset/numalet", "-c", "agent", "--", "numalet", "topo")
		if err == nil && strings.Contains(out, "Fake") {
			fmt.Print(indent(out))
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the node reports its GPUs: %w: %w: %s", ctx.Err(), err, out)
		case <-time.After(time.Second):
		}
	}
}

// unplug removes the fake GPUs and their GPU groups.
func (d demo) unplug() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := d.Script(ctx, "test/e2e/gpu/groups", "delete")
	if err == nil {
		err = d.Script(ctx, "test/e2e/gpu/remove")
	}
	if err != nil {
		fmt.Println("clean up:", err)
	}
}

// group creates the GPU groups of test/e2e/gpu/groups.yaml.
func (d demo) group(ctx context.Context, _ []actor) error {
	if err := d.Script(ctx, "test/e2e/gpu/groups", "apply"); err != nil {
		return err
	}
	out, err := kubectl(ctx, "get", "gpugroups")
	fmt.Printf("  $ kubectl get gpugroups\n%s", indent(out))
	return err
}

// align creates the two pods of withGPUs. It prints the CPUs and GPUs that the container of the
// first pod sees, and the reason why the second pod waits.
func (d demo) align(ctx context.Context, actors []actor) error {
	for _, a := range actors {
		if _, err := d.Create(ctx, a.pod); err != nil {
			return err
		}
	}
	learn, err := d.Await(ctx, actors[0].pod.Name, e2eutil.Running)
	if err != nil {
		return err
	}
	fmt.Printf("  learn  of ben cpu 4, single, 2 GPUs   %s\n", learn.Annotations[v1alpha1.AnnotationPlacement])
	saw, err := kubectl(ctx, "exec", learn.Name, "--", "/probe", "see")
	if err != nil {
		return err
	}
	fmt.Printf("\n  $ kubectl exec %s -- /probe see\n%s", learn.Name, indent(saw))
	peek, err := d.Await(ctx, actors[1].pod.Name, func(pod *corev1.Pod) bool { return e2eutil.WaitsFor(pod) != "" })
	if err != nil {
		return err
	}
	fmt.Printf("\n  peek   of eve 1 GPU                   waits: %s\n", e2eutil.WaitsFor(peek))
	return nil
}
