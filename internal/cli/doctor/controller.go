package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// labelOfController is the label of the controller's Deployment and of its pods.
const labelOfController = "app.kubernetes.io/name=numalet-controller"

// controllers returns the Deployments of the controller, of which an installation has one or none.
func controllers(ctx context.Context, clients Clients) ([]appsv1.Deployment, error) {
	list, err := clients.Kube.AppsV1().Deployments(clients.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labelOfController})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// checkController checks that one replica of the controller is the leader. The leader's Lease stays
// when somebody uninstalls the controller. So a Lease that nobody renews is an error only if the
// Deployment of the controller exists.
func checkController(ctx context.Context, clients Clients) (Report, error) {
	leases, err := clients.Kube.CoordinationV1().Leases(clients.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=numalet-controller"})
	if err != nil {
		return nil, err
	}
	leader, problem := leads(leases.Items, clients.Now())
	if problem == "" {
		return Report{{Status: OK, Found: leader + " leads"}}, nil
	}
	installed, err := controllers(ctx, clients)
	if err != nil {
		return nil, err
	}
	if len(installed) == 0 {
		return Report{{Status: Info, Found: "no controller is installed", Why: "without the controller, kube-scheduler places pods, and there are no GPU groups, tenants and queues", Remedy: "set controller.enabled=true of the chart, or kubectl apply -k deploy/cluster, if you want them"}}, nil
	}
	return Report{{
		Status: Error, Found: fmt.Sprintf("%s; %d replicas of the controller are ready", problem, installed[0].Status.ReadyReplicas), Why: "no controller schedules pods",
		Remedy: fmt.Sprintf("kubectl -n %[1]s describe replicasets,pods -l %[2]s; kubectl -n %[1]s logs deployment/%[3]s", clients.Namespace, labelOfController, installed[0].Name),
	}}, nil
}

// leads returns the holder of the controller's Lease, or what is wrong with the Lease. The argument
// has at most one Lease.
func leads(leases []coordinationv1.Lease, now time.Time) (holder, problem string) {
	if len(leases) == 0 {
		return "", "there is no lease numalet-controller"
	}
	spec := leases[0].Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return "", "the lease numalet-controller has no holder"
	}
	if age := now.Sub(spec.RenewTime.Time).Round(time.Second); age > 2*time.Duration(*spec.LeaseDurationSeconds)*time.Second {
		return "", fmt.Sprintf("%s renewed the lease %s ago", *spec.HolderIdentity, age)
	}
	return *spec.HolderIdentity, ""
}

// queueAPI is the name of the APIService of the queue API, as in deploy/controller/queueapi.
const queueAPI = "v1alpha1.queue.numalet.dev"

// checkQueueAPI checks that the API server reaches the queue API, which the leading controller
// serves. If the queue API is not installed, the report is empty.
func checkQueueAPI(ctx context.Context, clients Clients) (Report, error) {
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	service, err := clients.Dynamic.Resource(services).Get(ctx, queueAPI, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	available, message := condition(service, "Available")
	if available == string(corev1.ConditionTrue) {
		return Report{{Status: OK, Found: "the API server reaches the queue API"}}, nil
	}
	return Report{{
		Object: queueAPI, Status: Error, Found: "the APIService is not available: " + message,
		Why:    "while it is not, Kubernetes cannot finish the deletion of any namespace, and numalet queue and numalet why do not work",
		Remedy: "let a controller lead, and let the API server connect to port 8127 of the controller's pods; or set queueAPI.enabled=false of the chart, or kubectl delete -k deploy/controller/queueapi",
	}}, nil
}

// condition returns the status and the message of the condition with the type `kind` of an object.
// If the object lacks this condition, the status is "", and the message says so.
func condition(object *unstructured.Unstructured, kind string) (status, message string) {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions") // if the object has no conditions, the list is empty
	i := slices.IndexFunc(list, func(c any) bool { m, _ := c.(map[string]any); return m["type"] == kind })
	if i < 0 {
		return "", "it has no condition " + kind
	}
	found := list[i].(map[string]any)
	return fmt.Sprint(found["status"]), fmt.Sprint(found["message"])
}
