package openb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
)

func TestReadPods(t *testing.T) {
	got, err := ReadPods(strings.NewReader("num_gpu,name,memory_mib,cpu_milli,gpu_milli,gpu_spec\n0,a,2,500,0,\n1,b,2,500,460,V100M16|V100M32\n"))
	if err != nil {
		t.Fatal(err)
	}
	requests := sched.Amounts{CPU: 500, Memory: 2 << 20, Pods: 1}
	want := []*sched.Pod{
		{UID: "a", Name: "a", Requests: requests},
		{UID: "b", Name: "b", Requests: requests, GPUs: sched.GPURequest{Count: 1, Milli: 460, Types: []string{"V100M16", "V100M32"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestReadSamples(t *testing.T) {
	const columns = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,scheduled_time,deletion_time\n"
	got, err := ReadSamples(strings.NewReader(columns + "a,1,0,0,0,5,65\nnever,1,0,0,0,,9\nstill,1,0,0,0,9,\nb,1,0,0,0,7,7\n"))
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]time.Duration{}
	for _, s := range got {
		ran[s.Name] = s.Took
	}
	if diff := cmp.Diff(map[string]time.Duration{"a": time.Minute, "b": time.Second}, ran); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	if _, err := ReadSamples(strings.NewReader(columns + "a,1,0,0,0,0,9223372037\n")); err == nil || !strings.Contains(err.Error(), `column deletion_time is "9223372037": want a whole number from 0 to 9223372036`) {
		t.Errorf("error %v of a time that overflows a duration", err)
	}
	const want = `line 2: column deletion_time is "4": want a time that is not before scheduled_time`
	if _, err := ReadSamples(strings.NewReader(columns + "a,1,0,0,0,5,4\n")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func TestReadArrivals(t *testing.T) {
	const columns = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,scheduled_time,deletion_time\n"
	got, err := ReadArrivals(strings.NewReader(columns + "a,1,0,0,0,3,5,65\nnever,1,0,0,0,4,,9\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Name != "a" || got[0].At != 3*time.Second || got[0].Took != time.Minute {
		t.Errorf("arrivals %v, want only a, which comes after 3 s and takes a minute", got)
	}
	const want = `line 2: column creation_time is "": want a whole number`
	if _, err := ReadArrivals(strings.NewReader(columns + "a,1,0,0,0,,5,6\n")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func TestReadErrors(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty":          {"", "read pods: the file is empty: want CSV with the columns "},
		"missing column": {"name,cpu_milli\n", `line 1: no column "memory_mib": want CSV with the columns name, cpu_milli, memory_mib, num_gpu, gpu_milli`},
		"ragged":         {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1\n", "line 2: 2 fields: want 5, one for each column of line 1"},
		"negative":       {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,-1,1,0,0\n", `line 2: column cpu_milli is "-1"`},
		"too much":       {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,9999999999999,0,0\n", `line 2: column memory_mib is "9999999999999"`},
		"no name":        {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\n,1,1,0,0\n", `line 2: column name is ""`},
		"twice":          {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,0,0\na,1,1,0,0\n", `line 3: column name is "a": want a name that no other row has`},
		"no such share":  {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,0\n", `column gpu_milli is "0": want 1 to 1000 thousandths of a GPU`},
		"too many":       {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,99999999999,1000\n", `column num_gpu is "99999999999": want a whole number from 0 to 1024`},
		"of two the 1st": {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,many\n", `column gpu_milli is "many": want a whole number`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadPods(strings.NewReader(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q in it", err, tc.want)
			}
		})
	}
}

// TestTrace checks the totals of the real trace: its nodes, GPUs, pods and requested GPU capacity.
func TestTrace(t *testing.T) {
	nodes, err := ReadNodes(trace(t, "openb_node_list_all_node.csv"))
	if err != nil {
		t.Fatal(err)
	}
	pods, err := ReadPods(trace(t, "openb_pod_list_default.csv"))
	if err != nil {
		t.Fatal(err)
	}
	gpus, demand := 0, sched.MilliGPU(0)
	for _, node := range nodes {
		gpus += len(node.GPUs)
	}
	for _, pod := range pods {
		demand += pod.GPUs.Milli * sched.MilliGPU(pod.GPUs.Count)
	}
	if len(nodes) != 1523 || gpus != 6212 || len(pods) != 8152 || demand/1000 != 6086 {
		t.Errorf("%d nodes, %d GPUs, %d pods, %d thousandths asked for; want 1523, 6212, 8152, 6086xxx", len(nodes), gpus, len(pods), demand)
	}
}

// trace opens a file of the trace, or skips the test if the file is missing.
func trace(t *testing.T, name string) *os.File {
	t.Helper()
	dir := os.Getenv("NUMALET_TESTDATA")
	if dir == "" {
		dir = "../../../shared"
	}
	f, err := os.Open(filepath.Join(dir, "traces", name))
	if err != nil {
		t.Skipf("no trace: %v; set NUMALET_TESTDATA to a directory with traces/", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
