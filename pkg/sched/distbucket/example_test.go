package distbucket_test

import (
	"fmt"

	"github.com/numalet/numalet/pkg/sched/distbucket"
)

// The index in this example has two dimensions: vCPUs in steps of 2, and memory in
// steps of 3 GB.
func Example() {
	x, _ := distbucket.New(distbucket.Config{Theta: distbucket.Vector{2, 3}})
	for name, free := range map[string]distbucket.Vector{"b": {4, 2}, "c": {3, 5}, "e": {6, 1}, "u": {5, 5}} {
		_ = x.Add(distbucket.Node{Name: name, Free: free})
	}
	v := x.View()
	_ = x.Remove("u") // the view v still has u

	q := distbucket.Query{Request: distbucket.Vector{1, 2}, Policy: distbucket.LeastFit}
	for _, n := range v.AppendPick(nil, q, 2) {
		fmt.Println(n.Name, n.Free)
	}
	// Output:
	// u [5 5]
	// c [3 5]
}
