package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/deviceplugin/kubelet"
	"github.com/numalet/numalet/pkg/gpu"
)

// TestGPUHolders checks that the method `merge` returns every pod that holds GPUs, with the devices
// of all its containers. The scheduler of the pod must not matter.
func TestGPUHolders(t *testing.T) {
	pod := func(name, hash string, phase corev1.PodPhase) *corev1.Pod {
		meta := metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}
		if hash != "" {
			meta.Annotations = map[string]string{v1alpha1.AnnotationConfigHash: hash, v1alpha1.AnnotationConfigMirror: hash}
		}
		return &corev1.Pod{ObjectMeta: meta, Status: corev1.PodStatus{Phase: phase}}
	}
	listed := func(name string, ids ...string) kubelet.PodDevices {
		return kubelet.PodDevices{Namespace: "ns", Name: name, Devices: ids}
	}
	holder := func(uid, name string, ids ...string) v1alpha1.GPUHolder {
		return v1alpha1.GPUHolder{UID: uid, Namespace: "ns", Name: name, Devices: ids}
	}
	h := &gpuHolders{
		pods: func() []*corev1.Pod {
			return []*corev1.Pod{pod("a", "", "Running"), pod("over", "", "Failed"), pod("static", "hash", "Running"), pod("stranger", "hash", "Running")}
		},
		known: func() *gpu.Inventory {
			return &gpu.Inventory{GPUs: []gpu.GPU{{UUID: "g0"}, {UUID: "g1"}, {UUID: "g2", MIG: true, Slices: []gpu.Slice{{UUID: "m2"}}}}}
		},
	}
	for name, tc := range map[string]struct {
		listed        []kubelet.PodDevices
		created, want []v1alpha1.GPUHolder
	}{
		"nobody":                     {},
		"a GPU, a share, a slice":    {listed: []kubelet.PodDevices{listed("a", "g0", "m2", "g1::3")}, want: []v1alpha1.GPUHolder{holder("uid-a", "a", "g0", "g1::3", "m2")}},
		"other devices":              {listed: []kubelet.PodDevices{listed("a", "numa0-cpu-1")}},
		"has ended, still listed":    {listed: []kubelet.PodDevices{listed("over", "g0")}, want: []v1alpha1.GPUHolder{holder("uid-over", "over", "g0")}},
		"has ended, still has tasks": {created: []v1alpha1.GPUHolder{holder("uid-over", "over", "g0")}, want: []v1alpha1.GPUHolder{holder("uid-over", "over", "g0")}},
		"unknown to the API server":  {listed: []kubelet.PodDevices{listed("lost", "g0")}, want: []v1alpha1.GPUHolder{holder("ns/lost", "lost", "g0")}},
		"static":                     {listed: []kubelet.PodDevices{listed("static", "g0")}, want: []v1alpha1.GPUHolder{holder("hash", "static", "g0")}},
		"one that says it is static": {
			listed: []kubelet.PodDevices{listed("static", "g0"), listed("stranger", "g1")},
			want:   []v1alpha1.GPUHolder{holder("hash", "static", "g0"), holder("ns/stranger", "stranger", "g1")},
		},
		"an init container's, too": {
			listed: []kubelet.PodDevices{listed("a", "g1")}, created: []v1alpha1.GPUHolder{holder("uid-a", "a", "g0", "g1")},
			want: []v1alpha1.GPUHolder{holder("uid-a", "a", "g0", "g1")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h.created = func() []v1alpha1.GPUHolder { return tc.created }
			if diff := cmp.Diff(tc.want, h.merge(tc.listed)); diff != "" {
				t.Errorf("holders (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGPUHoldersOverTime checks the holders while the kubelet restarts or does not answer: those of
// its last list, without pods that have ended since. An ended pod that the kubelet lists is a holder.
func TestGPUHoldersOverTime(t *testing.T) {
	type step struct {
		name   string
		listed string // names of the pods that the kubelet lists; pod a has the GPU g0, and so on
		err    error  // of the kubelet
		alive  string // names of the pods that the API server has and that have not ended
		ended  string
		want   string
	}
	busy := errors.New("busy")
	steps := []step{
		{"all", "a b s", nil, "a b", "", "a b s"},
		{"the kubelet has restarted", "", nil, "a b", "", "a b"},
		{"static pod s, too", "a b s", nil, "a b", "", "a b s"},
		{"no answer", "", busy, "a b", "", "a b s"},
		{"no answer, and a ended", "", busy, "b", "a", "b s"},
		{"a ended, and its containers are not stopped", "a b s", nil, "b", "a", "a b s"},
		{"a ended", "b s", nil, "b", "a", "b s"},
		{"b was deleted", "s", nil, "", "a", "s"},
	}
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Pointer[step]
		now.Store(&steps[0])
		h := &gpuHolders{
			list: func(context.Context) (list []kubelet.PodDevices, err error) {
				for _, name := range strings.Fields(now.Load().listed) {
					list = append(list, kubelet.PodDevices{Namespace: "ns", Name: name, Devices: []string{"g-" + name}})
				}
				return list, now.Load().err
			},
			created: func() []v1alpha1.GPUHolder { return nil },
			pods: func() (pods []*corev1.Pod) {
				for _, name := range strings.Fields(now.Load().alive) {
					pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}})
				}
				for _, name := range strings.Fields(now.Load().ended) {
					pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}, Status: corev1.PodStatus{Phase: corev1.PodFailed}})
				}
				return pods
			},
			known: func() *gpu.Inventory {
				return &gpu.Inventory{GPUs: []gpu.GPU{{UUID: "g-a"}, {UUID: "g-b"}, {UUID: "g-s"}}}
			},
			changed: func() {}, wake: make(chan struct{}, 1),
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = h.run(ctx) }()
		for _, s := range steps {
			now.Store(&s)
			h.notify()
			time.Sleep(holdersPause)
			synctest.Wait()
			var got []string
			for _, holder := range h.latest() {
				got = append(got, holder.Name)
			}
			if diff := cmp.Diff(s.want, strings.Join(slices.Sorted(slices.Values(got)), " ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", s.name, diff)
			}
		}
	})
}
