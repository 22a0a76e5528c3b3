package controller

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s.io/utils/ptr"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/apisim"
)

const (
	simNodes   = 6
	simCPUs    = 6 // exclusive CPUs of each NUMA node; a node also has CPU 0, which is reserved
	simGPUs    = 4 // of each node
	maxWaiting = 14
	maxPods    = 90 // the largest number of pods at a time, pending and bound
)

// populate creates the Namespace and the nodes of the simulated cluster.
func (e *epoch) populate() {
	e.server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	for i := range simNodes {
		node, t := newNode(fmt.Sprintf("n%d", i), simCPUs, withGPUs(simGPUs), nearGPUs)
		node.UID, t.UID = types.UID("uid-"+node.Name), types.UID("uid-t-"+node.Name)
		e.audit.addNode(node, t)
		e.server.Create(node)
		e.server.Create(t)
	}
}

// nearGPUs puts half of a node's GPUs near each NUMA node.
func nearGPUs(_ *corev1.Node, topology *v1alpha1.NodeTopology) {
	for i := range topology.Status.GPUs {
		topology.Status.GPUs[i].NUMA = ptr.To(int32(2 * i / simGPUs))
	}
}

// chance returns true with probability p.
func (e *epoch) chance(p float64) bool { return e.rand.Float64() < p }

// arrive creates a pod or a gang. It does nothing if too many pods are pending, or if too many pods
// exist.
func (e *epoch) arrive() {
	pods := apisim.List[*corev1.Pod](e.server)
	waiting := 0
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			waiting++
		}
	}
	if waiting >= maxWaiting || len(pods) >= maxPods {
		return
	}
	e.made++
	if !e.chance(.1) {
		e.server.Create(e.newPod(fmt.Sprintf("p%d", e.made)))
		return
	}
	size := 2 + e.rand.IntN(3)
	for i := range size {
		pod := e.newPod(fmt.Sprintf("g%d-%d", e.made, i))
		pod.Labels = map[string]string{v1alpha1.LabelGang: fmt.Sprintf("g%d", e.made)}
		pod.Annotations[v1alpha1.AnnotationGangMinAvailable] = strconv.Itoa(size)
		e.server.Create(pod)
	}
}

// newPod returns a pod with random requests: with or without exclusive CPUs, and with or without
// GPUs.
func (e *epoch) newPod(name string) *corev1.Pod {
	cpu, policy := []string{"500m", "1500m", "3", "5"}[e.rand.IntN(4)], ""
	if e.chance(.5) {
		policy = []string{"single", "spread", "random"}[e.rand.IntN(3)]
		cpu = []string{"1", "2", "4", "6"}[e.rand.IntN(4)]
	}
	pod := pendingPod(name, cpu, policy)
	e.uids++
	pod.UID = types.UID(fmt.Sprintf("%s-%d", name, e.uids))
	pod.CreationTimestamp = metav1.NewTime(time.Now())
	pod.Generation = 1
	if e.chance(.3) {
		of, most := &pod.Spec.Containers[0].Resources, simGPUs
		if policy == "single" {
			most /= 2 // with the policy "single", all GPUs of the pod must be near one NUMA node, and each NUMA node has only half of the node's GPUs
		}
		of.Limits["nvidia.com/gpu"] = *resource.NewQuantity(int64(1+e.rand.IntN(most)), "")
		of.Requests = of.Limits
	}
	return pod
}

// live simulates what kubelets and users do. For each pod, it simulates one random step. Pods
// start, end and are deleted, and some are created again with their old names. The pods of a gang
// end only after all of them are bound.
func (e *epoch) live() {
	pods := apisim.List[*corev1.Pod](e.server)
	unbound := map[string]bool{} // gangs with a pod that is not bound
	for _, pod := range pods {
		if gang := pod.Labels[v1alpha1.LabelGang]; pod.Spec.NodeName == "" {
			unbound[gang] = true
		}
	}
	for _, pod := range pods {
		gang := pod.Labels[v1alpha1.LabelGang]
		waits := gang != "" && unbound[gang]
		switch bound := pod.Spec.NodeName != ""; {
		case pod.DeletionTimestamp != nil, v1alpha1.Ended(pod) && !waits && e.chance(.5):
			apisim.Delete[*corev1.Pod](e.server, pod.Namespace, pod.Name, string(pod.UID))
		case v1alpha1.Ended(pod), waits && !bound:
		case bound && pod.Status.Phase == corev1.PodPending:
			e.setPhase(pod, corev1.PodRunning)
		case waits:
		case bound && e.chance(.01), !bound && e.chance(.002): // as for a pod with finalizers, the pod first gets only a deletionTimestamp; the next step deletes it
			apisim.Update(e.server, pod.Namespace, pod.Name, func(pod *corev1.Pod) bool {
				now := metav1.NewTime(time.Now())
				pod.DeletionTimestamp = &now
				return true
			})
		case bound && e.chance(.06):
			e.setPhase(pod, []corev1.PodPhase{corev1.PodSucceeded, corev1.PodSucceeded, corev1.PodFailed}[e.rand.IntN(3)])
		case !bound && !e.quiet && e.chance(.01):
			if apisim.Delete[*corev1.Pod](e.server, pod.Namespace, pod.Name, string(pod.UID)) && e.chance(.5) {
				e.server.Create(e.newPod(pod.Name))
			}
		}
	}
}

func (e *epoch) setPhase(of *corev1.Pod, phase corev1.PodPhase) {
	apisim.Update(e.server, of.Namespace, of.Name, func(pod *corev1.Pod) bool {
		pod.Status.Phase = phase
		return pod.UID == of.UID
	})
}

// disturb changes a node, kills a process of the controller, or cuts off the connection of a
// process for a while. Which of these it does is random. Most calls do nothing.
func (e *epoch) disturb() {
	node := fmt.Sprintf("n%d", e.rand.IntN(simNodes))
	switch {
	case e.chance(.02):
		e.cordon(node, e.chance(.5))
	case e.chance(.02):
		e.publish(node, e.chance(.5))
	case e.chance(.05): // a status update that changes nothing the controller reads
		apisim.Update(e.server, "", node, func(n *corev1.Node) bool {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(time.Now())}}
			return true
		})
	case e.chance(.0007):
		e.kill <- struct{}{}
	case e.chance(.0014): // "lease" cuts off only requests for the lease; the process must then stop scheduling, although its other requests succeed
		e.process().conn.Part([]string{"", "lease"}[e.rand.IntN(2)], time.Duration(e.rand.Int64N(int64(time.Minute))))
	}
}

func (e *epoch) cordon(node string, off bool) {
	apisim.Update(e.server, "", node, func(n *corev1.Node) bool {
		changed := n.Spec.Unschedulable != off
		n.Spec.Unschedulable = off
		return changed
	})
}

// publish sets the condition Ready of a node's NodeTopology.
func (e *epoch) publish(node string, ready bool) {
	status := metav1.ConditionFalse
	if ready {
		status = metav1.ConditionTrue
	}
	apisim.Update(e.server, "", node, func(topology *v1alpha1.NodeTopology) bool {
		return meta.SetStatusCondition(&topology.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: status})
	})
}

// waiting returns the pods that have no node.
func (e *epoch) waiting() []*corev1.Pod {
	return slices.DeleteFunc(apisim.List[*corev1.Pod](e.server), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" })
}
