package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/workload"
)

// decision is a container, and what it gets.
type decision struct {
	pod       string // arguments of the script command `pod` (see script.pod), without the pod's name
	container string // the name of the container; "" means main
	given     string // the devices that the kubelet allocated. "" means the CPUs of each NUMA node that are in the limits; gpu=ID,… means the same CPUs and also these GPUs; NODE=CPUS,… means this number of CPUs of each NUMA node, whatever the limits are; "none" means no CPUs
	want      string
}

// TestClassify lists what containers get, by node and by what the agent knows about the pod. The
// GPU r is reserved for the GPU group ann. No node of the test can isolate CPUs, so pods with the
// annotation numalet.dev/isolation are refused.
func TestClassify(t *testing.T) {
	const (
		shared      = string(sharedCPUs)
		unknown     = string(awaitsPod)
		switchedOff = "exclusive CPUs are switched off on this node; delete the pod and let it run on a node labelled numalet.dev/exclusive-cpus=true"
		notServed   = "refused, FormNotServed: the pod requests CPUs in the %s form, but this node serves the %s form (--cpu-request-form=%s); use that form, or run the pod on a node that serves its own"
		notAsked    = "refused, NotAsked: the kubelet allocated map[%s] exclusive CPUs per NUMA node to container \"main\", whose limits say map[%s]; delete the pod, so that it is made and allocated anew (if that does not help, another device plugin serves these resources: see /readyz of numalet-deviceplugin)"
		reserved    = "refused, GPUReserved: the kubelet gave container \"main\" the GPU r, which is reserved for GPU group ann; delete the pod, and let the controller schedule it (spec.schedulerName)"
		fails       = "refused, PlacementRejected: this node cannot honour the pod's placement: %s; the pod has failed, and no controller owns it, so no new pod is created: create it again"
		notOfPod    = "the placement in the annotation numalet.dev/placement is not one of this pod: "
	)
	alone := Config{RequestForm: v1alpha1.PolicyForm}
	limits := Config{RequestForm: v1alpha1.ExplicitForm}
	controller := Config{RequestForm: v1alpha1.PolicyForm, Controller: true}
	off := Config{RequestForm: v1alpha1.PolicyForm, Disabled: true}
	offController := Config{RequestForm: v1alpha1.PolicyForm, Controller: true, Disabled: true}
	for name, tc := range map[string]struct {
		cfg   Config
		but   func(*subject) // what differs from a new container whose pod is known and has no grant
		cases map[string]decision
	}{
		"no controller": {alone, nil, map[string]decision{
			"no request":              {pod: "main:500m", want: shared},
			"whole CPUs, no policy":   {pod: "main:2", want: shared},
			"policy":                  {pod: "policy=single main:2", want: "exclusive CPUs by policy: single, main 2"},
			"policy, two containers":  {pod: "policy=spread main:4 side:2", want: "exclusive CPUs by policy: spread, main 4, side 2"},
			"policy, init container":  {pod: "policy=random init.first:4 main:2", container: "first", want: "exclusive CPUs by policy: random, first 4 init, main 2"},
			"policy, but a fraction":  {pod: "policy=spread main:4 side:500m", container: "side", want: shared},
			"policy, but exempted":    {pod: "policy=spread shared-containers=side main:4 side:2", container: "side", want: shared},
			"policy, but ephemeral":   {pod: "policy=spread main:4", container: "debugger", want: shared},
			"policy, only fractions":  {pod: "policy=single main:1500m", want: "refused, NoExclusiveContainer"},
			"policy, unknown":         {pod: "policy=pack main:2", want: "refused, UnknownPolicy"},
			"policy, misspelt":        {pod: "cpu-polcy=single main:2", want: "refused, UnknownAnnotation"},
			"policy, isolation":       {pod: "policy=single isolation=full main:2", want: "refused, NotIsolated"},
			"policy, tokens":          {pod: "policy=single main:2", given: "1=2", want: fmt.Sprintf(notAsked, "1:2", "")},
			"policy and limits":       {pod: "policy=single main:2@1=2", want: "refused, BothForms"},
			"policy, static":          {pod: "static policy=single main:2", want: "exclusive CPUs by policy: single, main 2"},
			"policy, and a placement": {pod: "policy=single place=main@1=2 main:2", want: "refused, PlacementForged"},
			"limits":                  {pod: "main:2@1=2", want: fmt.Sprintf(notServed, "explicit", "policy", "policy")},
			"GPU":                     {pod: "main:500m", given: "gpu=a", want: shared},
			"GPU of a group":          {pod: "main:500m", given: "gpu=r", want: reserved},
		}},
		"no controller, serves limits": {limits, nil, map[string]decision{
			"no request":            {pod: "main:2", want: shared},
			"limits":                {pod: "main:3@1=2,2=1", want: "exclusive CPUs by limits: random, main 3 numa1=2 numa2=1"},
			"limits, but without":   {pod: "main:3@1=2,2=1 side:2", container: "side", want: shared},
			"limits, other tokens":  {pod: "main:3@1=2,2=1", given: "1=3", want: fmt.Sprintf(notAsked, "1:3", "1:2 2:1")},
			"limits, no tokens":     {pod: "main:3@1=2,2=1", given: "none", want: fmt.Sprintf(notAsked, "", "1:2 2:1")},
			"limits, not their sum": {pod: "main:4@1=2,2=1", want: "refused, CountMismatch"},
			"policy":                {pod: "policy=single main:2", want: fmt.Sprintf(notServed, "policy", "explicit", "explicit")},
		}},
		"controller": {controller, nil, map[string]decision{
			"placed":                 {pod: "policy=random place=main@0=1,2=1 main:2", want: "exclusive CPUs by placement: random, main 2 numa0=1 numa2=1"},
			"placed, limits":         {pod: "place=main@1=2 main:2@1=2", want: "exclusive CPUs by placement: random, main 2 numa1=2"},
			"placed, GPUs":           {pod: "policy=single place=main@1=2/a main:2", given: "gpu=a", want: "exclusive CPUs by placement: single, main 2 numa1=2"},
			"placed, but a fraction": {pod: "policy=random place=main@0=1,2=1 main:2 side:500m", container: "side", want: shared},
			"placed, isolation":      {pod: "policy=single isolation=full place=main@1=2 main:2", want: fmt.Sprintf(fails, "irqbalance runs")},
			"placed, too many CPUs":  {pod: "policy=random place=main@0=3 main:2", want: fmt.Sprintf(fails, notOfPod+`it gives 3 CPUs to container "main", which asks for 2`)},
			"placed, no request":     {pod: "place=main@0=2 main:500m", want: fmt.Sprintf(fails, notOfPod+`it gives CPUs to container "main", which shares`)},
			"placed, unreadable":     {pod: "policy=random placement={} main:2", want: fmt.Sprintf(fails, notOfPod+"read placement: it has no version; version 1 is read here, in {}")},
			"placed, newer":          {pod: `policy=random placement={"version":2} main:2`, want: "refused, PlacementNewer"},
			"placed, static":         {pod: "static policy=single place=main@1=2 main:2", want: "refused, PlacementForged"},
			"only GPUs":              {pod: "place=main@/a main:500m", given: "gpu=a", want: shared},
			"only GPUs, of a group":  {pod: "place=main@/r main:500m", given: "gpu=r", want: shared},
			"only GPUs, others":      {pod: "place=main@/a main:500m", given: "gpu=b", want: fmt.Sprintf(fails, `the kubelet gave container "main" the GPUs b, and the controller decided on a`)},
			"only GPUs, none":        {pod: "place=main@/a main:500m", want: fmt.Sprintf(fails, `the controller decided on the GPUs a for container "main", and numalet-deviceplugin gave it none: another device plugin serves them, see its /readyz`)},
			"only GPUs, one more":    {pod: "place=main@/a main:500m", given: "gpu=a,r", want: fmt.Sprintf(fails, `the kubelet gave container "main" the GPU r of GPU group ann, and the controller decided on other GPUs`)},
			"only GPUs, unreadable":  {pod: "placement={} main:500m", given: "gpu=r", want: fmt.Sprintf(fails, `the kubelet gave container "main" the GPU r of GPU group ann, and the controller decided on other GPUs`)},
			"only GPUs, stranger":    {pod: "place=main@/a;other@/b main:500m", given: "gpu=a", want: shared},
			"not placed, policy":     {pod: "policy=single main:2", want: "exclusive CPUs by policy: single, main 2"},
			"not placed, limits":     {pod: "main:2@1=2", want: "exclusive CPUs by limits: random, main 2 numa1=2"},
			"not placed, GPU":        {pod: "main:500m", given: "gpu=a", want: shared},
			"not placed, group":      {pod: "main:500m", given: "gpu=r", want: reserved},
		}},
		"the informer does not have the pod": {controller, func(s *subject) { s.pod = nil }, map[string]decision{
			"no request":             {pod: "main:500m", want: shared},
			"policy":                 {pod: "policy=single main:2", want: unknown},
			"policy, but a fraction": {pod: "policy=single main:2 side:500m", container: "side", want: unknown},
			"policy, misspelt":       {pod: "cpu-polcy=single main:2", want: unknown},
			"gang":                   {pod: "gang-min-available=2 main:2", want: shared},
			"limits":                 {pod: "main:2@1=2", want: unknown},
			"limits, no tokens":      {pod: "main:2@1=2", given: "none", want: shared},
			"placed":                 {pod: "policy=random place=main@0=1,2=1 main:2", want: unknown},
			"only GPUs":              {pod: "place=main@/a main:500m", given: "gpu=a", want: shared},
			"only GPUs, others":      {pod: "place=main@/a main:500m", given: "gpu=b", want: fmt.Sprintf(fails, `the kubelet gave container "main" the GPUs b, and the controller decided on a`)},
			"only GPUs, policy":      {pod: "policy=single place=main@/a main:2", given: "gpu=a", want: unknown},
			"static, no request":     {pod: "static main:2", want: shared},
			"static, policy":         {pod: "static policy=single init.first:2 main:2", want: "exclusive CPUs by cgroup: single, main 2"},
			"static, init container": {pod: "static policy=single init.first:2 main:2", container: "first", want: "exclusive CPUs by cgroup: single, first 2"},
			"static, but a fraction": {pod: "static policy=single main:2 side:500m", container: "side", want: shared},
			"static, but exempted":   {pod: "static policy=single shared-containers=side main:2 side:1", container: "side", want: shared},
			"static, unknown policy": {pod: "static policy=pack main:2", want: "refused, UnknownPolicy"},
			"static, isolation":      {pod: "static policy=single isolation=full main:2", want: "refused, NotIsolated"},
			"static, limits":         {pod: "static main:2@1=2", want: "exclusive CPUs by cgroup: random, main 2 numa1=2"},
		}},
		"the agent does not know the GPU groups": {controller, func(s *subject) { s.groupOf = func(string) (string, bool) { return "", false } }, map[string]decision{
			"no request":      {pod: "main:500m", want: shared},
			"only GPUs":       {pod: "place=main@/a main:500m", given: "gpu=a", want: shared},
			"not placed, GPU": {pod: "main:500m", given: "gpu=a", want: `refused, NotReady: the agent does not know the GPU groups yet, and container "main" has the GPU a, which may be in one`},
		}},
		"switched off": {off, nil, map[string]decision{
			"no request":        {pod: "main:500m", want: shared},
			"policy":            {pod: "policy=single main:2", want: "refused, SwitchedOff: " + switchedOff},
			"policy, static":    {pod: "static policy=single main:2", want: "refused, SwitchedOff: " + switchedOff},
			"limits":            {pod: "main:2@1=2", want: "refused, SwitchedOff: " + switchedOff},
			"limits, no tokens": {pod: "main:2@1=2", given: "none", want: shared},
			"gang":              {pod: "gang-min-available=2 main:2", want: shared},
		}},
		"switched off, controller": {offController, nil, map[string]decision{
			"placed":             {pod: "policy=random place=main@0=1,2=1 main:2", want: fmt.Sprintf(fails, switchedOff)},
			"only GPUs":          {pod: "place=main@/a main:500m", given: "gpu=a", want: shared},
			"not placed, policy": {pod: "policy=single main:2", want: "refused, SwitchedOff: " + switchedOff},
		}},
		"granted earlier": {offController, func(s *subject) { s.granted = true }, map[string]decision{
			"policy":          {pod: "policy=single main:2", want: string(byGrant)},
			"policy, unknown": {pod: "policy=pack main:2", want: string(byGrant)},
			"placed, static":  {pod: "static policy=single place=main@1=2 main:2", want: "refused, PlacementForged"},
			"placed, GPUs":    {pod: "policy=single place=main@1=2/a main:2", given: "gpu=b", want: fmt.Sprintf(fails, `the kubelet gave container "main" the GPUs b, and the controller decided on a`)},
		}},
		"may already run": {controller, func(s *subject) { s.runs = true }, map[string]decision{
			"policy":             {pod: "policy=single main:2", want: "exclusive CPUs by policy: single, main 2"},
			"placed":             {pod: "policy=random place=main@0=1,2=1 main:2", want: "exclusive CPUs by placement: random, main 2 numa0=1 numa2=1"},
			"placed, unreadable": {pod: "policy=random placement={} main:2", want: "refused, PlacementInvalid"},
			"placed, isolation":  {pod: "policy=single isolation=full place=main@1=2 main:2", want: "refused, NotIsolated"},
			"placed, static":     {pod: "static policy=single place=main@1=2 main:2", want: "exclusive CPUs by policy: single, main 2"},
			"placed, other GPUs": {pod: "policy=single place=main@1=2/a main:2", given: "gpu=b", want: "exclusive CPUs by placement: single, main 2 numa1=2"},
			"not placed, group":  {pod: "main:500m", given: "gpu=r", want: shared},
		}},
		"may already run, switched off": {offController, func(s *subject) { s.runs = true }, map[string]decision{
			"placed":    {pod: "policy=random place=main@0=1,2=1 main:2", want: "refused, SwitchedOff: " + switchedOff},
			"only GPUs": {pod: "place=main@/a main:500m", given: "gpu=a", want: shared},
		}},
	} {
		for container, d := range tc.cases {
			t.Run(name+"/"+container, func(t *testing.T) {
				s := d.subject(t, tc.cfg)
				if tc.but != nil {
					tc.but(&s)
				}
				if diff := cmp.Diff(d.want, classify(s).describe()); diff != "" {
					t.Errorf("the container gets (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestClassifyAlways checks rules that hold for every container, on every node, and whatever the
// agent knows about the pod.
func TestClassifyAlways(t *testing.T) {
	requests := []string{"main:500m", "main:2", "main:2@1=2", "policy=single main:2", "policy=single isolation=full main:2", "policy=pack main:2", "cpu-polcy=single main:2"}
	for _, request := range requests {
		for _, with := range []string{"", "static", "place=main@1=2", "place=main@/a", "placement={}", "static place=main@1=2"} {
			for _, given := range []string{"", "none", "gpu=a", "gpu=r"} {
				of := decision{pod: with + " " + request, given: given}
				for flags := range 1 << 6 {
					checkClass(t, of.subject(t, Config{RequestForm: v1alpha1.PolicyForm}), flags)
				}
			}
		}
	}
}

// checkClass checks the class of a container. Each bit of the parameter `flags` changes a setting of
// the agent, or what the agent knows about the container.
func checkClass(t *testing.T, s subject, flags int) {
	t.Helper()
	set := func(bit int) bool { return flags&(1<<bit) != 0 }
	s.cfg.Controller, s.cfg.Disabled, s.granted, s.runs = set(0), set(1), set(2), set(3)
	if set(4) {
		s.cfg.RequestForm = v1alpha1.ExplicitForm
	}
	if set(5) {
		s.pod = nil
	}
	got := classify(s)
	for rule, holds := range map[string]bool{
		"only a refusal has a reason":                            (got.kind == refused) == (got.why != nil),
		"only exclusive CPUs are reserved":                       strings.HasPrefix(string(got.kind), "exclusive") == (got.request != nil),
		"the container is one of those that get CPUs":            got.request == nil || slices.ContainsFunc(got.request.Containers, func(c podspec.Container) bool { return c.Name == s.Name }),
		"only a pod that is neither known nor static is awaited": got.kind != awaitsPod || s.pod == nil && !isStatic(s.Sandbox),
		"a node without exclusive CPUs gives none":               !s.cfg.Disabled || got.request == nil,
		"only the controller places":                             got.kind != byPlacement || s.cfg.Controller && !isStatic(s.Sandbox),
		"a grant stays":                                          !s.granted || got.kind == byGrant || got.kind == refused && !s.runs,
		"no pod fails whose container may run":                   !s.runs || got.why == nil || got.why.Reason != PlacementRejected,
		"only a placed pod fails":                                got.why == nil || got.why.Reason != PlacementRejected || s.cfg.isPlaced(s.Sandbox),
	} {
		if !holds {
			t.Errorf("%s: pod %v, annotations %v, config %+v, granted %v, runs %v: %s", rule, s.pod != nil, s.Sandbox.Annotations, s.cfg, s.granted, s.runs, got.describe())
		}
	}
}

// subject returns the container of a test case as a container that does not run yet. The agent
// knows its pod, and the pod has no grant.
func (d decision) subject(t *testing.T, cfg Config) subject {
	script := newScript(t, &scenario.Answer{})
	if err := script.pod(append([]string{"x"}, strings.Fields(d.pod)...)); err != nil {
		t.Fatal(err)
	}
	pod, name := script.pods["x"], "main"
	if d.container != "" {
		name = d.container
	}
	c := containerOf(pod, name, workload.Sandbox{Pod: workload.Pod{UID: "x", Namespace: "ns", Name: "x"}, Annotations: maps.Clone(pod.Annotations)})
	switch kind, ids, _ := strings.Cut(d.given, "="); kind {
	case "":
	case "gpu":
		c.Annotations[v1alpha1.AllocatedGPUs("nvidia.com/gpu")] = ids
	default:
		c.Annotations = map[string]string{}
		for id, count := range countsOf(d.given) {
			c.Annotations[v1alpha1.AllocatedAnnotation(id)] = tokens(id, count)
		}
	}
	return subject{
		Container: c, cfg: cfg, pod: pod,
		groupOf: func(id string) (string, bool) { return map[string]string{"r": "ann"}[id], true },
		notIsolated: func(r v1alpha1.CPURequest) error {
			if r.Isolated {
				return refuse(NotIsolated, "irqbalance runs")
			}
			return nil
		},
	}
}

// describe returns the class as a text, such as "exclusive CPUs by policy: single, main 2".
func (c class) describe() string {
	switch {
	case c.why != nil:
		text := fmt.Sprintf("%s, %s: %s", c.kind, c.why.Reason, short(c.why.Reason, c.why.Message))
		return strings.TrimSuffix(text, ": "+string(c.why.Reason))
	case c.request == nil:
		return string(c.kind)
	}
	text := fmt.Sprintf("%s: %s", c.kind, c.request.Policy)
	for _, want := range c.request.Containers {
		text += fmt.Sprintf(", %s %d", want.Name, want.CPUs)
		for _, id := range slices.Sorted(maps.Keys(want.PerNode)) {
			text += fmt.Sprintf(" numa%d=%d", id, want.PerNode[id])
		}
		if want.Kind != podspec.App {
			text += " " + want.Kind.String()
		}
	}
	return text
}
