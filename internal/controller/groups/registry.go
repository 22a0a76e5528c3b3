package groups

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group"
)

const (
	// batchDelay is how long the registry collects changes before it checks all groups.
	batchDelay = 20 * time.Millisecond
	// Permissions are checked again every recheckInterval, because the API server has no watch for
	// permissions.
	recheckInterval = 15 * time.Second
	// refusedRecheckInterval replaces recheckInterval while at least one group is not accepted.
	refusedRecheckInterval = 2 * time.Second
)

// Dependencies are what a Registry calls.
type Dependencies struct {
	// Allowed reports whether a tenant may use a GPU of a node. id is the UUID of the GPU. An error
	// means that the answer is not known.
	Allowed func(ctx context.Context, tenant, node, id string) (bool, error)
	// Authors tells which tenants and GPUs the author of a group may use. If it is nil, the
	// permissions of authors are not checked.
	Authors Authors
	// Report is called with each verdict on a group that differs from the previous verdict on the
	// same group.
	Report func(Verdict)
	// Panicked is called when the check of a group panics.
	Panicked func(object string, cause any)
}

// Registry decides which GPU groups are in force. The version of a group's spec that was accepted
// last is in force as long as each of the group's tenants has permission to use each of its GPUs.
// This version stays in force even if some of its nodes or GPUs disappear. If a tenant loses the
// permission for one of the GPUs, the group is closed: nobody gets its GPUs. A closed group keeps
// its GPUs, because GPUs that are in no group are open to all tenants. If a closed group lost its
// GPUs, a mistake in a role would give the GPUs of one tenant to all others. A group that was never
// accepted has no effect. Any goroutine may call the methods of Registry.
//
// Whether a group is accepted depends on permissions, for which the registry must ask the API
// server. So only Run accepts groups, in one goroutine. After each change Run checks the GPUs of
// all groups. A change of a group's spec takes effect after batchDelay and after the checks of the
// permissions for this group. For the other groups in force, Run checks the permissions again only
// at intervals, or when the GPUs of a node have changed.
type Registry struct {
	deps     Dependencies
	onChange []func([]group.Group)
	current  atomic.Pointer[snapshot]
	changed  chan struct{}
	ready    atomic.Bool
	verdicts map[string]Verdict // by group name; only Run uses it

	mu struct {
		sync.Mutex
		groups map[string]*v1alpha1.GPUGroup
		nodes  group.Nodes
		moved  bool // the GPUs of nodes have changed since the last check
	}
}

// snapshot has the groups that are in force, and the closed groups, whose GPUs nobody gets (see
// Registry). For each group that is not in force, it has the reason. A snapshot is immutable.
type snapshot struct {
	grouping *group.Grouping
	refused  map[string]string // reasons, by group name
	empty    bool              // whether no group is in force or closed; stored because it is read for every pod
}

func newSnapshot(inForce []group.Group, nodes group.Nodes, refused map[string]string) *snapshot {
	grouping := group.New(inForce, nodes)
	return &snapshot{grouping, refused, grouping.Empty()}
}

// NewRegistry returns a Registry without groups and nodes.
func NewRegistry(d Dependencies) *Registry {
	r := &Registry{deps: d, changed: make(chan struct{}, 1), verdicts: map[string]Verdict{}}
	r.mu.groups, r.mu.nodes = map[string]*v1alpha1.GPUGroup{}, group.Nodes{}
	r.current.Store(newSnapshot(nil, nil, map[string]string{}))
	return r
}

// OnChange adds a function that Run calls with the groups in force when results of Match may have
// changed. OnChange must be called before Run. Run calls the functions in the order in which they
// were added, and before Dependencies.Report.
func (r *Registry) OnChange(f func(inForce []group.Group)) { r.onChange = append(r.onChange, f) }

// Match returns the groups in force that serve a request for GPUs. If the request names a group
// that is not in force, the error says why.
func (r *Registry) Match(request group.Request) (group.Match, error) {
	now := r.current.Load()
	if why, refused := now.refused[request.Group]; refused {
		return group.Match{}, fmt.Errorf("GPU group %q is not accepted: %s", request.Group, why)
	}
	return now.grouping.Match(request)
}

// Empty reports whether there is no group in force, and no closed group either. Nobody gets the
// GPUs of a closed group (see Registry).
func (r *Registry) Empty() bool { return r.current.Load().empty }

// HasSynced reports whether Run has checked all groups and nodes of the informers' initial lists.
func (r *Registry) HasSynced() bool { return r.ready.Load() }

// SetGroup adds or replaces a group.
func (r *Registry) SetGroup(group *v1alpha1.GPUGroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.groups[group.Name] = group
	r.notify()
}

// RemoveGroup removes a group.
func (r *Registry) RemoveGroup(group *v1alpha1.GPUGroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.groups, group.Name)
	r.notify()
}

// SetNode adds a node, or replaces its GPUs.
func (r *Registry) SetNode(topology *v1alpha1.NodeTopology) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v := Inventory(topology); !reflect.DeepEqual(v, r.node(topology.Name)) {
		r.mu.nodes[topology.Name], r.mu.moved = v, true
		r.notify()
	}
}

// node returns the GPUs of a node. It returns no GPUs if the node is unknown. The caller holds
// r.mu.
func (r *Registry) node(name string) *gpu.Inventory {
	if v := r.mu.nodes[name]; v != nil {
		return v
	}
	return &gpu.Inventory{}
}

// RemoveNode removes a node.
func (r *Registry) RemoveNode(topology *v1alpha1.NodeTopology) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.nodes, topology.Name)
	r.mu.moved = true
	r.notify()
}

// notify makes Run check all groups soon.
func (r *Registry) notify() {
	select {
	case r.changed <- struct{}{}:
	default: // Run is notified already
	}
}

// Run checks all groups after each change and at intervals, until ctx is done. The function
// `synced` (a parameter) reports whether the initial lists of the informers were handled.
func (r *Registry) Run(ctx context.Context, synced func() bool) error {
	r.notify()
	var checked time.Time // when the permissions of all groups were last checked
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Until(checked.Add(r.interval()))):
		case <-r.changed:
			time.Sleep(batchDelay)
		}
		complete, recheck := synced(), time.Since(checked) >= r.interval()
		if recheck {
			checked = time.Now()
		}
		r.checkGroups(ctx, recheck)
		if complete {
			r.ready.Store(true)
		} else {
			r.notify()
		}
	}
}

// interval returns how long Run waits until it checks the permissions of all groups again.
func (r *Registry) interval() time.Duration {
	for _, v := range r.verdicts {
		if !v.Accepted {
			return refusedRecheckInterval
		}
	}
	return recheckInterval
}

// checkGroups checks all groups, publishes those in force and reports new verdicts. It checks the
// permissions of groups in force again only if `recheck` is true, or if the GPUs of nodes have
// changed.
func (r *Registry) checkGroups(ctx context.Context, recheck bool) {
	objects, nodes, moved := r.input()
	var verdicts []Verdict
	var inForce, closed []group.Group
	refused := map[string]string{}
	for _, object := range objects {
		v := r.contained(object, func() Verdict { return r.checkGroup(ctx, object, nodes, recheck || moved) })
		verdicts = append(verdicts, v)
		switch {
		case v.Serves:
			inForce = append(inForce, Read(inForm(object, v.InForce)))
			continue
		case v.InForce != nil:
			closed = append(closed, withoutTenants(Read(inForm(object, v.InForce))))
		}
		refused[v.Name] = v.Message
	}
	now := newSnapshot(slices.Concat(inForce, closed), nodes, refused)
	if !reflect.DeepEqual(now, r.current.Load()) {
		r.current.Store(now)
		for _, changed := range r.onChange {
			changed(inForce)
		}
	}
	r.report(verdicts, now.grouping)
}

// input returns the GPUGroup objects, sorted by name, and the GPUs of the nodes. The result `moved`
// says whether the GPUs of any node have changed since the last call of this method.
func (r *Registry) input() (objects []*v1alpha1.GPUGroup, nodes group.Nodes, moved bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	moved, r.mu.moved = r.mu.moved, false
	objects = slices.SortedFunc(maps.Values(r.mu.groups), func(a, b *v1alpha1.GPUGroup) int { return cmp.Compare(a.Name, b.Name) })
	return objects, maps.Clone(r.mu.nodes), moved
}

// contained calls the function given as `check`, and returns its verdict on a group. If `check`
// panics, the method returns a verdict that says so. A group that was accepted before is then
// closed: nobody gets its GPUs (see Registry). So a panic in the check of one group affects neither
// the other groups nor the scheduling of pods.
func (r *Registry) contained(object *v1alpha1.GPUGroup, check func() Verdict) (verdict Verdict) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		r.deps.Panicked("GPUGroup "+object.Name, cause)
		verdict = Verdict{
			Name: object.Name, UID: object.UID, Generation: object.Generation, InForce: r.lastInForce(object),
			Reason: checkFailed, Message: "the controller failed to check the group: report this with the controller's log, which has the cause",
		}
		if verdict.InForce != nil {
			verdict = verdict.closed("")
		}
	}()
	return check()
}

// withoutTenants returns a copy of a group without its tenants. Nobody gets the GPUs of the copy.
func withoutTenants(g group.Group) group.Group {
	g.Tenants, g.Quota = nil, 0
	return g
}

// checkGroup returns the verdict on a group's newest spec. If this spec is not accepted, the
// verdict says whether the version that was accepted last stays in force. If `recheck` is false, the
// permissions for a version in force are not checked again.
func (r *Registry) checkGroup(ctx context.Context, object *v1alpha1.GPUGroup, nodes group.Nodes, recheck bool) Verdict {
	last := r.lastInForce(object)
	before := last != nil && last.Generation == object.Generation
	v := r.checkForm(ctx, object, nodes, before, recheck)
	v.InForce = last
	switch {
	case v.Accepted:
		v.InForce = &v1alpha1.GPUGroupForm{Generation: object.Generation, Spec: object.Spec}
		return v
	case last == nil:
		return v
	case before:
		return v.closed("")
	}
	return v.serving(r.checkForm(ctx, inForm(object, v.InForce), nodes, true, recheck))
}

// inForm returns a copy of a GPUGroup object with the spec and the generation given as `form`, which
// are those of another version of the object.
func inForm(object *v1alpha1.GPUGroup, form *v1alpha1.GPUGroupForm) *v1alpha1.GPUGroup {
	changed := *object
	changed.Generation, changed.Spec = form.Generation, form.Spec
	return &changed
}

// lastInForce returns the version of a group's spec that was accepted last. If this registry has
// no verdict on the group yet, lastInForce takes the version from the group's status, which a
// former leader has written. It returns nil if no version was ever accepted.
func (r *Registry) lastInForce(object *v1alpha1.GPUGroup) *v1alpha1.GPUGroupForm {
	if v, known := r.verdicts[object.Name]; known && v.UID == object.UID {
		return v.InForce
	}
	if object.Status.InForce == nil && isAccepted(object) {
		return &v1alpha1.GPUGroupForm{Generation: object.Generation, Spec: object.Spec}
	}
	return object.Status.InForce
}

// checkForm returns the verdict on one version of a group's spec. The parameter `before` is true if
// this version was accepted before. Such a version is accepted again even if some of its GPUs have
// disappeared, or if its permissions cannot be checked.
func (r *Registry) checkForm(ctx context.Context, object *v1alpha1.GPUGroup, nodes group.Nodes, before, recheck bool) Verdict {
	g, v := Read(object), Verdict{Name: object.Name, UID: object.UID, Generation: object.Generation}
	if g.Form == gpu.Virtual {
		v.Reason, v.Message = partsNotServed, fmt.Sprintf("group %q: groups of parts of GPUs keep nobody out, because the kubelet alone decides which part a container gets: set the form to %s", g.Name, gpu.Physical)
		return v
	}
	why := group.Check(g, nodes, nil)
	if before {
		why = slices.DeleteFunc(why, isGone)
	}
	if len(why) > 0 {
		return v.refused(why)
	}
	if old := r.verdicts[object.Name]; !recheck && old.serves(object) {
		v.Accepted, v.Serves = true, true
		return v
	}
	why, err := r.missingPermissions(ctx, g, nodes)
	if len(why) == 0 && err == nil && !before {
		var missing string
		if missing, err = r.authorLacks(ctx, object, nodes); missing != "" {
			v.Reason, v.Message = authorNotAllowed, missing
			return v
		}
	}
	switch {
	case len(why) > 0:
		return v.refused(why)
	case err != nil && !before:
		v.Reason, v.Message = notChecked, err.Error()
		return v
	}
	v.Accepted, v.Serves = true, true
	return v
}

// isAccepted reports whether the status says that the newest version of a group's spec is accepted.
func isAccepted(object *v1alpha1.GPUGroup) bool {
	return object.Status.ObservedGeneration == object.Generation && meta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionAccepted)
}

// isGone reports whether the reason of a refusal may be that a GPU or a node has disappeared. A
// group that was accepted before is not refused for such a reason: it keeps its remaining GPUs.
func isGone(r *group.GPURefusal) bool {
	switch r.Reason {
	case group.UnknownNode, group.UnknownGPU, group.GPUElsewhere, group.WrongForm, group.WrongType:
		return true
	}
	return false
}

// missingPermissions returns a refusal for each GPU of a group that a tenant of the group may not
// use. The error means that some permissions are not known.
func (r *Registry) missingPermissions(ctx context.Context, g group.Group, nodes group.Nodes) (why []*group.GPURefusal, failed error) {
	tenants := g.Tenants
	for _, tenant := range tenants {
		g.Tenants = []string{tenant}
		allowed := func(node, id string) bool {
			ok, err := r.deps.Allowed(ctx, tenant, node, id)
			failed = cmp.Or(failed, err)
			return ok || err != nil
		}
		for _, refusal := range group.Check(g, nodes, allowed) {
			if refusal.Reason == group.NoPermission {
				why = append(why, refusal)
			}
		}
	}
	return why, failed
}

// report stores the verdicts, and calls Dependencies.Report with each verdict that differs from
// the previous verdict on the same group.
func (r *Registry) report(verdicts []Verdict, grouping *group.Grouping) {
	before := r.verdicts
	r.verdicts = map[string]Verdict{}
	for _, v := range verdicts {
		if v.InForce != nil {
			v = v.withGPUs(grouping.HeldGPUs(v.Name))
		}
		r.verdicts[v.Name] = v
		if old, known := before[v.Name]; !known || !reflect.DeepEqual(old, v) {
			r.deps.Report(v)
		}
	}
}
