package filters

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/sched"
)

// TestHomes checks that a cluster finds the newest of what it knows of a node, whichever
// of its records is in hand, and whoever else keeps something with the record's home.
func TestHomes(t *testing.T) {
	clusters := map[string]*Cluster{"one": NewCluster(), "other": NewCluster()}
	records := []*sched.Node{{Name: "a", Home: &home{}}, {Name: "a", Home: &home{}}, {Name: "a"}}
	info, err := podInfo(pod("p").Obj())
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []string{"one", "other", "one", "one", "other"} {
		cpus := int64(i + 1)
		clusters[step].SetNode(node("a").Capacity(map[v1.ResourceName]string{"cpu": fmt.Sprint(cpus)}).Obj())
		for j, record := range records {
			if got := clusters[step].at(record).Allocatable.MilliCPU; got != cpus*1000 {
				t.Errorf("step %d, record %d: %d milli-CPUs, want %d", i, j, got, cpus*1000)
			}
			clusters[step].assume(info, record)
			if got := len(clusters[step].at(record).Pods); got != 1 {
				t.Errorf("step %d, record %d: %d pods, want the one that was decided to go there", i, j, got)
			}
		}
	}
}
