package fairshare_test

import (
	"fmt"
	"time"

	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// In this example, Ann has used eight GPUs for four days and uses none from Friday on. Bob
// uses eight GPUs from Friday on. The output shows how her score falls and his score rises.
func Example() {
	decay, err := fairshare.NewDecay(fairshare.DefaultTimeConstant)
	if err != nil {
		panic(err)
	}
	monday := time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)
	friday := monday.Add(4 * 24 * time.Hour)
	book := fairshare.New(decay)
	book.Start(fairshare.Task{UID: "a", Tenant: "ann", Since: monday, Holds: []fairshare.Charge{{Type: "T4", Amount: 8000}}}, monday)
	book.End("a", friday)
	book.Start(fairshare.Task{UID: "b", Tenant: "bob", Since: friday, Holds: []fairshare.Charge{{Type: "T4", Amount: 8000}}}, friday)
	for days := range 4 {
		now := friday.Add(time.Duration(days) * 24 * time.Hour)
		fmt.Printf("%s ann %.1f bob %.1f\n", now.Format("Mon"), book.Rank("ann", "T4", now), book.Rank("bob", "T4", now))
	}
	// Output:
	// Fri ann 7.2 bob 0.0
	// Sat ann 4.1 bob 3.5
	// Sun ann 2.3 bob 5.4
	// Mon ann 1.3 bob 6.6
}
