package groups

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// pause is how long a scribe waits after it has written: pods that come and go
// change what is used, and each write costs the API server more than a bind.
const pause = time.Second

// Scribe writes the statuses of groups: what is so against what they say. Its
// methods may be called from any goroutine, but Run once.
type Scribe struct {
	client  dynamic.Interface
	holders func(group string) map[string]sched.MilliGPU
	now     func() time.Time
	news    chan struct{}
	mu      struct {
		sync.Mutex
		objects  map[string]*v1alpha1.GPUGroup
		verdicts map[string]Verdict
	}
}

// NewScribe returns a scribe that writes with a client; holders says how much of a
// group each tenant holds.
func NewScribe(client dynamic.Interface, holders func(string) map[string]sched.MilliGPU, now func() time.Time) *Scribe {
	s := &Scribe{client: client, holders: holders, now: now, news: make(chan struct{}, 1)}
	s.mu.objects, s.mu.verdicts = map[string]*v1alpha1.GPUGroup{}, map[string]Verdict{}
	return s
}

// SetGroup tells how a group is now.
func (s *Scribe) SetGroup(g *v1alpha1.GPUGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.objects[g.Name] = g
	s.Poke()
}

// RemoveGroup tells that there is no such group any more.
func (s *Scribe) RemoveGroup(g *v1alpha1.GPUGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.objects, g.Name)
	delete(s.mu.verdicts, g.Name)
}

// Say tells what became of a group.
func (s *Scribe) Say(v Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.verdicts[v.Name] = v
	s.Poke()
}

// Poke says that somebody may hold more or less than before. It returns at once.
func (s *Scribe) Poke() {
	select {
	case s.news <- struct{}{}:
	default: // somebody said so already
	}
}

// Run writes until ctx ends.
func (s *Scribe) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.news:
		}
		if s.write(ctx) {
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
}

// write writes the statuses that are not as they should be, and reports whether
// there were any. What failed is tried again after the next pause.
func (s *Scribe) write(ctx context.Context) (wrote bool) {
	for object, status := range s.wrong() {
		wrote = true
		if err := write(ctx, s.client, object, status); err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "its author sees an old one")
			s.Poke()
		}
	}
	return wrote
}

func (s *Scribe) wrong() map[*v1alpha1.GPUGroup]v1alpha1.GPUGroupStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	wrong := map[*v1alpha1.GPUGroup]v1alpha1.GPUGroupStatus{}
	for name, object := range s.mu.objects {
		v, known := s.mu.verdicts[name]
		if !known || !v.of(object) {
			continue
		}
		should := status(object.Status, v, s.holders(name), metav1.NewTime(s.now()))
		if !equality.Semantic.DeepEqual(should, object.Status) {
			wrong[object] = should
		}
	}
	return wrong
}
