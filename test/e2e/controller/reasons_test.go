//go:build e2e

package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// stuck is a pod that cannot run, and what `numalet why` prints about it for a user without rights
// in numalet-system.
type stuck struct {
	namespace string // "" for the namespace team
	meta      string // fields of metadata, besides the name
	spec      string // fields of spec, besides the container's image
	cpu       string // CPU request of the container; "" for 100m
	gpus      int
	says      string // cause and remedy, in the output of `numalet why`
}

// stuckPods returns pods that cannot run, by name. Each pod has a different reason, except for the
// two pods of the gang `big`. There are four nodes: `b` is tainted, `c` is cordoned, and `d` has no
// agent. A running pod uses 4 CPUs of node `a`.
func stuckPods() map[string]stuck {
	on := func(node string) string { return `nodeSelector: {kubernetes.io/hostname: ` + node + `}, ` }
	of := func(annotation, value string) string {
		return fmt.Sprintf(`annotations: {numalet.dev/%s: %q}, `, annotation, value)
	}
	gang := func(name, least string) string {
		return fmt.Sprintf(`labels: {numalet.dev/gang: %s}, annotations: {numalet.dev/gang-min-available: %q}, `, name, least)
	}
	return map[string]stuck{
		"too-large":       {cpu: "500", says: "the pod requests 500 CPUs, and the largest node has 15: request less"},
		"in-use":          {cpu: "13", says: "too little cpu is free on a node that suits otherwise: wait until pods end"},
		"no-node":         {spec: `nodeSelector: {disk: tape}, `, says: "no node has the labels that the pod's nodeSelector or node affinity requires: correct the nodeSelector"},
		"tainted":         {spec: on("b"), says: "nodes have taints that the pod does not tolerate: add a toleration"},
		"cordoned":        {spec: on("c"), says: "nodes are cordoned: ask an administrator to run kubectl uncordon NODE"},
		"lonely":          {spec: `affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: none}}}]}}, `, says: "no node runs the pods that the pod's affinity requires: create these pods first"},
		"unwanted":        {spec: on("a") + `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: filler}}}]}}, `, says: "an anti-affinity rule keeps the pod from every other node: wait until these pods end"},
		"over-quota":      {namespace: "limited", cpu: "2", says: "the quota of the tenant is used up (limit 1 CPU): request less, ask an administrator for a higher quota, or wait until other pods of the tenant end"},
		"unknown-tenant":  {namespace: "nobody", says: "the tenant nobody does not exist: ask an administrator to create the Tenant"},
		"unknown-group":   {meta: of("gpu-group", "none"), gpus: 1, says: "the GPU group none does not serve the pod: check kubectl numalet groups"},
		"unknown-gpu":     {meta: of("gpu-type", "H999"), gpus: 1, says: "check the type in the annotation numalet.dev/gpu-type against kubectl numalet top"},
		"gang-incomplete": {meta: gang("few", "3"), says: "the pod's gang lacks 2 or more pods: create them"},
		"gang-big-0":      {meta: gang("big", "2"), cpu: "8", says: "too few nodes have room for 2 pods of the gang together: wait until pods end"},
		"gang-big-1":      {meta: gang("big", "2"), cpu: "8", says: "too few nodes have room for 2 pods of the gang together: wait until pods end"},
		"gated":           {spec: `schedulingGates: [{name: example.com/wait}], `, says: "the pod has the scheduling gates example.com/wait: whoever set them has to remove them"},
		"no-volume":       {spec: `volumes: [{name: data, persistentVolumeClaim: {claimName: none}}], `, says: "the PersistentVolumeClaim none does not exist: create it in the namespace of the pod"},
		"unbound-volume":  {spec: `volumes: [{name: data, persistentVolumeClaim: {claimName: unbound}}], `, says: "a PersistentVolumeClaim is not bound: create a volume for it"},
		"no-claim":        {spec: `resourceClaims: [{name: gpu, resourceClaimName: none}], `, says: "a ResourceClaim of the pod does not exist: create it"},
		"one-numa-node":   {meta: of("cpu-policy", "single"), cpu: "10", says: "no NUMA node has room for a whole container (policy single): request fewer CPUs for each container"},
		"no-agent":        {meta: of("cpu-policy", "single"), spec: on("d"), cpu: "1", says: "the node's agent is not ready, or publishes no exclusive CPUs: ask an administrator to check kubectl get nodetopologies"},
		"other-scheduler": {spec: `schedulerName: elsewhere, `, says: "the scheduler elsewhere places the pod, which is Numalet's only if an administrator has chosen this name: if it is not, and that is not wanted, create the pod again with schedulerName: numalet-scheduler"},
		"port":            {spec: on("a") + `hostNetwork: true, `, says: "its host port is in use: use another hostPort"},
		"apart":           {meta: `labels: {app: filler}, `, spec: `topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: filler}}}], `, says: "the pod's topology spread constraints allow no node with room: use whenUnsatisfiable: ScheduleAnyway"},
		"wrong":           {meta: of("gpu-type", "T4"), says: "the pod has a request that no node can satisfy, or that is not valid: correct the pod"},
	}
}

// manifest returns the YAML manifest of the pod.
func (s stuck) manifest(name string) string {
	cpu, more, scheduler, port := s.cpu, "", "schedulerName: numalet-scheduler, ", ""
	if cpu == "" {
		cpu = "100m"
	}
	if s.gpus > 0 {
		more = fmt.Sprintf(`, nvidia.com/gpu: "%d"`, s.gpus)
	}
	if strings.Contains(s.spec, "schedulerName") {
		scheduler = ""
	}
	if strings.Contains(s.spec, "hostNetwork") {
		port = "ports: [{containerPort: 80, hostPort: 80}], "
	}
	return fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {%snamespace: %s, name: %s}, spec: {%s%scontainers: [{name: main, image: localhost/busybox, %sresources: {limits: {cpu: %q, memory: 64Mi%s}}}]}}\n",
		s.meta, s.namespace, name, scheduler, s.spec, port, cpu, more)
}

const stuckObjects = `{apiVersion: numalet.dev/v1alpha1, kind: Tenant, metadata: {name: team}}
---
{apiVersion: numalet.dev/v1alpha1, kind: Tenant, metadata: {name: limited}, spec: {quotas: {cpu: "1"}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: none-yet}, provisioner: example.com/none}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: team, name: unbound}, spec: {storageClassName: none-yet, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`

// newStuck starts a cluster with the nodes, tenants and users that the pods of stuckPods need.
func newStuck(t *testing.T) (*world, map[string]user) {
	w := newPlane(t, 0, hollowcluster.Shape{})
	config, err := w.Config()
	w.must(err)
	resources, err := dynamic.NewForConfig(config)
	w.must(err)
	shape, bare := hollowcluster.Shape{NUMA: 2, CPUs: 8, GPUs: 2}, hollowcluster.Shape{NUMA: 2, CPUs: 1}
	for _, name := range []string{"a", "b", "c"} {
		w.must(hollowcluster.MakeNode(w.ctx, w.api, resources, shape.Named(name), shape))
	}
	_, err = w.api.CoreV1().Nodes().Create(w.ctx, bare.Named("d"), metav1.CreateOptions{}) // without a NodeTopology, as on a node without an agent
	w.must(err)
	for _, args := range [][]string{{"taint", "node", "b", "only=others:NoSchedule"}, {"cordon", "c"}} {
		_, err := w.Kubectl(w.ctx, args...)
		w.must(err)
	}
	w.startController("--reserve-after=none")
	w.serveQueue()
	users := map[string]user{}
	for _, namespace := range []string{"team", "limited", "nobody"} {
		users[namespace] = w.newUser(namespace)
	}
	w.apply(stuckObjects)
	return w, users
}

// TestReasons creates the pods of stuckPods. For each pod it checks that `numalet why`, run by a
// user without rights in numalet-system, names the cause and the remedy. It also checks the output for
// a pod with a node, for a rejected pod, and while no controller runs.
func TestReasons(t *testing.T) {
	w, users := newStuck(t)
	filler := stuck{namespace: "team", meta: "labels: {app: filler}, ", spec: "nodeSelector: {kubernetes.io/hostname: a}, hostNetwork: true, ", cpu: "4"}
	w.apply(filler.manifest("filler"))
	owned := stuck{namespace: "team", meta: `annotations: {numalet.dev/cpu-policy: random}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: "1", controller: true}], `, cpu: "1"}
	w.apply(owned.manifest("rejected"))
	team := users["team"]
	placed := func(name string) bool {
		pod, err := w.api.CoreV1().Pods("team").Get(w.ctx, name, metav1.GetOptions{})
		return err == nil && pod.Spec.NodeName != ""
	}
	w.await("the first pods are placed", func() bool { return placed("filler") && placed("rejected") })
	reject := fmt.Sprintf(`{"status": {"phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": %q}]}}`, v1alpha1.ReasonPlacementRejected)
	_, err := w.api.CoreV1().Pods("team").Patch(w.ctx, "rejected", types.StrategicMergePatchType, []byte(reject), metav1.PatchOptions{}, "status")
	w.must(err)
	cases := stuckPods()
	var all strings.Builder
	for name, s := range cases {
		if s.namespace == "" {
			s.namespace = "team"
		}
		cases[name] = s
		all.WriteString(s.manifest(name))
	}
	w.apply(all.String())
	w.await("the rejection counts", func() bool { return strings.Contains(team.run(*tool, "why", "rejected"), "rejected") })
	w.apply(owned.manifest("again"))
	w.hears(team, "again", "the node could not honour the placement of an earlier pod of the same owner: wait some minutes") // first, because this holds for ten seconds only
	cases["rejected"] = stuck{namespace: "team", says: "the node rejected the pod's placement, which ended the pod: its owner creates a new one"}
	cases["filler"] = stuck{namespace: "team", says: "the pod is on node a: see kubectl describe pod filler"}
	for name, s := range cases {
		w.hears(users[s.namespace], name, s.says)
	}
	w.must(w.controller.Stop(10 * time.Second))
	w.hears(team, "in-use", "the controller does not answer: none runs or leads, or its queue API is not installed: ask an administrator")
	w.hears(team, "in-use", "too little cpu is free")
}

// hears waits until the output of `numalet why` for a user contains a text. It fails the test after
// 20 s.
func (w *world) hears(who user, pod, want string) {
	w.Helper()
	said := ""
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if said = who.run(*tool, "why", pod); strings.Contains(said, want) {
			return
		}
	}
	w.Errorf("why %s says\n%s\nwant %q", pod, said, want)
}

// TestReasonsOfOthers checks that `numalet why` names the cause and the remedy for pods that wait
// because of other pods. The pod "more" waits because all GPUs of its group are in use. The pod
// "large" fits no node, and the pod "behind" waits for it. The test runs two controllers, one after
// the other. The first controller reserves nodes only after ten minutes, so "large" blocks
// "behind". The second controller reserves the only node for "large" at once, so the free CPUs are
// reserved when "behind" is tried. Before the test starts the second controller, it deletes two
// pods. It deletes "more", because the node has at most one reservation, and "more" could get it
// instead of "large". It deletes "behind", because the second controller could place it before it
// has tried "large". Once "large" has been tried, the test creates "behind" again.
func TestReasonsOfOthers(t *testing.T) {
	w := newPlane(t, 1, hollowcluster.Shape{NUMA: 2, CPUs: 8, GPUs: 4, Model: "NVIDIA A100"})
	whoever := user{w, w.Kubeconfig}
	w.startController("--reserve-after=10m")
	w.serveQueue()
	w.waitForOthers(whoever)
	w.must(w.controller.Stop(10 * time.Second))
	for _, name := range []string{"more", "behind"} {
		w.must(w.api.CoreV1().Pods("default").Delete(w.ctx, name, metav1.DeleteOptions{}))
	}
	w.startController("--reserve-after=1ns")
	w.must(w.ServeQueue(w.ctx, w.controller))
	w.hears(whoever, "large", "unschedulable")
	w.create(hollowcluster.Pod("default", "behind", "numalet-scheduler", "8", 0))
	w.hears(whoever, "behind", "a node has room, but it is reserved for a pod that comes first: wait until that pod is placed")
}

// waitForOthers creates the pods of TestReasonsOfOthers, and checks what `numalet why` says while
// the pod `large` blocks other pods.
func (w *world) waitForOthers(whoever user) {
	w.Helper()
	w.apply("{apiVersion: numalet.dev/v1alpha1, kind: Tenant, metadata: {name: ann}}")
	w.apply("{apiVersion: numalet.dev/v1alpha1, kind: Tenant, metadata: {name: default}}") // the tenant of the pods without a label
	w.apply(strings.Replace(groupGuide(w.T), "quota: 2", "quota: 4", 1))
	w.await("the group is accepted", func() bool { return w.condition("training") == "True Accepted" })
	w.gpuPod("first", "ann", "training", 2)
	w.await("the group is full", func() bool { return w.given("first") != "" })
	w.gpuPod("more", "ann", "training", 1)
	w.hears(whoever, "more", "too few GPUs of the pod's GPU groups are free on one node: wait until pods of the group end")

	w.create(hollowcluster.Pod("default", "filler", "numalet-scheduler", "6", 0))
	w.await("the filler is placed", func() bool { return w.pod("filler").Spec.NodeName != "" })
	w.create(hollowcluster.Pod("default", "large", "numalet-scheduler", "12", 0))
	w.await("large fits no node", func() bool { return w.waits("large") != "" })
	// Creation times have whole seconds. The queue orders two pods with the same creation time by
	// UID, so "behind" could come before "large".
	w.await("the next pod is younger", func() bool { return time.Since(w.pod("large").CreationTimestamp.Time) > time.Second })
	w.create(hollowcluster.Pod("default", "behind", "numalet-scheduler", "8", 0))
	w.hears(whoever, "behind", "default/large comes first, and fits no node yet: wait: a node is reserved for it soon")
}
