package nri

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// somePod and someContainer return a sandbox and a container with values as containerd 2.4 sends
// them.
func somePod() *api.PodSandbox {
	return &api.PodSandbox{
		Id: "s1", Name: "pod", Namespace: "ns", Uid: "u1",
		Annotations: map[string]string{"numalet.dev/cpu-policy": "single"},
		Linux: &api.LinuxPodSandbox{
			CgroupParent: "/kubepods/podu1", CgroupsPath: "/kubepods/podu1/s1",
		},
	}
}

func someContainer() *api.Container {
	return &api.Container{
		Id: "c1", PodSandboxId: "s1", Name: "main",
		Annotations: map[string]string{"allocated.numalet.dev/numa1-cpu": "numa1-cpu-2"},
		Linux: &api.LinuxContainer{
			CgroupsPath: "/kubepods/podu1/c1",
			Resources: &api.LinuxResources{
				Cpu: &api.LinuxCPU{
					Cpus: "0-3", Mems: "0-1", Shares: api.UInt64(4096), Quota: api.Int64(400_000), Period: api.UInt64(100_000),
				},
				Memory: &api.LinuxMemory{Limit: api.Int64(1 << 30)},
			},
		},
	}
}

func TestProtocol(t *testing.T) {
	socket, n, ctx := socketIn(t), &recorder{}, context.Background()
	runtime := newRuntime(t, socket)
	runtime.pods = []*adaptation.PodSandbox{somePod()}
	runtime.containers = []*adaptation.Container{someContainer(), {Id: "stray", PodSandboxId: "forgotten", Name: "main", Labels: map[string]string{
		labelPodUID: "u2", labelPodName: "lost", labelPodNamespace: "ns",
	}}}
	plugin := connect(t, socket, n)
	runtime.synchronized(t, plugin)
	steps := []struct {
		name string
		call func() error
		want string
	}{
		{"run", func() error {
			return runtime.RunPodSandbox(ctx, &adaptation.RunPodSandboxRequest{Pod: somePod()})
		}, "run sandbox s1 of ns/pod in /kubepods/podu1/s1"},
		{"start", func() error {
			return runtime.StartContainer(ctx, &adaptation.StartContainerRequest{Pod: somePod(), Container: someContainer()})
		}, "start ns/pod/main"},
		{"post-update", func() error {
			return runtime.PostUpdateContainer(ctx, &adaptation.PostUpdateContainerRequest{Pod: somePod(), Container: someContainer()})
		}, "updated ns/pod/main"},
		{"remove", func() error {
			return runtime.RemoveContainer(ctx, &adaptation.RemoveContainerRequest{Pod: somePod(), Container: someContainer()})
		}, "remove ns/pod/main"},
		{"stop sandbox", func() error {
			return runtime.StopPodSandbox(ctx, &adaptation.StopPodSandboxRequest{Pod: somePod()})
		}, "stop sandbox s1 of ns/pod"},
		{"remove sandbox", func() error {
			return runtime.RemovePodSandbox(ctx, &adaptation.RemovePodSandboxRequest{Pod: somePod()})
		}, "remove sandbox s1 of ns/pod"},
	}
	if diff := cmp.Diff([]string{"synchronize 1 sandboxes", "has ns/pod/main on 0-3", "has ns/lost/main on "}, n.taken()); diff != "" {
		t.Errorf("first hook (-want +got):\n%s", diff)
	}
	for _, tc := range steps {
		if err := tc.call(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff([]string{tc.want}, n.taken()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestCreateContainer(t *testing.T) {
	socket, n := socketIn(t), &recorder{specs: []workload.Spec{{ContainerID: "c9", CPUs: cpuset.Of(5)}}}
	runtime := newRuntime(t, socket)
	runtime.synchronized(t, connect(t, socket, n))
	for name, tc := range map[string]struct {
		decision workload.Decision
		want     *api.LinuxCPU
	}{
		"shared":           {workload.Decision{CPUs: cpuset.MustParse("0,4-7")}, &api.LinuxCPU{Cpus: "0,4-7"}},
		"exclusive":        {workload.Decision{CPUs: cpuset.Of(1, 2), Exclusive: true}, &api.LinuxCPU{Cpus: "1-2", Quota: api.Int64(-1)}},
		"exclusive, bound": {workload.Decision{CPUs: cpuset.Of(1), Mems: []topology.NodeID{0, 2}, Exclusive: true}, &api.LinuxCPU{Cpus: "1", Mems: "0,2", Quota: api.Int64(-1)}},
	} {
		t.Run(name, func(t *testing.T) {
			n.decision = tc.decision
			reply, err := runtime.CreateContainer(context.Background(), &adaptation.CreateContainerRequest{Pod: somePod(), Container: someContainer()})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, reply.GetAdjust().GetLinux().GetResources().GetCpu(), protocmp.Transform()); diff != "" {
				t.Errorf("adjustment (-want +got):\n%s", diff)
			}
			updates := []*api.ContainerUpdate{{
				ContainerId: "c9", IgnoreFailure: true,
				Linux: &api.LinuxContainerUpdate{Resources: &api.LinuxResources{Cpu: &api.LinuxCPU{Cpus: "5"}}},
			}}
			if diff := cmp.Diff(updates, reply.GetUpdate(), protocmp.Transform(), protocmp.IgnoreEmptyMessages()); diff != "" {
				t.Errorf("updates of containers not started yet (-want +got):\n%s", diff)
			}
		})
	}
	want := workload.Container{
		ID: "c1", Name: "main", Cgroup: "/kubepods/podu1/c1",
		Annotations: map[string]string{"allocated.numalet.dev/numa1-cpu": "numa1-cpu-2"},
		Sandbox: workload.Sandbox{
			ID: "s1", Pod: workload.Pod{UID: "u1", Namespace: "ns", Name: "pod"},
			Annotations: map[string]string{"numalet.dev/cpu-policy": "single"},
			PodCgroup:   "/kubepods/podu1", Cgroup: "/kubepods/podu1/s1",
		},
		Resources: workload.Resources{
			CPUs: cpuset.MustParse("0-3"), Mems: []topology.NodeID{0, 1},
			Shares: 4096, QuotaMicros: 400_000, PeriodMicros: 100_000, MemoryBytes: 1 << 30,
		},
	}
	if diff := cmp.Diff(want, n.last); diff != "" {
		t.Errorf("container as the node saw it (-want +got):\n%s", diff)
	}
}

// TestCreateContainerGPUs checks that the plugin changes NVIDIA_VISIBLE_DEVICES of a container only
// if the Node, the interface that decides about CPUs and GPUs, returns a value for it.
func TestCreateContainerGPUs(t *testing.T) {
	socket, n := socketIn(t), &recorder{decision: workload.Decision{CPUs: cpuset.Of(1)}}
	runtime := newRuntime(t, socket)
	runtime.synchronized(t, connect(t, socket, n))
	for gpus, want := range map[string]string{"": "NVIDIA_VISIBLE_DEVICES=all", "GPU-a,MIG-b": "NVIDIA_VISIBLE_DEVICES=GPU-a,MIG-b"} {
		n.gpus = gpus
		env := []string{"NVIDIA_VISIBLE_DEVICES=all"}
		c := someContainer()
		c.Env = slices.Clone(env)
		if _, err := runtime.CreateContainer(context.Background(), &adaptation.CreateContainerRequest{Pod: somePod(), Container: c}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{want}, c.Env); diff != "" {
			t.Errorf("environment after GPUs %q (-want +got):\n%s", gpus, diff)
		}
		if diff := cmp.Diff(env, n.last.Env); diff != "" {
			t.Errorf("environment told (-want +got):\n%s", diff)
		}
	}
}

func TestUpdateContainer(t *testing.T) {
	socket, n := socketIn(t), &recorder{decision: workload.Decision{CPUs: cpuset.Of(1, 2), Exclusive: true}}
	runtime := newRuntime(t, socket)
	runtime.synchronized(t, connect(t, socket, n))
	n.taken()
	reply, err := runtime.UpdateContainer(context.Background(), &adaptation.UpdateContainerRequest{
		Pod: somePod(), Container: someContainer(),
		LinuxResources: &api.LinuxResources{Cpu: &api.LinuxCPU{Shares: api.UInt64(2048), Quota: api.Int64(200_000), Period: api.UInt64(100_000)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &api.LinuxCPU{Cpus: "1-2", Shares: api.UInt64(2048), Quota: api.Int64(-1), Period: api.UInt64(100_000)}
	if diff := cmp.Diff(want, reply.Update[len(reply.Update)-1].GetLinux().GetResources().GetCpu(), protocmp.Transform()); diff != "" {
		t.Errorf("merged update (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"update ns/pod/main to 2048 shares, quota 200000/100000"}, n.taken()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestWithoutCPUs checks that the plugin sets no CPUs if the node's answer has none, and that an
// update then keeps the resources that the kubelet requested.
func TestWithoutCPUs(t *testing.T) {
	socket, n, ctx := socketIn(t), &recorder{}, context.Background()
	runtime := newRuntime(t, socket)
	runtime.synchronized(t, connect(t, socket, n))
	created, err := runtime.CreateContainer(ctx, &adaptation.CreateContainerRequest{Pod: somePod(), Container: someContainer()})
	if err != nil {
		t.Fatal(err)
	}
	if cpu := created.GetAdjust().GetLinux().GetResources().GetCpu(); cpu.GetCpus() != "" {
		t.Errorf("the new container gets %v, want no CPUs in its spec", cpu)
	}
	updated, err := runtime.UpdateContainer(ctx, &adaptation.UpdateContainerRequest{
		Pod: somePod(), Container: someContainer(), LinuxResources: &api.LinuxResources{Cpu: &api.LinuxCPU{Shares: api.UInt64(512)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range updated.Update {
		if u != nil { // without an update, the runtime applies the resources of the request
			t.Errorf("the update changes the requested resources to %v", u)
		}
	}
}

func TestErrorFailsTheRequest(t *testing.T) {
	socket, n, ctx := socketIn(t), &recorder{err: errors.New("numalet: no CPU is free")}, context.Background()
	runtime := newRuntime(t, socket)
	plugin := connect(t, socket, n)
	runtime.synchronized(t, plugin)
	pod, c := somePod(), someContainer()
	for name, call := range map[string]func() error{
		"run": func() error { return runtime.RunPodSandbox(ctx, &adaptation.RunPodSandboxRequest{Pod: pod}) },
		"create": func() error {
			_, err := runtime.CreateContainer(ctx, &adaptation.CreateContainerRequest{Pod: pod, Container: c})
			return err
		},
		"start": func() error {
			return runtime.StartContainer(ctx, &adaptation.StartContainerRequest{Pod: pod, Container: c})
		},
		"update": func() error {
			_, err := runtime.UpdateContainer(ctx, &adaptation.UpdateContainerRequest{Pod: pod, Container: c, LinuxResources: &api.LinuxResources{}})
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "no CPU is free") {
			t.Errorf("%s: error %v, want the node's", name, err)
		}
	}
	if err := plugin.Ready(); err != nil {
		t.Errorf("an error cost the connection: %v", err)
	}
}

// TestRefusedStart checks that the plugin ends the processes of a container whose start it refuses,
// if the container runtime would start the container nevertheless.
func TestRefusedStart(t *testing.T) {
	refuse := func(r *recorder) { r.err = errors.New("no CPU is free") }
	start, kill := "start ns/pod/main", "kill "+someContainer().GetLinux().GetCgroupsPath()
	for name, tc := range map[string]struct {
		runtime, version string
		fails            func(*recorder)
		err              string
		want             []string
	}{
		"containerd":        {"containerd", "v2.4.2", refuse, "no CPU is free", []string{start}},
		"CRI-O":             {"cri-o", "1.36.1", refuse, "no CPU is free", []string{start, kill}},
		"CRI-O, a panic":    {"cri-o", "1.36.1", func(r *recorder) { r.panics = true }, "panicked", []string{start, kill}},
		"CRI-O, started":    {"cri-o", "1.36.1", func(*recorder) {}, "", []string{start}},
		"CRI-O, not killed": {"cri-o", "1.36.1", func(r *recorder) { refuse(r); r.cannotKill = errors.New("gone") }, "no CPU is free; the container may start nevertheless: gone", []string{start, kill}},
	} {
		t.Run(name, func(t *testing.T) {
			socket, n := socketIn(t), &recorder{}
			runtime := newRuntimeNamed(t, socket, tc.runtime, tc.version)
			runtime.synchronized(t, connect(t, socket, n))
			n.taken()
			tc.fails(n)
			err := runtime.StartContainer(context.Background(), &adaptation.StartContainerRequest{Pod: somePod(), Container: someContainer()})
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("StartContainer = %v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, n.taken()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPanicFailsOneHook checks that a panic in a hook makes only this hook fail: the hook returns
// an error, and later hooks still work.
func TestPanicFailsOneHook(t *testing.T) {
	socket, n, ctx := socketIn(t), &recorder{}, context.Background()
	runtime := newRuntime(t, socket)
	plugin := connect(t, socket, n)
	runtime.synchronized(t, plugin)
	create := func() error {
		_, err := runtime.CreateContainer(ctx, &adaptation.CreateContainerRequest{Pod: somePod(), Container: someContainer()})
		return err
	}
	n.panics = true
	if err := create(); err == nil || !strings.Contains(err.Error(), "the hook CreateContainer panicked: no such pod") {
		t.Errorf("the creation failed with %v, want the panic", err)
	}
	if err := runtime.RunPodSandbox(ctx, &adaptation.RunPodSandboxRequest{Pod: somePod()}); err == nil {
		t.Error("the sandbox was created, want the panic")
	}
	n.panics = false
	if err := create(); err != nil || plugin.Ready() != nil {
		t.Errorf("the next creation failed with %v, and the plugin is ready: %v", err, plugin.Ready())
	}
}

// TestHookEndsInTime checks that a hook that hangs returns an error before the container runtime's
// timeout. After the timeout, a runtime with NRI before 0.12.5 may continue without the plugin.
func TestHookEndsInTime(t *testing.T) {
	socket, n := socketIn(t), &recorder{hang: true}
	runtime := newRuntime(t, socket)
	plugin := connect(t, socket, n)
	runtime.synchronized(t, plugin)
	start := time.Now()
	_, err := runtime.CreateContainer(context.Background(), &adaptation.CreateContainerRequest{Pod: somePod(), Container: someContainer()})
	if took := time.Since(start); err == nil || took >= api.DefaultPluginRequestTimeout {
		t.Errorf("CreateContainer took %v and returned %v, want an error within %v", took, err, api.DefaultPluginRequestTimeout)
	}
	n.hang = false
	n.decision.CPUs = cpuset.Of(1)
	if _, err := runtime.CreateContainer(context.Background(), &adaptation.CreateContainerRequest{Pod: somePod(), Container: someContainer()}); err != nil {
		t.Errorf("the next creation: %v", err)
	}
}

func TestReconnects(t *testing.T) {
	socket, n := socketIn(t), &recorder{decision: workload.Decision{CPUs: cpuset.Of(1)}}
	plugin := connect(t, socket, n)
	await(t, "told about the socket", func() bool {
		err := plugin.Ready()
		return err != nil && strings.Contains(err.Error(), "containerd ≥ 2.0")
	})
	for range 3 {
		own := socketIn(t)
		runtime := newRuntime(t, own)
		create := func() error {
			_, err := runtime.CreateContainer(context.Background(), &adaptation.CreateContainerRequest{Pod: somePod(), Container: someContainer()})
			return err
		}
		if err := create(); err == nil {
			t.Error("a container was created without the plugin")
		}
		between := newProxy(t, socket, own)
		runtime.synchronized(t, plugin)
		await(t, "creates again", func() bool { return create() == nil })
		between.cut()
		await(t, "noticed", func() bool { return plugin.Ready() != nil })
		await(t, "refused without the plugin", func() bool { return create() != nil })
	}
}

// TestSilentRuntime checks that the plugin does not hang if a container runtime accepts the
// connection and closes it without an answer.
func TestSilentRuntime(t *testing.T) {
	socket, n := socketIn(t), &recorder{}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	plugin := connect(t, socket, n)
	for range 2 {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	l.Close()
	newRuntime(t, socket).synchronized(t, plugin)
}
