package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/google/go-cmp/cmp"
)

// TestPlugin creates three containers while a pod of two containers runs. It checks that the first
// two creations move the two containers of the pod to the given CPU sets, and that the third
// creation moves none.
func TestPlugin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		ctx, p := context.Background(), newPlugin("crowd", []string{"0-11", "0-7"}, &out)
		crowd, other := &api.PodSandbox{Id: "s1", Name: "crowd"}, &api.PodSandbox{Id: "s2", Name: "trigger"}
		there := []*api.Container{{Id: "c1", PodSandboxId: "s1"}, {Id: "c2", PodSandboxId: "s1"}, {Id: "c3", PodSandboxId: "s2"}}
		if _, err := p.Synchronize(ctx, []*api.PodSandbox{crowd, other}, there); err != nil {
			t.Fatal(err)
		}
		var moved [][]string
		for i, pod := range []*api.PodSandbox{crowd, other, other, other} {
			c := &api.Container{Id: string(rune('x' + i)), PodSandboxId: pod.Id}
			_, updates, err := p.CreateContainer(ctx, pod, c)
			if err != nil {
				t.Fatal(err)
			}
			moved = append(moved, described(updates))
			time.Sleep(time.Duration(i) * time.Millisecond)
			if err := p.PostCreateContainer(ctx, pod, c); err != nil {
				t.Fatal(err)
			}
		}
		want := [][]string{nil, {"c1 to 0-11", "c2 to 0-11"}, {"c1 to 0-7", "c2 to 0-7"}, nil}
		if diff := cmp.Diff(want, moved); diff != "" {
			t.Errorf("moved (-want +got):\n%s", diff)
		}
		said := "synchronized 2\ncreated 1000000 2 0-11\ncreated 2000000 2 0-7\ncreated 3000000 0 none\n"
		if diff := cmp.Diff(said, out.String()); diff != "" {
			t.Errorf("printed (-want +got):\n%s", diff)
		}
	})
}

func described(updates []*api.ContainerUpdate) []string {
	var out []string
	for _, u := range updates {
		out = append(out, u.GetContainerId()+" to "+u.GetLinux().GetResources().GetCpu().GetCpus())
	}
	return out
}
