package kubelet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
)

func TestReadConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		file    string // "" for none
		dropIns map[string]string
		want    Config
	}{
		"no file": {want: Config{Memory: Memory{Eviction: "100Mi"}}},
		"nothing of interest, keys of another version": {
			file: "kind: KubeletConfiguration\nmaxPods: 110\nkeyOfTomorrow: {a: 1}\n",
			want: Config{Memory: Memory{Eviction: "100Mi"}, Files: []string{"config.yaml"}},
		},
		"CPUs and quantities": {
			file: "reservedSystemCPUs: 0-1,8\nsystemReserved: {cpu: 500m, memory: 1Gi}\nkubeReserved: {cpu: '1'}\ncpuManagerPolicy: static\n",
			want: Config{
				ReservedSystemCPUs: cpuset.MustParse("0-1,8"), ReservedMilliCPU: 1500,
				Memory:           Memory{Bytes: 1 << 30, Eviction: "100Mi"},
				CPUManagerPolicy: "static", Files: []string{"config.yaml"},
			},
		},
		"drop-ins override in lexical order, maps are merged": {
			file: "reservedSystemCPUs: '0'\nkubeReserved: {cpu: 200m}\n",
			dropIns: map[string]string{
				"20-b.conf": "reservedSystemCPUs: '2'\n",
				"10-a.conf": "reservedSystemCPUs: '1'\nkubeReserved: {memory: 1Gi}\n",
				"readme.md": "reservedSystemCPUs: '3'\n",
			},
			want: Config{
				ReservedSystemCPUs: cpuset.Of(2), ReservedMilliCPU: 200,
				Memory: Memory{Bytes: 1 << 30, Eviction: "100Mi"},
				Files:  []string{"config.yaml", "drop/10-a.conf", "drop/20-b.conf"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			got, err := ReadConfig(filepath.Join(dir, "config.yaml"), writeConfig(t, dir, tc.file, tc.dropIns))
			if err != nil {
				t.Fatal(err)
			}
			for i, path := range got.Files {
				got.Files[i], _ = filepath.Rel(dir, path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadConfigNamesWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"not YAML":          {"a: [", "correct the file, or set --kubelet-config to another one"},
		"bad CPU list":      {"reservedSystemCPUs: all\n", `"all" is not a CPU id; correct it, or set --reserved-cpus`},
		"bad quantity":      {"kubeReserved: {cpu: much}\n", `parse quantity "much"`},
		"negative quantity": {"systemReserved: {cpu: '-1'}\n", `quantity "-1" is negative`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeConfig(t, dir, tc.file, nil)
			_, err := ReadConfig(filepath.Join(dir, "config.yaml"), "")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
	if _, err := ReadConfig("/nonexistent", "/nonexistent.d"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("drop-in directory that is not there: error %v", err)
	}
}

// writeConfig writes the configuration file and the drop-in files, and returns the
// drop-in directory, or "" if there are no drop-in files.
func writeConfig(t *testing.T, dir, file string, dropIns map[string]string) string {
	t.Helper()
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if file != "" {
		write(filepath.Join(dir, "config.yaml"), file)
	}
	if dropIns == nil {
		return ""
	}
	drop := filepath.Join(dir, "drop")
	if err := os.Mkdir(drop, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range dropIns {
		write(filepath.Join(drop, name), text)
	}
	return drop
}

func TestCheckCPUManager(t *testing.T) {
	for name, tc := range map[string]struct {
		policy, state string // policy is cpuManagerPolicy in the kubelet's configuration, state is the text of the file cpu_manager_state ("" for no file)
		static        bool
		want          string // part of the error, "" for none
	}{
		"fresh node":           {},
		"none":                 {policy: "none", state: `{"policyName":"none","defaultCpuSet":"","checksum":1}`},
		"static in the file":   {policy: "static", static: true, want: "cpuManagerPolicy in [config.yaml]"},
		"static by flag":       {state: `{"policyName":"static","defaultCpuSet":"0-3"}`, static: true, want: "policyName in "},
		"state is not JSON":    {state: "{", want: "stop the kubelet, delete the file and start the kubelet"},
		"says what to do next": {policy: "static", static: true, want: "drain the node, stop the kubelet, set cpuManagerPolicy: none"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if tc.state != "" {
				if err := os.WriteFile(filepath.Join(root, stateFile), []byte(tc.state), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := CheckCPUManager(Config{CPUManagerPolicy: tc.policy, Files: []string{"config.yaml"}}, root)
			if errors.Is(err, ErrStaticCPUManager) != tc.static {
				t.Errorf("error %v, want ErrStaticCPUManager: %v", err, tc.static)
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}
