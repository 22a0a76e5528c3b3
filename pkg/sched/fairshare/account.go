package fairshare

import (
	"fmt"
	"time"
)

// Account is a tenant's use of one type, as it is stored and shown.
type Account struct {
	Type  Type
	Usage Milli     // held since Time
	Score float64   // at Time, in cores or GPUs
	Time  time.Time // when Score was computed
}

// account is an Account with the data of its tasks.
//
// Invariant: Usage is what its tasks hold, plus carried.
type account struct {
	Account
	// carried is the part of the stored usage for which no task has been found yet. Tasks that started at
	// the time through, or earlier, may be in it. Both are zero if nothing was stored.
	carried Milli
	through time.Time
}

// at returns the account brought up to a later time, and the account itself for an earlier time.
func (a Account) at(d Decay, now time.Time) Account {
	if passed := now.Sub(a.Time); passed > 0 {
		a.Score, a.Time = d.Next(a.Score, a.Usage.float(), passed.Seconds()), now
	}
	return a
}

// change brings the account up to now, with the old usage, and then changes the usage.
func (a *account) change(d Decay, now time.Time, by Milli) {
	a.Account = a.at(d, now)
	a.Usage += by
}

// start adds a task that has run since a time. The part of its amount that may be in carried has
// already been charged. For the rest, the task adds what it would have scored alone:
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

// complete sets carried to zero, because the tasks that it counted have ended.
func (a *account) complete(d Decay, now time.Time) {
	a.change(d, now, -a.carried)
	a.carried = 0
}

// float returns cores or GPUs.
func (m Milli) float() float64 { return float64(m) / 1000 }

// Weight is a tenant's share. Tenants are ordered by score/weight: with weights of 2 and 1, a use of 2
// to 1 is even.
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
