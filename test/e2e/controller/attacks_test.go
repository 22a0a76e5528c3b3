package controller

import "strings"

// attack is an attempt of a user to get something without permission. The test checks that the
// attack fails: the API server refuses it, or it has no effect that helps the user. Some attacks
// are only listed here, because another test checks them.
type attack struct {
	name    string
	as      string // "" for mallory, a user with the role edit in the namespace team-m, and nothing else
	object  string // the manifest of an object, which is created in the namespace team-m
	args    string // arguments of kubectl; if there are none, kubectl creates the object
	request string // an HTTP request such as "PATCH /api/…", with the field `object` as its body; it is sent without kubectl, because kubectl would first read the object, and the API server might refuse the read instead of the patch
	refused string // a part of the API server's refusal
	or      string // another possible part of the refusal: if two policies refuse the request, the API server names only one
	query   string // arguments of kubectl get, to check the outcome of an attack that is not refused
	gains   string // text that the output of the command in the field `query` must contain: it shows that the attack did not help the user
	gained  string // the outcome in words, for docs/security.md
	test    string // the other test that covers the attack
}

// Users besides mallory who attack.
const (
	// writer is the user ben, who may write GPUGroups and Jobs (numalet.dev), and may use the tenant
	// ben and the GPUs of node-00001.
	writer = "ben"
	// Two controllers of kube-controller-manager create pods from templates that the user mallory
	// wrote. These are their service accounts.
	replicaSets = "system:serviceaccount:kube-system:replicaset-controller"
	daemonSets  = "system:serviceaccount:kube-system:daemon-set-controller"
	// lookalike is a service account that the user mallory created in her namespace. It has the
	// name of the controller's account.
	lookalike = "system:serviceaccount:team-m:numalet-controller"
)

// attackPod returns the manifest of a pod, with additions to its metadata and its spec. If the
// parameter `spec` has no schedulerName, attackPod adds that of Numalet's controller. Before
// Kubernetes 1.36, no policy adds the schedulerName. The API server would then refuse the pod
// because the schedulerName is missing, and the test would not show whether it refuses the attack.
func attackPod(name, metadata, spec, resources string) string {
	if !strings.Contains(spec, "schedulerName") {
		spec += "schedulerName: numalet-scheduler, "
	}
	return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + metadata + `}, spec: {` + spec +
		`containers: [{name: main, image: none, resources: {limits: {` + resources + `}}}]}}`
}

func attackGroup(name, tenants, more string) string {
	return `{apiVersion: numalet.dev/v1alpha1, kind: GPUGroup, metadata: {name: ` + name + `}, spec: {tenants: [` + tenants +
		`], nodes: [{name: node-00000, gpus: ["0"]}]` + more + `}}`
}

// attackJob returns the manifest of a Job of the tenant ben, with additions to its spec and to its
// container.
func attackJob(name, spec, container string) string {
	return `{apiVersion: numalet.dev/v1alpha1, kind: Job, metadata: {name: ` + name + `, labels: {numalet.dev/tenant: ben}}, spec: {` + spec +
		`template: {spec: {containers: [{` + container + `name: main, image: none}]}}}}`
}

func claim(kind, request string) string {
	spec := `devices: {requests: [{name: gpu, ` + request + `}]}`
	if kind == "ResourceClaimTemplate" {
		spec = `spec: {` + spec + `}`
	}
	return `{apiVersion: resource.k8s.io/v1, kind: ` + kind + `, metadata: {name: claim}, spec: {` + spec + `}}`
}

const (
	oneGPU       = `cpu: 100m, memory: 1Mi, nvidia.com/gpu: "1"`
	oneCPU       = `cpu: "1", memory: 1Mi`
	single       = `, annotations: {numalet.dev/cpu-policy: single}`
	onAgents     = `nodeSelector: {numalet.dev/exclusive-cpus: "true"}, ` // from Kubernetes 1.36 on, a policy adds this node selector
	ofVictim     = `, labels: {numalet.dev/tenant: victim}`
	waitsBecause = ` -o jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}`
	bypasses     = "which bypasses numalet-scheduler; remove spec.nodeName"
	otherwise    = "but only numalet-scheduler assigns them; write spec.schedulerName: numalet-scheduler"
	notHers      = "the label numalet.dev/tenant is victim, but the tenant of namespace team-m is mallory"
	static       = "which marks a static pod; remove it"
	noClaims     = "but numalet-scheduler assigns the GPUs of this cluster"
	cannot       = "is forbidden: User"
)

// attacks lists all attacks, by group. docs/security.md has a table for each group, with the same
// title.
var attacks = []struct {
	title string
	list  []attack
}{
	{"Taking GPUs and CPUs", []attack{
		{name: "a pod with a GPU names default-scheduler", object: attackPod("a1", "", "schedulerName: default-scheduler, ", oneGPU),
			query: "pod a1 -o jsonpath={.spec.schedulerName}", gains: "numalet-scheduler", gained: "numalet-scheduler schedules it"},
		{name: "a pod with a GPU names another scheduler", object: attackPod("a2", "", "schedulerName: mine, ", oneGPU), refused: otherwise},
		{name: "a pod with a GPU names its node", object: attackPod("a3", "", "nodeName: node-00000, ", oneGPU), refused: bypasses},
		{name: "a pod with a MIG slice names another scheduler", object: attackPod("a4", "", "schedulerName: mine, ", `nvidia.com/mig-1g.10gb: "1"`), refused: otherwise},
		{name: "a pod with a share of a GPU names its node", object: attackPod("a5", "", "nodeName: node-00000, ", `nvidia.com/gpu.shared: "1"`), refused: bypasses},
		{name: "an init container requests the GPU, and the pod names its node", object: attackPod("a6", "",
			`nodeName: node-00000, initContainers: [{name: first, image: none, resources: {limits: {nvidia.com/gpu: "1"}}}], `, oneCPU), refused: bypasses},
		{name: "a sidecar requests the GPU, and the pod names another scheduler", object: attackPod("a7", "",
			`schedulerName: mine, initContainers: [{name: first, image: none, restartPolicy: Always, resources: {limits: {nvidia.com/gpu: "1"}}}], `, oneCPU), refused: otherwise},
		{name: "a pod with exclusive CPUs by policy names another scheduler", object: attackPod("a8", single, onAgents+"schedulerName: mine, ", oneCPU), refused: otherwise},
		{name: "a pod with exclusive CPUs of a NUMA node names its node", object: attackPod("a9", "", onAgents+"nodeName: node-00000, ", oneCPU+`, numalet.dev/numa0-cpu: "1"`), refused: bypasses},
		{name: "a DaemonSet's template with a GPU names the node", as: daemonSets, object: attackPod("a10", "", "nodeName: node-00000, ", oneGPU), refused: bypasses},
		{name: "a ReplicaSet's template with a GPU names another scheduler", as: replicaSets, object: attackPod("a11", "", "schedulerName: mine, ", oneGPU), refused: otherwise},
		{name: "a pod forges a placement", object: attackPod("a12", `, annotations: {numalet.dev/placement: "{}"}`, "", oneGPU), refused: "which only the numalet controller may set"},
		{name: "a user adds a placement to a pod that exists", args: "annotate --overwrite pod mine numalet.dev/placement={}", refused: "cannot change after the pod was created"},
		{name: "a user binds a pod", args: "create --raw /api/v1/namespaces/team-m/pods/mine/binding -f -",
			object: `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"mine"},"target":{"kind":"Node","name":"node-00000"}}`, refused: cannot},
		{name: "a user binds a pod through bindings, an older resource of the API", args: "create --validate=false -f -",
			object: `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"mine"},"target":{"kind":"Node","name":"node-00000"}}`, refused: cannot},
		{name: "a pod poses as a static pod, which no policy checks", object: attackPod("a13", `, annotations: {kubernetes.io/config.mirror: x}`, "nodeName: node-00000, ", oneGPU), refused: static},
		{name: "a new pod has the annotation kubernetes.io/config.hash of static pods", object: attackPod("a14", `, annotations: {kubernetes.io/config.hash: x}`, "", oneCPU), refused: static},
		{name: "a user adds the annotation kubernetes.io/config.hash of static pods to a pod that exists", args: "annotate pod mine kubernetes.io/config.hash=x", refused: static},
		{name: "a claim requests a GPU of NVIDIA's DRA driver", object: claim("ResourceClaim", "exactly: {deviceClassName: gpu.nvidia.com}"), refused: noClaims},
		{name: "a template of claims requests a MIG slice", object: claim("ResourceClaimTemplate", "exactly: {deviceClassName: mig.nvidia.com}"), refused: noClaims},
		{name: "a claim lists a GPU as one of several alternatives (firstAvailable)", object: claim("ResourceClaim", "firstAvailable: [{name: a, deviceClassName: vfio.gpu.nvidia.com}]"), refused: noClaims},
		{name: "a claim requests a GPU with adminAccess", object: claim("ResourceClaim", "exactly: {deviceClassName: gpu.nvidia.com, adminAccess: true}"), refused: "admin access to devices requires"},
		{name: "a user creates a device class with a new name for NVIDIA's GPUs", object: `{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: mine},
  spec: {selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com'"}}]}}`, refused: cannot},
		{name: "a pod changes its CPU policy", args: "annotate --overwrite pod mine numalet.dev/cpu-policy=spread", refused: "cannot change after the pod was created"},
		{name: "a user adds the annotation for isolation to a pod that exists", args: "annotate pod mine numalet.dev/isolation=full", refused: "cannot change after the pod was created"},
		{name: "a container with exclusive CPUs grows in place", request: "PATCH /api/v1/namespaces/team-m/pods/mine/resize", object: `{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"3"},"limits":{"cpu":"3"}}}]}}`,
			refused: cannot},
		{name: "a user labels a node", request: "PATCH /api/v1/nodes/node-00001", object: `{"metadata":{"labels":{"numalet.dev/exclusive-cpus":"true"}}}`, refused: cannot},
		{name: "a pod has the annotation with which it could start before the agent, on all CPUs", object: attackPod("a15", `, annotations: {tolerate-missing-nri-plugins.noderesource.dev/x: "true"}`, "", oneCPU), refused: "is for pods in kube-system"},
		{name: "an ephemeral container requests a GPU", request: "PATCH /api/v1/namespaces/team-m/pods/mine/ephemeralcontainers", object: `{"spec":{"ephemeralContainers":[{"name":"e","image":"x","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}`,
			refused: cannot},
		{name: "a container without GPUs names all of them in NVIDIA_VISIBLE_DEVICES", test: "TestVisibleGPUs of internal/agent/node"},
		{name: "a GPU is allocated whole and in shares", test: "TestGPUsAreGivenOneWay of internal/deviceplugin/kubelet"},
		{name: "a pod gets a share of a GPU that is in a GPU group", test: "TestGroupedGPUsHaveNoShares of internal/deviceplugin/kubelet"},
		{name: "a pod of another scheduler holds a GPU that the controller would count as free", test: "testdata/gpuholders.txt of internal/controller/mirror"},
		{name: "a pod without a placement gets a GPU of a group from the kubelet", test: "testdata/gpus.txt of internal/agent/node"},
	}},
	{"Being somebody else", []attack{
		{name: "a pod names another tenant", object: attackPod("b1", ofVictim, "", oneGPU), refused: notHers},
		{name: "a pod names an unknown tenant", object: attackPod("b2", ", labels: {numalet.dev/tenant: fresh}", "", oneGPU), refused: "the label numalet.dev/tenant is fresh"},
		{name: "a pod changes its tenant", args: "label pod mine numalet.dev/tenant=victim --overwrite", refused: "cannot change after the pod was created"},
		{name: "a user removes the tenant label of a pod", args: "label pod mine numalet.dev/tenant-", refused: "cannot change after the pod was created"},
		{name: "a pod changes its tenant through its status", request: "PATCH /api/v1/namespaces/team-m/pods/mine/status", object: `{"metadata":{"labels":{"numalet.dev/tenant":"victim"}}}`, refused: cannot},
		{name: "a ReplicaSet's template names another tenant", as: replicaSets, object: attackPod("b3", ofVictim, "", oneGPU), refused: notHers},
		{name: "a service account in another namespace, with the same name as that of the controller, creates a pod of another tenant", as: lookalike, object: attackPod("b4", ofVictim, "", oneGPU), refused: "may write pods of Jobs of numalet.dev, and this one belongs to none",
			or: "the label numalet.dev/tenant is victim"},
		{name: "a Job names another tenant", as: writer, object: `{apiVersion: numalet.dev/v1alpha1, kind: Job, metadata: {name: b5, labels: {numalet.dev/tenant: victim}},
  spec: {template: {spec: {containers: [{name: main, image: none}]}}}}`, refused: "the label numalet.dev/tenant is victim"},
		{name: "a Job names no tenant", as: writer, object: `{apiVersion: numalet.dev/v1alpha1, kind: Job, metadata: {name: b6},
  spec: {template: {spec: {containers: [{name: main, image: none}]}}}}`, refused: "the job is of no tenant"},
		{name: "a user labels the Namespace with another tenant", request: "PATCH /api/v1/namespaces/team-m", object: `{"metadata":{"labels":{"numalet.dev/tenant":"victim"}}}`, refused: cannot},
		{name: "a user exempts the Namespace from the policies", request: "PATCH /api/v1/namespaces/team-m", object: `{"metadata":{"labels":{"numalet.dev/enforcement":"advisory"}}}`, refused: cannot},
		{name: "a user removes the quotas of their own Tenant", request: "PATCH /apis/numalet.dev/v1alpha1/tenants/mallory", object: `{"spec":{"quotas":null}}`, refused: cannot},
		{name: "a user creates a Tenant", object: `{apiVersion: numalet.dev/v1alpha1, kind: Tenant, metadata: {name: fresh}}`, refused: cannot},
		{name: "a user gets a token of the controller", args: "-n numalet-system create token numalet-controller", refused: cannot},
		{name: "a user gives an account the right to set placements", object: `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: b8},
  rules: [{apiGroups: [numalet.dev], resources: [placements], verbs: [create]}]}`, refused: cannot},
		{name: "a user grants themselves the use of a Tenant", object: `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: b7},
  rules: [{apiGroups: [numalet.dev], resources: [tenants], verbs: [use]}]}`, refused: cannot},
	}},
	{"GPU groups", []attack{
		{name: "a pod names the group of another tenant", object: attackPod("c1", ", annotations: {numalet.dev/gpu-group: victims}", "", oneGPU),
			query: "pod c1" + waitsBecause, gains: `is not for tenant "mallory"`, gained: "the pod waits, because the group is not for its tenant"},
		{name: "a pod changes its group", args: "annotate pod mine numalet.dev/gpu-group=victims", refused: "cannot change after the pod was created"},
		{name: "a user creates a group", object: attackGroup("c2", "mallory", ""), refused: cannot},
		{name: "a group for the victim, with a container name that no pod has, reserves the victim's GPUs", as: writer, object: attackGroup("c3", "victim", ", containers: [nobody]"),
			query: `gpugroup c3 -o jsonpath={.status.conditions[?(@.type=="Accepted")].message}`, gains: `its author, user "ben", may not use tenant "victim"`,
			gained: "the group is not accepted, because its author may not use the tenant"},
		{name: "a group of the writer's tenant contains GPUs that the writer may not use", as: writer, object: attackGroup("c4", "ben", ""),
			query: `gpugroup c4 -o jsonpath={.status.conditions[?(@.type=="Accepted")].reason}`, gains: "NoPermission",
			gained: "the group is not accepted, because the tenant has no permission for the GPUs"},
		{name: "an edit makes the writer the tenant of the victim's group", as: writer, args: `patch gpugroup victims --type merge -p {"spec":{"tenants":["ben"]}}`,
			query: "gpugroup victims -o jsonpath={.status.inForce.spec.tenants}", gains: `["victim"]`, gained: "the spec that was accepted last stays in force"},
		{name: "an edit names an unknown node, so that the group's GPUs are in no group", as: writer, args: `patch gpugroup victims --type merge -p {"spec":{"nodes":[{"name":"none","gpus":["0"]}]}}`,
			query: "gpugroup victims -o jsonpath={.status.inForce.spec.nodes[0].name}", gains: "node-00000", gained: "the spec that was accepted last stays in force"},
		{name: "the writer forges the status of a group", as: writer, request: "PATCH /apis/numalet.dev/v1alpha1/gpugroups/victims/status", object: `{"status":{"inForce":{"generation":1,"spec":{"tenants":["ben"]}}}}`, refused: cannot},
		{name: "the writer forges the author", as: writer, args: "annotate gpugroup victims numalet.dev/author=nobody --overwrite", refused: "record who wrote the spec of the group"},
		{name: "the writer deletes the victim's group", as: writer, args: "delete gpugroup victims", refused: "the group is for a tenant that you may not use"},
	}},
	{"Jumping the queue", []attack{
		{name: "a tenant asks for T4, T4|V100 and any GPU, to have three turns", test: "testdata/overlap.txt of pkg/sched/queue"},
		{name: "a gang that needs GPUs waits in the order for CPUs, because its first pod is a launcher", test: "TestGangStandsWhereItsScarcestNeedStands of pkg/sched/queue"},
		{name: "a pod has the highest priority", test: "TestPriority of internal/controller/mirror, with --pod-priority=false"},
		{name: "a user writes the scores of a Tenant", request: "PATCH /apis/numalet.dev/v1alpha1/tenants/mallory/status", object: `{"status":{"accounts":[]}}`, refused: cannot},
		{name: "a user creates a PriorityClass", object: `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: mine}, value: 1000000}`, refused: cannot},
		{name: "several pods that accept overlapping sets of GPU types reserve one node each", test: "testdata/overlap.txt of pkg/sched/reservation"},
		{name: "a gang keeps GPUs free without using them", test: "testdata/overlap.txt of pkg/sched/reservation: its tenant is charged for them"},
		{name: "a second pod exceeds the tenant's quota", object: attackPod("d1", "", "", `cpu: 100m, memory: 1Mi, nvidia.com/gpu: "2"`),
			query: "pod d1" + waitsBecause, gains: "tenant mallory, GPUs of all types", gained: "the pod waits until the tenant's quota allows it"},
	}},
	{"Breaking it for all", []attack{
		{name: "a pod names 5,000 candidate nodes", test: "TestTooManyNames of internal/controller/mirror"},
		{name: "a pod requests more CPUs than a number can count", test: "TestTooMuchCPU of internal/controller/mirror"},
		{name: "a kubelet reports 2^63 GPUs", test: "TestTooManyGPUs of internal/controller/mirror"},
		{name: "each pod invents a model of GPU, so that there are thousands of types of resource", test: "TestInventedGPUs of internal/controller/mirror"},
		{name: "a pod has thousands of init containers with exclusive CPUs", test: "TestTooManyContainers of api/v1alpha1"},
		{name: "a Job requests an amount whose exponent takes hours to parse", as: writer, object: attackJob("e2", `cpu: "1e-1641327864", `, ""),
			refused: "cpu must be more than 0, with at most two digits in its exponent"},
		{name: "a Job requests an amount with a million digits", as: writer, object: attackJob("e3", "memory: '"+strings.Repeat("9", 1_000_000)+"', ", ""), refused: "Too long: may not be more than 64"},
		{name: "a Job's template requests an amount whose exponent takes hours to parse", as: writer, object: attackJob("e4", "", `resources: {limits: {cpu: "1e-1641327864"}}, `),
			query: "jobs.numalet.dev e4 -o jsonpath={.status.message}", gains: "the exponent of the quantity", gained: "the Job fails"},
		{name: "a Tenant has a quota whose exponent takes hours to parse", test: "tenant-refuse-quota-exponent.txt of api/v1alpha1/testdata/object"},
		{name: "an agent reports an amount whose exponent takes hours to parse", test: "TestQuantitiesOfCRDs of api/v1alpha1"},
		{name: "a user changes the NodeTopology in which a node reports its CPUs and GPUs", request: "PATCH /apis/numalet.dev/v1alpha1/nodetopologies/node-00000/status", object: `{"status":{"gpus":[]}}`, refused: cannot},
		{name: "a user deletes the NodeTopology in which a node reports its CPUs and GPUs", args: "delete nodetopology node-00000", refused: cannot},
		{name: "a user deletes a policy", args: "delete validatingadmissionpolicybinding numalet-scheduled", refused: cannot},
		{name: "a user changes the settings of Numalet", request: "PATCH /api/v1/namespaces/numalet-system/configmaps/numalet", object: `{"data":null}`, refused: cannot},
		{name: "a user reads the metrics of the controller", args: "get --raw /api/v1/namespaces/numalet-system/services/numalet-controller:8443/proxy/metrics", refused: cannot},
		{name: "a user reads the queue of other namespaces", test: "TestAnswersFollowRights of test/e2e/controller"},
		{name: "a user releases the controller's lease", request: "PATCH /apis/coordination.k8s.io/v1/namespaces/numalet-system/leases/numalet-controller", object: `{"spec":{"holderIdentity":""}}`, refused: cannot},
		{name: "a misspelt annotation goes unnoticed", object: attackPod("e1", ", annotations: {numalet.dev/cpu-polcy: single}", "", oneCPU), refused: "is unknown; allowed are"},
	}},
}
