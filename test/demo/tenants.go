package main

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// tenants returns the pods of two tenants in the order of their creation. The node has room for one
// of these pods at a time.
func tenants() []actor {
	of := func(tenant, name string) actor {
		pod := e2eutil.Pod(name, "spread", e2eutil.Container{Name: "c", CPU: "8"})
		pod.Labels = map[string]string{v1alpha1.LabelTenant: tenant}
		return actor{'A', pod}
	}
	return []actor{of("ann", "train"), of("ann", "tune"), of("ben", "infer")}
}

// fill creates the pods that the function `tenants` returns, and waits until the first one runs.
// The other pods wait for the CPUs of the first.
func (d demo) fill(ctx context.Context, actors []actor) error {
	for i, a := range actors {
		pod, err := d.Create(ctx, a.pod)
		if err != nil {
			return err
		}
		state := "waits"
		if i == 0 {
			state = "runs"
			if _, err := d.Await(ctx, pod.Name, e2eutil.Running); err != nil {
				return err
			}
		}
		fmt.Printf("  %-6s of %s %-14s %s\n", pod.Name, pod.Labels[v1alpha1.LabelTenant], requestOf(a), state)
	}
	return nil
}

// explain prints the output of `numalet queue`, and that of `numalet why` for one waiting pod.
func (d demo) explain(ctx context.Context, actors []actor) error {
	stop, err := d.forward(ctx)
	if err != nil {
		return err
	}
	defer stop()
	waiting := actors[1:]
	queue, err := d.awaitQueue(ctx, len(waiting))
	if err != nil {
		return err
	}
	fmt.Printf("  $ numalet queue\n%s", indent(queue))
	last := waiting[0].pod.Name
	why, err := d.numalet(ctx, "why", "-n", d.Namespace, last)
	fmt.Printf("\n  $ numalet why %s\n%s", last, indent(why))
	return err
}

// takeTurns deletes the running pod and waits until the next pod runs. It repeats this until no pod
// waits.
func (d demo) takeTurns(ctx context.Context, actors []actor) error {
	train, tune, infer := actors[0].pod.Name, actors[1].pod.Name, actors[2].pod.Name
	for _, turn := range []struct{ ends, next string }{{train, infer}, {infer, tune}} {
		fmt.Println("  $ kubectl delete pod", turn.ends)
		if err := d.Delete(ctx, turn.ends); err != nil {
			return err
		}
		if _, err := d.Await(ctx, turn.next, e2eutil.Running); err != nil {
			return err
		}
		if err := d.showWho(ctx, actors); err != nil {
			return err
		}
	}
	return nil
}

// showWho prints the pods that still exist, and whether each of them runs or waits.
func (d demo) showWho(ctx context.Context, actors []actor) error {
	for _, a := range actors {
		pod, err := d.API.CoreV1().Pods(d.Namespace).Get(ctx, a.pod.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		state := "waits"
		if e2eutil.Running(pod) {
			state = "runs"
		}
		fmt.Printf("  %-6s of %s %s\n", pod.Name, pod.Labels[v1alpha1.LabelTenant], state)
	}
	return nil
}

// forward registers the queue API, which `numalet queue` and `numalet why` call. The API server
// passes requests for this API to the controller that is the leader. In the test cluster, the API
// server runs on the host, and can reach pods only through forwarded ports. So forward starts a
// port forwarding to the leader. The returned function ends the port forwarding, and removes the
// registration of the queue API.
func (d demo) forward(ctx context.Context) (stop func(), err error) {
	const queueAPI = "deploy/controller/queueapi"
	if _, err := kubectl(ctx, "apply", "-k", queueAPI); err != nil {
		return nil, err
	}
	lease, err := kubectl(ctx, "-n", "numalet-system", "get", "lease", "numalet-controller", "-o", "jsonpath={.spec.holderIdentity}")
	if err != nil {
		return nil, err
	}
	leader, _, _ := strings.Cut(lease, "_")
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "kubectl", "-n", "numalet-system", "port-forward", leader, "8127")
	stop = func() {
		cancel()
		_ = cmd.Wait()
		_, _ = kubectl(context.WithoutCancel(ctx), "delete", "-k", queueAPI)
	}
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(said).ReadString('\n')
	}
	for _, args := range [][]string{
		{"-n", "numalet-system", "patch", "service", "numalet-queue", "--type=merge", "-p", `{"spec": {"type": "ExternalName", "externalName": "localhost"}}`},
		{"patch", "apiservice", "v1alpha1.queue.numalet.dev", "--type=merge", "-p", `{"spec": {"service": {"port": 8127}}}`},
		{"wait", "--for=condition=Available", "apiservice/v1alpha1.queue.numalet.dev", "--timeout=60s"},
	} {
		if err == nil {
			_, err = kubectl(ctx, args...)
		}
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("serve the queue API: %w", err)
	}
	return stop, nil
}

// awaitQueue waits until n pods are in the queue, and returns the output of `numalet queue`.
func (d demo) awaitQueue(ctx context.Context, n int) (string, error) {
	for {
		queue, err := d.numalet(ctx, "queue", "--all-namespaces")
		if err != nil || strings.Count(queue, "\n") == n+1 {
			return queue, err
		}
		select {
		case <-ctx.Done():
			return queue, fmt.Errorf("want %d pods that wait, not\n%s", n, queue)
		case <-time.After(time.Second):
		}
	}
}
