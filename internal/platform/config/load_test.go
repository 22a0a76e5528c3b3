package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/numalet/numalet/pkg/cpuset"
)

// node is the environment that the DaemonSet sets in the containers of a node.
var node = map[string]string{"NODE_NAME": "worker-1"}

func TestSourcesOverrideEachOther(t *testing.T) {
	file := "verbosity: 2\ncpu-request-form: explicit\nreserved-cpus: 0\nrefresh: 1m\n"
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		file string
		want func(*Agent)
	}{
		"defaults": {want: func(*Agent) {}},
		"file": {file: file, want: func(agent *Agent) {
			agent.Verbosity, agent.RequestForm, agent.ReservedCPUs = 2, ExplicitForm, Reserved{true, cpuset.Of(0)}
		}},
		"environment over file": {
			env: map[string]string{"NUMALET_VERBOSITY": "4"}, file: file,
			want: func(agent *Agent) {
				agent.Verbosity, agent.RequestForm, agent.ReservedCPUs = 4, ExplicitForm, Reserved{true, cpuset.Of(0)}
			},
		},
		"flag over environment and file": {
			args: []string{"-v=6", "--reserved-cpus=none", "--cpu-request-form=policy"},
			env:  map[string]string{"NUMALET_VERBOSITY": "4"}, file: file,
			want: func(agent *Agent) { agent.Verbosity, agent.ReservedCPUs = 6, Reserved{Given: true} },
		},
		"a list of names": {
			env:  map[string]string{"NUMALET_GPU_EXEMPT_NAMESPACES": "monitoring, kube-system,"},
			want: func(agent *Agent) { agent.GPUExemptNamespaces = Names{"monitoring", "kube-system"} },
		},
		"an empty list of names": {
			args: []string{"--gpu-exempt-namespaces="},
			want: func(agent *Agent) { agent.GPUExemptNamespaces = nil },
		},
		"a flag that repeats the default still wins": {
			args: []string{"-v=0", "--cpu-request-form=policy", "--reserved-cpus=kubelet"}, file: file,
			want: func(*Agent) {},
		},
		"booleans": {args: []string{"--full-cores", "--exclusive-cpus=false"}, want: func(agent *Agent) {
			agent.FullCores, agent.ExclusiveCPUs = true, false
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := LoadAgent(input(t, tc.args, tc.env, tc.file))
			if err != nil {
				t.Fatal(err)
			}
			want := defaultAgent()
			want.NodeName = "worker-1"
			tc.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadInputIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		file string
		want string
	}{
		"unknown flag":       {args: []string{"--reserved"}, want: "unknown flag: --reserved (see --help)"},
		"stray argument":     {args: []string{"0-3"}, want: `unexpected argument "0-3"`},
		"unknown key":        {file: "reservedCPUs: 0-1\n", want: `unknown key "reservedCPUs"`},
		"key twice":          {file: "cpu-request-form: policy\ncpu-request-form: explicit\n", want: `key "cpu-request-form" already set`},
		"key with a list":    {file: "reserved-cpus: [0, 1]\n", want: `key "reserved-cpus": want one text`},
		"bad value in file":  {file: "cpu-request-form: both\n", want: `"both" is not one of policy, explicit`},
		"bad value in env":   {env: map[string]string{"NUMALET_ENFORCE": "magic"}, want: "environment variable NUMALET_ENFORCE"},
		"empty CPU list":     {args: []string{"--reserved-cpus="}, want: "write none to reserve no CPU"},
		"bad CPU list":       {args: []string{"--reserved-cpus=3-1"}, want: `range "3-1" runs backwards`},
		"relative path":      {args: []string{"--checkpoint=x.json"}, want: `checkpoint "x.json" is not an absolute path`},
		"negative verbosity": {args: []string{"-v=-1"}, want: "verbosity -1 is negative"},
		"bad address":        {args: []string{"--health-addr=8123"}, want: `health-addr "8123" is not host:port`},
		"bad port":           {args: []string{"--health-addr=:http"}, want: `port "http" is not a number`},
		"bad metrics":        {args: []string{"--metrics-addr=8129"}, want: `metrics-addr "8129" is not host:port`},
		"metrics at health":  {args: []string{"--metrics-addr=127.0.0.1:8123"}, want: "metrics-addr and health-addr are both 127.0.0.1:8123"},
		"bad device plugin":  {args: []string{"--metrics-addr=:8129", "--device-plugin=:8124"}, want: `device-plugin ":8124" is not a URL`},
		"plain HTTP":         {args: []string{"--metrics-secure=false"}, want: "unknown flag: --metrics-secure"},
		"no node name":       {env: map[string]string{"NODE_NAME": ""}, want: "set NODE_NAME from the pod's spec.nodeName"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadAgent(input(t, tc.args, tc.env, tc.file))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestMissingFileIsAnError(t *testing.T) {
	in := input(t, []string{"--config=" + filepath.Join(t.TempDir(), "none.yaml")}, nil, "")
	if _, err := LoadDevicePlugin(in); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want one of a missing file", err)
	}
}

func TestPrintedConfigReadsBack(t *testing.T) {
	var out bytes.Buffer
	in := input(t, []string{"--print-config", "--reserved-cpus=0-1,8", "--refresh=30s", "--exclusive-cpus=false"}, nil, "")
	in.Out = &out
	if _, err := LoadDevicePlugin(in); !errors.Is(err, ErrDone) {
		t.Fatalf("error %v, want ErrDone", err)
	}
	got, err := LoadDevicePlugin(input(t, nil, nil, out.String()))
	if err != nil {
		t.Fatal(err)
	}
	want := defaultDevicePlugin()
	want.NodeName = "worker-1"
	want.ReservedCPUs, want.Refresh, want.ExclusiveCPUs = Reserved{true, cpuset.MustParse("0-1,8")}, 30e9, false
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration read back (-want +got):\n%s\nfrom\n%s", diff, out.String())
	}
}

func TestActions(t *testing.T) {
	for arg, want := range map[string]string{"--version": "v1.2.3\n", "--help": "--reserved-cpus list"} {
		t.Run(arg, func(t *testing.T) {
			var out bytes.Buffer
			in := Input{Args: []string{arg}, LookupEnv: func(string) (string, bool) { return "", false }, Out: &out, Version: "v1.2.3"}
			if _, err := LoadAgent(in); !errors.Is(err, ErrDone) {
				t.Errorf("error %v, want ErrDone", err)
			}
			if !strings.Contains(out.String(), want) {
				t.Errorf("output %q lacks %q", out.String(), want)
			}
		})
	}
}

// input returns an Input with these arguments and this environment. If the parameter `file` is not
// empty, it is the content of a file that the argument --config names.
func input(t *testing.T, args []string, env map[string]string, file string) Input {
	t.Helper()
	if file != "" {
		path := filepath.Join(t.TempDir(), "numalet.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config="+path)
	}
	lookup := func(name string) (string, bool) {
		if value, ok := env[name]; ok {
			return value, true
		}
		value, ok := node[name]
		return value, ok
	}
	return Input{Args: args, LookupEnv: lookup, Out: &bytes.Buffer{}}
}
