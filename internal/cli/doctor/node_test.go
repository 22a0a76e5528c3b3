package doctor

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// healthy returns the files of a node for which every check is OK.
func healthy() map[string]string {
	return map[string]string{
		"sys/fs/cgroup/cgroup.controllers":             "cpuset cpu io memory\n",
		"sys/devices/system/node/node0/cpulist":        "0-3\n",
		"sys/devices/system/node/node1/cpulist":        "4-7\n",
		"sys/devices/system/cpu/isolated":              "\n",
		"proc/irq/default_smp_affinity":                "ff\n",
		"sys/devices/virtual/workqueue/cpumask":        "ff\n",
		"sys/fs/cgroup/kubepods/cpuset.cpus.exclusive": "\n",
		"sys/fs/cgroup/kubepods/cgroup.kill":           "",
		"proc/1/comm":                                  "systemd\n",
		"run/nri/nri.sock":                             "",
		"etc/containerd/config.toml":                   "imports = [\"/etc/containerd/conf.d/*.toml\"]\n",
		"etc/containerd/conf.d/numalet.toml":           required,
		"proc/9/comm":                                  "containerd\n",
		"proc/9/cmdline":                               "/usr/bin/containerd\x00",
		"proc/9/exe":                                   "\x7fELF tolerate_missing_plugins_annotation github.com/containerd/containerd/v2/pkg",
		"var/lib/kubelet/config.yaml":                  "reservedSystemCPUs: 0,4\n",
		"sys/module/apparmor/parameters/enabled":       "N\n",
		"sys/bus/pci/devices/0000:00:1f.0/vendor":      "0x8086\n",
		"sys/bus/pci/devices/0000:00:1f.0/class":       "0x060100\n",
	}
}

// required is a configuration with which containerd requires the agent.
const required = "[plugins.\"io.containerd.nri.v1.nri\".default_validator]\n  enable = true\n  required_plugins = [\"numalet\"]\n"

// crioKubelet is the configuration of a kubelet that uses CRI-O.
const crioKubelet = "reservedSystemCPUs: 0,4\ncontainerRuntimeEndpoint: unix:///var/run/crio/crio.sock\n"

// tree returns a file system with these files. It leaves out a file with the content "-".
func tree(files map[string]string) fstest.MapFS {
	t := fstest.MapFS{}
	for name, content := range files {
		if content != "-" {
			t[name] = &fstest.MapFile{Data: []byte(content)}
		}
	}
	return t
}

// TestNode checks which finding each deviation from a healthy node causes.
func TestNode(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string // files that are added to the result of the function `healthy`, or replace files in it
		want  string            // the fields Check, Status and Found of each finding that is not OK, as "Check Status: Found"
	}{
		"healthy": {},
		"no cgroups": {
			map[string]string{"sys/fs/cgroup/cgroup.controllers": "-"},
			"cgroups error: no cpuset cgroup is mounted",
		},
		"cgroup v1": {
			map[string]string{"sys/fs/cgroup/cgroup.controllers": "-", "sys/fs/cgroup/cpuset/cpuset.cpus": "0-7\n"},
			"cgroups warning: cgroup v1",
		},
		"no cpuset controller": {
			map[string]string{"sys/fs/cgroup/cgroup.controllers": "cpu memory\n"},
			"cgroups error: cgroup v2 without the controller cpuset",
		},
		"one NUMA node": {map[string]string{"sys/devices/system/node/node1/cpulist": "-"}, "numa-nodes info: one NUMA node"},
		"no interrupts": {map[string]string{"proc/irq/default_smp_affinity": "-"}, "isolation info: no file /proc/irq/default_smp_affinity"},
		"no workqueues": {map[string]string{"sys/devices/virtual/workqueue/cpumask": "-"}, "isolation info: no file /sys/devices/virtual/workqueue/cpumask"},
		"no partitions": {map[string]string{"sys/fs/cgroup/kubepods/cpuset.cpus.exclusive": "-"}, "isolation info: no file cpuset.cpus.exclusive in a cgroup below /sys/fs/cgroup; it needs cgroup v2 and Linux 6.7"},
		"isolcpus":      {map[string]string{"sys/devices/system/cpu/isolated": "2-3"}, "isolated-cpus info: isolcpus has 2-3"},
		"isolcpus and reserved": {
			map[string]string{"sys/devices/system/cpu/isolated": "3-4"},
			"isolated-cpus warning: isolcpus has 3-4, of which 4 are reserved for the system",
		},
		"no NRI": {map[string]string{"run/nri/nri.sock": "-"}, "container-runtime error: no socket /var/run/nri/nri.sock"},
		"fails open": {
			map[string]string{"etc/containerd/conf.d/numalet.toml": "# required_plugins = [\"numalet\"]\n"},
			"fail-closed warning: containerd does not require the agent",
		},
		"not imported": {
			map[string]string{"etc/containerd/config.toml": "version = 3\n"},
			"fail-closed warning: containerd does not read /etc/containerd/conf.d/numalet.toml, because /etc/containerd/config.toml does not import it",
		},
		"imported in a comment only": {
			map[string]string{"etc/containerd/config.toml": "version = 3\nimports = [] # was [\"/etc/containerd/conf.d/*.toml\"]\n"},
			"fail-closed warning: containerd does not read /etc/containerd/conf.d/numalet.toml, because /etc/containerd/config.toml does not import it",
		},
		"in the main file": {map[string]string{
			"etc/containerd/config.toml":         "required_plugins = []\n" + strings.Replace(required, "[\"numalet\"]", "[\n  'other', # more\n  'numalet',\n]", 1),
			"etc/containerd/conf.d/numalet.toml": "-",
		}, ""},
		"imported from another directory": {map[string]string{
			"etc/containerd/config.toml": "imports = ['site.d/*.toml']\n", "etc/containerd/conf.d/numalet.toml": "-", "etc/containerd/site.d/a.toml": required,
		}, ""},
		"the validator is off": {
			map[string]string{"etc/containerd/conf.d/numalet.toml": strings.Replace(required, "true", "false", 1)},
			"fail-closed warning: containerd does not require the agent, because enable is not true in the table default_validator (/etc/containerd/conf.d/numalet.toml)",
		},
		"another file turns the validator off": {
			map[string]string{"etc/containerd/conf.d/zz.toml": "[plugins.'io.containerd.nri.v1.nri'.default_validator]\nenable = false\n"},
			"fail-closed warning: containerd does not require the agent, because enable is not true in the table default_validator (/etc/containerd/conf.d/numalet.toml)",
		},
		"containerd 2.1": {
			map[string]string{"proc/9/exe": "\x7fELF plugin_request_timeout github.com/containerd/containerd/v2/pkg"},
			"fail-closed warning: containerd is older than 2.2, and so ignores that /etc/containerd/conf.d/numalet.toml requires the agent",
		},
		"containerd does not run": {
			map[string]string{"proc/9/comm": "-"},
			"fail-closed unknown: /etc/containerd/conf.d/numalet.toml requires the agent, and it is not known whether containerd is 2.2 or later, because it does not run",
		},
		"k3s": {map[string]string{
			"proc/9/cmdline": "containerd\x00-c\x00/var/lib/rancher/k3s/agent/etc/containerd/config.toml\x00",
			"var/lib/rancher/k3s/agent/etc/containerd/config.toml": required, "etc/containerd/config.toml": "-",
		}, ""},
		"k3s without the setting": {
			map[string]string{
				"proc/9/cmdline": "containerd\x00-c\x00/var/lib/rancher/k3s/agent/etc/containerd/config.toml\x00",
				"var/lib/rancher/k3s/agent/etc/containerd/config.toml": "version = 3\n", "etc/containerd/conf.d/numalet.toml": "-",
			},
			"fail-closed warning: containerd does not require the agent",
		},
		"k0s, whose file cannot be found": {
			map[string]string{"proc/9/cmdline": "containerd\x00--config=/run/k0s/containerd.toml\x00"},
			"fail-closed unknown: no file /run/k0s/containerd.toml, which is containerd's configuration",
		},
		"CRI-O": {
			map[string]string{"var/lib/kubelet/config.yaml": crioKubelet,
				"etc/crio/crio.conf.d/numalet.conf": "nri_enable_default_validator = true\nnri_validator_required_plugins = [\"numalet\"]\n"}, "",
		},
		"CRI-O without the validator": {
			map[string]string{"var/lib/kubelet/config.yaml": crioKubelet, "etc/crio/crio.conf.d/numalet.conf": "nri_validator_required_plugins = [\"numalet\"]\n"},
			"fail-closed warning: CRI-O does not require the agent, because nri_enable_default_validator is not true",
		},
		"CRI-O with a later file that requires nothing": {
			map[string]string{"var/lib/kubelet/config.yaml": crioKubelet,
				"etc/crio/crio.conf.d/numalet.conf": "nri_enable_default_validator = true\nnri_validator_required_plugins = [\"numalet\"]\n",
				"etc/crio/crio.conf.d/zz.conf":      "nri_validator_required_plugins = []\n"},
			"fail-closed warning: CRI-O does not require the agent",
		},
		"CRI-O fails open": {
			map[string]string{"var/lib/kubelet/config.yaml": crioKubelet, "etc/crio/crio.conf": "[crio.nri]\n"},
			"fail-closed warning: CRI-O does not require the agent",
		},
		"CRI-O, whose refused containers cannot be ended": {
			map[string]string{"var/lib/kubelet/config.yaml": crioKubelet, "sys/fs/cgroup/kubepods/cgroup.kill": "-",
				"etc/crio/crio.conf.d/numalet.conf": "nri_enable_default_validator = true\nnri_validator_required_plugins = [\"numalet\"]\n"},
			"container-runtime error: CRI-O, and no file cgroup.kill in a cgroup below /sys/fs/cgroup",
		},
		"containerd, whose refused containers need not be ended": {map[string]string{"sys/fs/cgroup/kubepods/cgroup.kill": "-"}, ""},
		"static CPU manager": {
			map[string]string{"var/lib/kubelet/config.yaml": "cpuManagerPolicy: static\ntopologyManagerPolicy: none\nreservedSystemCPUs: '0'\n"},
			"kubelet-managers error: cpuManagerPolicy: static",
		},
		"all managers": {
			map[string]string{"var/lib/kubelet/config.yaml": "memoryManagerPolicy: Static\ntopologyManagerPolicy: best-effort\nkubeReserved: {cpu: '1'}\n"},
			"kubelet-managers error: memoryManagerPolicy: Static, topologyManagerPolicy: best-effort",
		},
		"nothing reserved": {
			map[string]string{"var/lib/kubelet/config.yaml": "maxPods: 250\n"},
			"reserved-cpus warning: no CPU is reserved for the system",
		},
		"no kubelet configuration": {
			map[string]string{"var/lib/kubelet/config.yaml": "-"},
			"kubelet-managers unknown: no file /var/lib/kubelet/config.yaml\nreserved-cpus unknown: no file /var/lib/kubelet/config.yaml",
		},
		"the kubelet's flags name the configuration": {
			map[string]string{"var/lib/kubelet/config.yaml": "-", "proc/7/comm": "kubelet\n",
				"proc/7/cmdline":                              "/usr/bin/kubelet\x00--config=/etc/kubernetes/kubelet/config.json\x00--config-dir\x00/etc/kubernetes/kubelet/config.json.d\x00",
				"etc/kubernetes/kubelet/config.json":          `{"cpuManagerPolicy": "static"}`,
				"etc/kubernetes/kubelet/config.json.d/9.conf": `{"reservedSystemCPUs": "0"}`},
			"kubelet-managers error: cpuManagerPolicy: static",
		},
		"static CPU manager by a flag": {
			map[string]string{"proc/7/comm": "kubelet\n", "proc/7/cmdline": "kubelet\x00--config=/var/lib/kubelet/config.yaml\x00--cpu-manager-policy=static\x00--topology-manager-policy=none\x00"},
			"kubelet-managers error: --cpu-manager-policy=static",
		},
		"a flag overrides the file, which the agent reads": {
			map[string]string{"proc/7/comm": "kubelet\n", "var/lib/kubelet/config.yaml": "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n",
				"proc/7/cmdline": "kubelet\x00--config=/var/lib/kubelet/config.yaml\x00--cpu-manager-policy=none\x00"},
			"kubelet-managers error: cpuManagerPolicy: static", // the agent does not read the flag, and refuses the node
		},
		"another root directory": {
			map[string]string{"proc/7/comm": "kubelet\n", "proc/7/cmdline": "kubelet\x00--config=/var/lib/kubelet/config.yaml\x00--root-dir=/data/kubelet\x00",
				"var/lib/kubelet/cpu_manager_state": `{"policyName":"static"}`, "data/kubelet/cpu_manager_state": `{"policyName":"none"}`}, "",
		},
		"a kubelet in a container of a k3s node": {
			map[string]string{"proc/77/comm": "kubelet\n", "proc/77/cgroup": "0::/system.slice/docker-1.scope/kubelet.slice\n",
				"proc/77/cmdline": "kubelet\x00--config=/kind/config.yaml\x00--cpu-manager-policy=static\x00"}, "",
		},
		"a file that the kubelet does not read": {
			map[string]string{"proc/7/comm": "kubelet\n", "proc/7/cmdline": "kubelet\x00--config-dir=/etc/kubelet.d\x00",
				"var/lib/kubelet/config.yaml": "cpuManagerPolicy: static\n", "etc/kubelet.d/1.conf": "reservedSystemCPUs: '0'\n"}, "",
		},
		"static CPU manager of k3s": {
			map[string]string{"var/lib/kubelet/cpu_manager_state": `{"policyName":"static","defaultCpuSet":"0-7"}`, "var/lib/kubelet/memory_manager_state": `{"policyName":"None"}`},
			"kubelet-managers error: /var/lib/kubelet/cpu_manager_state: static",
		},
		"zero reserved": {
			map[string]string{"var/lib/kubelet/config.yaml": "kubeReserved: {cpu: '0'}\n"},
			"reserved-cpus warning: no CPU is reserved for the system",
		},
		"containerd 1.7": {
			map[string]string{"proc/9/exe": "\x7fELF github.com/containerd/containerd/pkg"},
			"container-runtime error: containerd is older than 2.0\nfail-closed warning: containerd is older than 2.2, and so ignores that /etc/containerd/conf.d/numalet.toml requires the agent",
		},
		"another containerd in a pod": {map[string]string{
			"proc/12345/comm": "containerd\n", "proc/12345/cmdline": "containerd\x00--config\x00/var/run/docker/containerd/containerd.toml\x00",
			"proc/12345/cgroup": "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope\n",
		}, ""},
		"another containerd for host containers": {map[string]string{
			"proc/8/comm": "containerd\n", "proc/8/cmdline": "/usr/bin/containerd\x00--config\x00/etc/host-containerd/config.toml\x00",
			"etc/host-containerd/config.toml": "[grpc]\naddress = \"/run/host-containerd/containerd.sock\"\n",
		}, ""},
		"Docker's containerd beside that of k3s": {
			map[string]string{
				"run/k3s/containerd/containerd.sock": "", "proc/812/comm": "containerd\n",
				"proc/812/cmdline": "containerd\x00-c\x00/var/lib/rancher/k3s/agent/etc/containerd/config.toml\x00-a\x00/run/k3s/containerd/containerd.sock\x00",
				"proc/812/exe":     "\x7fELF tolerate_missing_plugins_annotation github.com/containerd/containerd/v2/pkg",
				"var/lib/rancher/k3s/agent/etc/containerd/config.toml": "version = 3\n", "etc/containerd/conf.d/numalet.toml": required,
			},
			"fail-closed warning: containerd does not read /etc/containerd/conf.d/numalet.toml, because /var/lib/rancher/k3s/agent/etc/containerd/config.toml does not import it",
		},
		"AppArmor":            {map[string]string{"sys/module/apparmor/parameters/enabled": "Y\n"}, "apparmor info: AppArmor is on"},
		"SELinux":             {map[string]string{"sys/fs/selinux/enforce": "1"}, "selinux warning: SELinux enforces"},
		"permissive":          {map[string]string{"sys/fs/selinux/enforce": "0"}, ""},
		"irqbalance in a pod": {map[string]string{"proc/812/comm": "irqbalance\n", "proc/812/cgroup": "0::/kubepods.slice/x.scope\n"}, "irqbalance warning: irqbalance runs (process 812)"},
		"irqbalance":          {map[string]string{"proc/812/comm": "irqbalance\n"}, "irqbalance warning: irqbalance runs (process 812)"},
		"GPU without a driver": {
			map[string]string{"sys/bus/pci/devices/0000:3b:00.0/vendor": "0x10de\n", "sys/bus/pci/devices/0000:3b:00.0/class": "0x030200\n"},
			"nvidia-driver warning: 1 NVIDIA GPUs, but no driver is loaded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := healthy()
			maps.Copy(files, tc.files)
			var got []string
			for _, f := range Node(tree(files), NodeOptions{}) {
				if f.Status != OK {
					got = append(got, f.Check+" "+string(f.Status)+": "+f.Found)
					if f.Why == "" {
						t.Errorf("%s does not say why it matters", f.Check)
					}
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("findings that are not OK (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOnCRIO checks how Node tells which container runtime the kubelet uses. The node may also
// have files of the other runtime.
func TestOnCRIO(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"nothing":                           {nil, false},
		"only files of CRI-O":               {map[string]string{"etc/crio/crio.conf": ""}, false},
		"its socket":                        {map[string]string{"run/crio/crio.sock": "", "etc/containerd/config.toml": ""}, true},
		"both sockets":                      {map[string]string{"run/crio/crio.sock": "", "run/containerd/containerd.sock": ""}, false},
		"the kubelet's file":                {map[string]string{"var/lib/kubelet/config.yaml": crioKubelet, "run/containerd/containerd.sock": ""}, true},
		"the kubelet's file for containerd": {map[string]string{"var/lib/kubelet/config.yaml": "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock", "run/crio/crio.sock": ""}, false},
		"the kubelet's flag": {map[string]string{"proc/7/comm": "kubelet\n", "run/containerd/containerd.sock": "", "var/lib/kubelet/config.yaml": "containerRuntimeEndpoint: ''",
			"proc/7/cmdline": "/usr/bin/kubelet\x00--container-runtime-endpoint=unix:///var/run/crio/crio.sock\x00--v=2\x00"}, true},
		"the kubelet's flag in two words": {map[string]string{"proc/7/comm": "kubelet\n", "run/crio/crio.sock": "", "var/lib/kubelet/config.yaml": crioKubelet,
			"proc/7/cmdline": "kubelet\x00--container-runtime-endpoint\x00/run/containerd/containerd.sock\x00"}, false},
		"another process' flag": {map[string]string{"proc/7/comm": "crictl\n", "proc/7/cmdline": "crictl\x00--container-runtime-endpoint=/run/crio/crio.sock\x00"}, false},
	} {
		got, err := machine{FS: tree(tc.files), NodeOptions: NodeOptions{KubeletConfig: "var/lib/kubelet/config.yaml"}}.onCRIO()
		if err != nil || got != tc.want {
			t.Errorf("%s: onCRIO = %v, %v, want %v", name, got, err, tc.want)
		}
	}
}

// TestCgroupDriver checks that the finding about cgroups names the kubelet's cgroup driver.
func TestCgroupDriver(t *testing.T) {
	for name, want := range map[string]string{
		"kubepods.slice": "the cgroup driver is systemd", "kubepods": "the cgroup driver is cgroupfs",
		"kubelet.slice/kubelet-kubepods.slice": "the cgroup driver is systemd", "kubelet/kubepods": "the cgroup driver is cgroupfs",
		"system.slice": "the kubelet has no cgroup for pods yet",
	} {
		files := tree(map[string]string{"sys/fs/cgroup/cgroup.controllers": "cpuset\n", "sys/fs/cgroup/" + name + "/cgroup.procs": ""})
		if f := Node(files, NodeOptions{})[0]; f.Found != "cgroup v2 with the controller cpuset; "+want {
			t.Errorf("%s: found %q, want %q", name, f.Found, want)
		}
	}
}

// TestDropIns checks that the files of the kubelet's drop-in directory override the kubelet's
// configuration file. It also checks nodes without this file, such as those of k3s.
func TestDropIns(t *testing.T) {
	static := "cpuManagerPolicy: static\nsystemReserved: {memory: 1Gi}\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  string // the statuses of the checks kubelet-managers and reserved-cpus
	}{
		"only the file":              {map[string]string{"kubelet.json": `{"kubeReserved": {"cpu": "1"}}`}, "ok ok"},
		"a file of another name":     {map[string]string{"kubelet.json": `{"kubeReserved": {"cpu": "1"}}`, "conf.d/static.bak": static}, "ok ok"},
		"a drop-in file":             {map[string]string{"kubelet.json": `{"kubeReserved": {"cpu": "1"}}`, "conf.d/40/static.conf": static}, "error ok"},
		"a later file overrides it":  {map[string]string{"conf.d/40.conf": static, "conf.d/50.conf": "cpuManagerPolicy: none\n"}, "ok warning"},
		"only a drop-in file":        {map[string]string{"conf.d/40.conf": static}, "error warning"},
		"a drop-in file with errors": {map[string]string{"conf.d/40.conf": "{"}, "unknown unknown"},
		"no file":                    {map[string]string{"conf.d/README": ""}, "unknown unknown"},
		"no such directory":          {map[string]string{"kubelet.json": "{}"}, "unknown unknown"},
	} {
		if _, ok := tc.files["conf.d/README"]; !ok && name != "no such directory" {
			tc.files["conf.d/README"] = "" // so that the directory exists
		}
		var got []string
		for _, f := range Node(tree(tc.files), NodeOptions{KubeletConfig: "kubelet.json", KubeletConfigDir: "conf.d"}) {
			if f.Check == "kubelet-managers" || f.Check == "reserved-cpus" {
				got = append(got, string(f.Status))
			}
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSocketOfNRI checks that Node finds the socket of NRI in a real directory, where a socket cannot
// be opened like a file.
func TestSocketOfNRI(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "run/nri"), 0o755); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(root, "run/nri/nri.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, f := range Node(os.DirFS(root), NodeOptions{}) {
		if f.Check == "container-runtime" && f.Status != OK {
			t.Errorf("container-runtime is %s: %s", f.Status, f.Found)
		}
	}
}

// TestRemedyOfManagers checks that the remedy has the value that turns each manager off. The value for
// the memory manager is written in another way, and the kubelet does not start with a wrong value.
func TestRemedyOfManagers(t *testing.T) {
	files := healthy()
	files["var/lib/kubelet/config.yaml"] = "cpuManagerPolicy: static\nmemoryManagerPolicy: Static\n"
	for _, f := range Node(tree(files), NodeOptions{}) {
		if want := "set cpuManagerPolicy: none in /var/lib/kubelet/config.yaml, set memoryManagerPolicy: None in /var/lib/kubelet/config.yaml"; f.Check == "kubelet-managers" && !strings.Contains(f.Remedy, want) {
			t.Errorf("remedy %q, want %q", f.Remedy, want)
		}
	}
}
