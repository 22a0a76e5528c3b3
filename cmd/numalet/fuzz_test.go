package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/cli"
	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/lab/commands"
)

const (
	someNodes = "sn,cpu_milli,memory_mib,gpu,model\none,16000,8192,2,T4\n"
	somePods  = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,scheduled_time,deletion_time\na,1000,1024,1,500,0,600\nb,1000,1024,2,1000,0,3600\n"
)

// FuzzFiles runs commands with random input files. It checks that they do not panic, and that
// their error messages have one line.
func FuzzFiles(f *testing.F) {
	for _, content := range []string{
		"", "\n", "\x00", "\xff\xfe", "\ufeffsn\n", ",\n,", "\"", someNodes, somePods, "time,usage\n0,1\n9,1\n", "1e308,1e308\n1.1e308,0\n",
		"sn,cpu_milli,memory_mib,gpu,model\n,0,0,0,\n", "sn,cpu_milli,memory_mib,gpu,model\na,0,0,1024,\n",
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli,scheduled_time,deletion_time\na,0,0,1,1,0,4398046511103\n",
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,scheduled_time,deletion_time\na,0,0,1,1000,9223372036,0,3600\n",
		`{"kind":"NodeTopology","status":{"machine":{"reservedCPUs":"0-1"},"gpus":[{"index":-1}],"pods":[{"containers":[{"cpus":"99999"}]}]}}`,
		"apiVersion: v1\nkind: Config\n", "null", "[]",
	} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 4096 {
			t.Skip("long files only take long")
		}
		dir := t.TempDir()
		file := func(name string, content []byte) string {
			name = filepath.Join(dir, name)
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
			return name
		}
		given, nodes, pods := file("given", content), file("nodes", []byte(someNodes)), file("pods", []byte(somePods))
		for _, args := range [][]string{
			{"groups", "plan", "--nodes", given, "--demands", "2,1"},
			{"simulate", "--policy", "bestfit", "--nodes", given, "--pods", pods},
			{"simulate", "--nodes", nodes, "--pods", given, "-o", "json"},
			{"simulate", "fairness", "--nodes", nodes, "--pods", given, "--users", "2", "--days", "0.1", "-o", "json"},
			{"simulate", "starvation", "--nodes", nodes, "--pods", given, "--trials", "1", "--hours", "0.5", "-o", "json"},
			{"simulate", "forecast", "--nodes", nodes, "--pods", given, "-o", "json"},
			{"topo", "--root", given}, {"topo", "--root", machine(t, dir), "--node-topology", given},
			{"why", "pod", "--kubeconfig", given, "--server", "127.0.0.1:1"},
			{"score"}, {"score", "-o", "json"},
		} {
			runSafely(t, content, args)
		}
	})
}

// FuzzArguments runs commands with random arguments. It skips arguments with which a command
// writes files, takes long, or reads a device.
func FuzzArguments(f *testing.F) {
	for _, line := range []string{
		"pick --cpus -1", "pick --cpus 99999999999", "pick --used 0-4294967295 --cpus 1", "pick --reserved 0-9999999 --cpus 1 --full-cores",
		"score --time-constant 1e-308", "score --step -1", "score --step NaN", "queue --server", "queue --server [", "why ..", "why a/b -n ../c",
		"groups plan --demands 0 --nodes x", "groups plan --demands 9223372036854775807,9223372036854775807 --nodes nodes", "topo -o", "topo --root .",
		"--version", "help help", "simulate --seed -1", "simulate fairness --days Inf --nodes nodes --pods pods", "simulate fairness --every -1",
		"simulate starvation --longest -1s --nodes nodes --pods pods", "simulate --virtual-clock -o yaml", "frob", "-", "--",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Fields(line)
		for _, a := range args {
			if a == "capture" || strings.HasPrefix(a, "--pl") || a == "fairness" && len(args) > 6 || strings.HasPrefix(a, "/") {
				t.Skip("it writes files, takes long, or reads a device")
			}
		}
		t.Chdir(t.TempDir())
		for name, content := range map[string]string{"nodes": someNodes, "pods": somePods} {
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("KUBECONFIG", "none")
		runSafely(t, nil, args)
	})
}

// machine writes the sysfs files of a machine with one CPU, and returns their directory.
func machine(t *testing.T, dir string) string {
	online := filepath.Join(dir, "machine/sys/devices/system/cpu/online")
	if err := os.MkdirAll(filepath.Dir(online), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(online, []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "machine")
}

// runSafely runs the command numalet. If the exit status is 1, runSafely checks that the error
// message has one line. An error message about wrong usage (status 2) may have more lines.
func runSafely(t *testing.T, stdin []byte, args []string) {
	t.Helper()
	var stdout, stderr strings.Builder
	root := cli.NewRoot("numalet", commands.All()...)
	root.SetArgs(args)
	root.SetIn(strings.NewReader(string(stdin)))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	status := command.Execute(root, &stderr)
	if lines := strings.Count(stderr.String(), "\n"); status == 1 && !strings.Contains(stderr.String(), "warning: ") && lines != 1 || status != 0 && lines == 0 || status > 2 {
		t.Errorf("%q: exit status %d, %d lines on standard error: %q", args, status, lines, stderr.String())
	}
}
