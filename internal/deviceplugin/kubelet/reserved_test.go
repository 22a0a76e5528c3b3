package kubelet

import (
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// machine returns a machine with 2 packages, which are the NUMA nodes 0 and 1. Each
// package has 2 cores of 2 hyperthreads. The hyperthreads of a core are the CPUs n and
// n+4, as firmware often numbers them. CPU 7 is offline.
//
//	node 0: core 0 = 0,4   core 1 = 1,5
//	node 1: core 2 = 2,6   core 3 = 3,(7)
func machine() *topology.Machine {
	m := &topology.Machine{Nodes: []topology.Node{
		{ID: 0, CPUs: cpuset.MustParse("0-1,4-5")},
		{ID: 1, CPUs: cpuset.MustParse("2-3,6")},
	}}
	for id := range cpuset.CPU(7) {
		pack := int(id) % 4 / 2
		m.CPUs = append(m.CPUs, topology.CPU{ID: id, Online: true, Package: pack, NUMA: topology.NodeID(pack), Core: id % 4})
	}
	m.CPUs = append(m.CPUs, topology.CPU{ID: 7, Package: topology.Unknown, NUMA: topology.Unknown, Core: topology.Unknown})
	return m
}

func TestReserved(t *testing.T) {
	given := func(list string) config.Reserved { return config.Reserved{Given: true, CPUs: cpuset.MustParse(list)} }
	kubelet := Config{ReservedSystemCPUs: cpuset.MustParse("1,7"), ReservedMilliCPU: 3000}
	for name, tc := range map[string]struct {
		own       config.Reserved
		kubelet   Config
		want, how string
		err       string
	}{
		"nothing anywhere":         {how: "nothing is reserved"},
		"own list wins":            {own: given("0,4"), kubelet: kubelet, want: "0,4", how: "--reserved-cpus"},
		"own none wins":            {own: given(""), kubelet: kubelet, how: "--reserved-cpus"},
		"own list, one offline":    {own: given("0,7"), want: "0", how: "--reserved-cpus"},
		"own list of strangers":    {own: given("0,8"), err: `this machine has no CPUs "8", only "0-7"; correct --reserved-cpus`},
		"kubelet's list, online":   {kubelet: kubelet, want: "1", how: "reservedSystemCPUs of the kubelet"},
		"quantity, a whole core":   {kubelet: Config{ReservedMilliCPU: 2000}, want: "0,4", how: "systemReserved and kubeReserved of the kubelet, 2000 millicpu"},
		"quantity, rounded up":     {kubelet: Config{ReservedMilliCPU: 2001}, want: "0-1,4", how: "systemReserved and kubeReserved of the kubelet, 2001 millicpu"},
		"quantity, second package": {kubelet: Config{ReservedMilliCPU: 5500}, want: "0-2,4-6", how: "systemReserved and kubeReserved of the kubelet, 5500 millicpu"},
		"more than there is":       {kubelet: Config{ReservedMilliCPU: 99000}, want: "0-6", how: "systemReserved and kubeReserved of the kubelet, 99000 millicpu"},
	} {
		t.Run(name, func(t *testing.T) {
			got, how, err := Reserved(tc.own, tc.kubelet, machine())
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("error %v, want one with %q", err, tc.err)
			}
			if got.String() != tc.want || how != tc.how {
				t.Errorf("Reserved = %q (%s), want %q (%s)", got, how, tc.want, tc.how)
			}
		})
	}
}
