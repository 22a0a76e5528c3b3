//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/e2e/e2eutil"
)

const (
	system     = "numalet-system"
	deployment = "deployment/numalet-controller"
	replicas   = "app.kubernetes.io/name=numalet-controller"
)

// TestTakeOver checks that exactly one replica of the controller is the leader. After this replica
// is deleted, another replica schedules pods and knows which CPUs are already assigned.
func TestTakeOver(t *testing.T) {
	ctx := start(t, 6*time.Minute, "held", "fits", "too-many")
	must(t, awaitLeader(ctx, ""))
	first := leaders(ctx, t)
	place(ctx, t, e2eutil.Pod("held", "random", e2eutil.Container{Name: "c", CPU: "12"}))
	must(t, cluster.API.CoreV1().Pods(system).Delete(ctx, first[0], metav1.DeleteOptions{}))
	must(t, awaitLeader(ctx, first[0]))
	checkTwoLeft(ctx, t)
}

// TestControllersKilled kills all replicas of the controller, and the agent. It checks that the
// restarted programs assign no CPU that a container already has.
func TestControllersKilled(t *testing.T) {
	ctx := start(t, 8*time.Minute, "held", "fits")
	place(ctx, t, e2eutil.Pod("held", "spread", e2eutil.Container{Name: "c", CPU: "8"}))
	four := e2eutil.Pod("fits", "single", e2eutil.Container{Name: "c", CPU: "4"})
	killNow(ctx, t, "numalet-controller")
	killNow(ctx, t, "numalet-agent")
	_, err := cluster.Create(ctx, four) // no NUMA node has 4 free CPUs
	must(t, err)
	must(t, cluster.AwaitEvent(ctx, "fits", "FailedScheduling", "no NUMA node with enough exclusive CPUs"))
	must(t, cluster.Delete(ctx, "held"))
	pod, err := cluster.Await(ctx, "fits", e2eutil.Running)
	must(t, err)
	checkPromised(t, pod, "c", born(ctx, t, "fits", "c"))
	checkLives(ctx, t)
}

// checkTwoLeft checks a node with 12 of 14 CPUs in use: a pod with one CPU starts, and then a pod
// with two CPUs does not fit.
func checkTwoLeft(ctx context.Context, t *testing.T) {
	t.Helper()
	place(ctx, t, e2eutil.Pod("fits", "random", e2eutil.Container{Name: "c", CPU: "1"}))
	_, err := cluster.Create(ctx, e2eutil.Pod("too-many", "random", e2eutil.Container{Name: "c", CPU: "2"}))
	must(t, err)
	must(t, cluster.AwaitEvent(ctx, "too-many", "FailedScheduling", "1 Insufficient"))
	checkLives(ctx, t)
}

// awaitLeader waits until exactly one replica is the leader, and its name is not the given one.
func awaitLeader(ctx context.Context, not string) error {
	for {
		found, err := find(ctx)
		if err == nil && len(found) == 1 && found[0] != not {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%v lead, want one other than %q: %w (%w)", found, not, ctx.Err(), err)
		case <-time.After(time.Second):
		}
	}
}

func leaders(ctx context.Context, t *testing.T) []string {
	t.Helper()
	found, err := find(ctx)
	must(t, err)
	return found
}

// find returns the names of the replicas that are leaders, according to their metrics. Normally
// there is exactly one leader.
func find(ctx context.Context) (leaders []string, err error) {
	pods, err := controllers(ctx)
	for _, pod := range pods {
		counted, err := countedBy(ctx, pod)
		if err != nil {
			return nil, err
		}
		if counted["numalet_scheduler_leader"] == 1 {
			leaders = append(leaders, pod.Name)
		}
	}
	return leaders, err
}

// controllers returns the replicas of the controller that run and are not terminating.
func controllers(ctx context.Context) (run []corev1.Pod, err error) {
	list, err := cluster.API.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: replicas})
	if err != nil {
		return nil, err
	}
	for _, pod := range list.Items {
		if e2eutil.Running(&pod) && pod.DeletionTimestamp == nil {
			run = append(run, pod)
		}
	}
	return run, nil
}

// countedBy returns the metrics of a replica. It reads them on the node, because the test itself
// cannot reach pods.
func countedBy(ctx context.Context, pod corev1.Pod) (e2eutil.Series, error) {
	token, err := scraper(ctx)
	if err != nil {
		return nil, err
	}
	page, err := cluster.Shell(ctx, "/usr/local/bin/probe metrics "+pod.Status.PodIP+":8443 "+token)
	if err != nil {
		return nil, err
	}
	return e2eutil.ParseSeries(page)
}

// scraper returns a token of an account that may read the controller's metrics.
func scraper(ctx context.Context) (string, error) {
	return tokenOf(ctx, "e2e-scraper", "numalet-metrics-reader")
}

// tokenOf returns a token of a service account. It creates the account if there is none, and binds a
// ClusterRole to it unless the role is "". An administrator would do the same for Prometheus.
func tokenOf(ctx context.Context, name, role string) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := cluster.API.CoreV1().ServiceAccounts(system).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", err
	}
	if role != "" {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: system}},
		}
		if _, err := cluster.API.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return "", err
		}
	}
	made, err := cluster.API.CoreV1().ServiceAccounts(system).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return made.Status.Token, nil
}

// countedByLeader returns the metrics of the leader.
func countedByLeader(ctx context.Context, t *testing.T) e2eutil.Series {
	t.Helper()
	must(t, awaitLeader(ctx, ""))
	name := leaders(ctx, t)[0]
	pod, err := cluster.API.CoreV1().Pods(system).Get(ctx, name, metav1.GetOptions{})
	must(t, err)
	counted, err := countedBy(ctx, *pod)
	must(t, err)
	return counted
}

// scaleControllers sets the number of replicas of the controller, which may be 0. It waits until n
// replicas run. If n is 0, it waits until all replicas have ended.
func scaleControllers(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	numalet(ctx, t, "scale", deployment, fmt.Sprintf("--replicas=%d", n))
	if n > 0 {
		numalet(ctx, t, "rollout", "status", deployment, "--timeout=4m")
		return
	}
	numalet(ctx, t, "wait", "pods", "-l", replicas, "--for", "delete", "--timeout=2m")
}
