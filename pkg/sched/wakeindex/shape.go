package wakeindex

import (
	"fmt"
	"slices"

	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// Shapes groups pods by shape: pods of one shape are equal in everything that decides whether they
// fit a node (see ShapeOf). It must be used by only one goroutine at a time.
type Shapes struct {
	byKey map[string]*shape
	byPod map[string]*shape // by UID
}

// NewShapes returns an empty Shapes.
func NewShapes() *Shapes { return &Shapes{byKey: map[string]*shape{}, byPod: map[string]*shape{}} }

// shape is all pods for which ShapeOf returns the same key. It has at least one pod.
type shape struct {
	key    string
	sample *sched.Pod // copy of one of the pods; its function Avoid is nil, because pods of one shape can avoid different nodes
	pods   []*sched.Pod
	index  map[string]int // index of each pod in the field `pods`, by UID of the pod

	// The type Index stores shapes in a distbucket.Index. It uses these two fields.
	handle distbucket.Handle // identifies the shape in the distbucket.Index
	search uint64            // number of the last search that found the shape, so that its result has the shape only once
}

// add adds a pod. It returns the pod's shape, and true if the shape is new.
func (g *Shapes) add(pod *sched.Pod) (*shape, bool) {
	k := ShapeOf(pod)
	s, known := g.byKey[k]
	if !known {
		sample := *pod
		sample.Avoid = nil
		s = &shape{key: k, sample: &sample, index: map[string]int{}}
		g.byKey[k] = s
	}
	s.index[pod.UID] = len(s.pods)
	s.pods = append(s.pods, pod)
	g.byPod[pod.UID] = s
	return s, !known
}

// remove removes a pod. It returns the pod's shape, and true if the shape has no pod left. It
// returns nil if the pod was not added.
func (g *Shapes) remove(uid string) (*shape, bool) {
	s := g.byPod[uid]
	if s == nil {
		return nil, false
	}
	i, last := s.index[uid], len(s.pods)-1
	s.pods[i] = s.pods[last]
	s.index[s.pods[i].UID] = i
	s.pods[last] = nil
	s.pods = s.pods[:last]
	delete(s.index, uid)
	delete(g.byPod, uid)
	if last == 0 {
		delete(g.byKey, s.key)
	}
	return s, last == 0
}

// Add adds a pod. The Shapes must not have a pod with this UID.
func (g *Shapes) Add(pod *sched.Pod) { g.add(pod) }

// Remove removes a pod, if it was added.
func (g *Shapes) Remove(uid string) { g.remove(uid) }

// Len returns the number of pods.
func (g *Shapes) Len() int { return len(g.byPod) }

// Released returns the pods that need not wait for something other than nodes, such as a quota: the
// function sched.Pod.Wait returns no reason for them. The pods are in any order. Released calls Wait
// once for each shape.
func (g *Shapes) Released() (pods []*sched.Pod) {
	for _, s := range g.byKey {
		if !s.sample.Waits().Refuses() {
			pods = append(pods, s.pods...)
		}
	}
	return pods
}

// ShapeOf returns the key of a pod's shape. Pods with equal keys fit the same nodes, in the sense
// of Index.Helped, with two exceptions: what is reserved on a node for one of these pods can be
// used only by that pod, and some of these pods may avoid a node (sched.Pod.Avoid). A gang has a
// shape of its own, and so has a pod whose fit may depend on its Seed.
func ShapeOf(pod *sched.Pod) string {
	if pod.Gang != nil || seedMatters(pod) {
		return "only " + pod.UID
	}
	gpus, tenant := pod.GPUs, ""
	if gpus.Offer != nil || pod.Wait != nil {
		tenant = "of " + pod.Tenant
	}
	// Texts are quoted, because two neighboring texts without quotes could have the same key as two
	// other texts: "a", "bc" and "ab", "c". NodeRules needs no quotes, because it is the last one.
	return fmt.Sprintf("%v %v %v %d %d %q %q %q %q %d %v %t %q %q %q ", pod.Requests, pod.CPUPolicy, pod.Exclusive,
		gpus.Count, gpus.Milli, gpus.Types, gpus.Group, gpus.Part.Resource, gpus.Part.Kind, gpus.Part.Count, gpus.PerContainer,
		pod.Candidates == nil, pod.Candidates, pod.Profile, tenant) + pod.NodeRules
}

// seedMatters reports whether the fit of a pod on a node may depend on its Seed. The Seed chooses
// the CPUs of a pod with the CPU policy podspec.Random. If no container of such a pod names its
// NUMA nodes, the pod fits wherever enough CPUs are free, whatever the Seed chooses. If a container
// names its NUMA nodes, package numaplan searches for the CPUs, beginning with the choice of the
// Seed. If such a search reaches its limit (numaplan.SearchCut), it may have missed a placement
// that it would find with another Seed.
func seedMatters(pod *sched.Pod) bool {
	return pod.CPUPolicy == podspec.Random && slices.ContainsFunc(pod.Exclusive, func(c podspec.Container) bool { return c.PerNode != nil })
}

// fits reports whether a pod may fit a node. For a gang, it reports whether any member may fit. It
// tries only the first few ways to place the pod's exclusive containers, because the queue waits
// for the result. If none of these ways works and there are more, it returns true.
func fits(pod *sched.Pod, node *sched.Node) bool {
	pods, _ := pod.Together()
	for _, p := range pods {
		why := filter.Check(p.Within(new(numaplan.Effort)), node)
		if (!why.Refuses() || why.Code == sched.SearchCut) && (p.Admits == nil || p.Admits(node)) {
			return true
		}
	}
	return false
}
