package cpuset_test

import (
	"fmt"

	"github.com/numalet/numalet/pkg/cpuset"
)

func Example() {
	free := cpuset.MustParse("0-7").Minus(cpuset.Of(0, 4))
	fmt.Println(free, free.Len())
	for c := range free.Intersect(cpuset.Range(2, 5)).All() {
		fmt.Print(c, " ")
	}
	// Output:
	// 1-3,5-7 6
	// 2 3 5
}

func ExampleParse() {
	_, err := cpuset.Parse("0-3,x")
	fmt.Println(err)
	// Output: parse cpu list "0-3,x": "x" is not a CPU id
}
