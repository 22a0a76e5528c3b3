package deviceplugin

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestMachineIsReadAgainWhenOtherCPUsAreOnline(t *testing.T) {
	files := fstest.MapFS{}
	write := func(path, text string) {
		files["sys/devices/system/"+path] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	write("cpu/online", "0-1")
	write("cpu/possible", "0-1")
	write("cpu/present", "0-1")
	for _, cpu := range []string{"cpu0", "cpu1"} {
		write("cpu/"+cpu+"/topology/physical_package_id", "0")
		write("cpu/"+cpu+"/topology/thread_siblings_list", cpu[3:])
	}
	write("node/online", "0")
	write("node/node0/cpulist", "0-1")

	m := machine{root: files}
	var got []string
	for _, online := range []string{"0-1", "0-1", "0"} {
		write("cpu/online", online)
		before := m.last
		now, err := m.discover()
		if err != nil {
			t.Fatal(err)
		}
		line := now.Online().String()
		if now == before {
			line += " as before"
		}
		got = append(got, line)
	}
	if diff := cmp.Diff([]string{"0-1", "0-1 as before", "0"}, got); diff != "" {
		t.Errorf("machines (-want +got):\n%s", diff)
	}
	delete(files, "sys/devices/system/cpu/online")
	if _, err := m.discover(); err == nil {
		t.Error("no error without the list of CPUs online")
	}
}
