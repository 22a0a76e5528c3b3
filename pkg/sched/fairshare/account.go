package fairshare

import (
	"fmt"
	"time"
)

// Account is what a tenant uses and has used of one type of resource. It is stored, and shown to
// users.
type Account struct {
	Type  Type
	Usage Milli     // amount held since Time
	Score float64   // at Time, in cores or GPUs
	Time  time.Time // when Score was computed
}

// account is an Account with the data of its tasks.
//
// Invariant: Usage is what the tasks of the account hold, plus carried.
type account struct {
	Account
	// After Book.Restore, carried is the part of the stored usage for which no task has been started
	// yet. It may include tasks that started at the time through or earlier. Both fields are zero if
	// nothing was restored.
	carried Milli
	through time.Time
}

// at returns the account with the score that it has at the time now. If now is before Time, it
// returns the account unchanged.
func (a Account) at(d Decay, now time.Time) Account {
	if passed := now.Sub(a.Time); passed > 0 {
		a.Score, a.Time = d.Next(a.Score, a.Usage.float(), passed.Seconds()), now
	}
	return a
}

// change computes the score at the time now from the old usage, and then changes the usage.
func (a *account) change(d Decay, now time.Time, by Milli) {
	a.Account = a.at(d, now)
	a.Usage += by
}

// start adds a task that has held an amount since a time. If the task may be included in carried,
// that part of its amount has already been charged, and is moved out of carried. For the rest of the
// amount, start adds the score that the task would have alone:
//
//	amount · (1 − e^(−(now − since)/T))
func (a *account) start(d Decay, now, since time.Time, amount Milli) {
	a.change(d, now, 0)
	if !since.After(a.through) {
		known := min(amount, a.carried)
		a.carried -= known
		amount -= known
	}
	if ran := now.Sub(since); ran > 0 {
		a.Score += d.Next(0, amount.float(), ran.Seconds())
	}
	a.Usage += amount
}

// complete sets carried to zero, because the tasks that are still included in it have ended.
func (a *account) complete(d Decay, now time.Time) {
	a.change(d, now, -a.carried)
	a.carried = 0
}

// float returns the amount in cores or GPUs.
func (m Milli) float() float64 { return float64(m) / 1000 }

// Weight is the share of resources that a tenant should get, compared with other tenants. Tenants
// are ordered by score/weight. So a tenant with weight 2 may use twice as much as one with weight 1
// before it comes behind that tenant.
type Weight float64

// DefaultWeight is the weight of a tenant without a weight of its own.
const DefaultWeight Weight = 1

// Check returns an error unless the weight is positive and finite.
func (w Weight) Check() error {
	if !positive(float64(w)) {
		return fmt.Errorf("weight %v: want more than 0 (default %v)", float64(w), float64(DefaultWeight))
	}
	return nil
}
