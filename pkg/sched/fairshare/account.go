package fairshare

import (
	"fmt"
	"time"
)

// Account has the present usage and the score of one tenant for one type of resource. The score is
// an average of the usage over time, in which recent usage counts more than old usage. Callers
// store accounts, and show them to users.
type Account struct {
	Type  Type
	Usage Milli     // the amount that the tenant has held since the time in the field Time
	Score float64   // the score at the time in the field Time, in cores or GPUs
	Time  time.Time // when Score was computed
}

// account is an Account with data about the part of its usage that was restored after a restart.
//
// Invariant: Usage is the sum of the amounts that the started tasks of the account hold, plus the
// field `carried`.
type account struct {
	Account
	// carried is the part of the restored usage that was not assigned to running tasks yet. It is 0
	// except between Book.Restore and the end of Book.Complete. A task whose start time is after the
	// time in the field `through` is not in the restored usage. The fields `carried` and `through` are
	// zero if nothing was restored.
	carried Milli
	through time.Time
}

// The method `at` returns the account with the score that it has at the time `now`. If `now` is
// before a.Time, it returns the account unchanged.
func (a Account) at(d Decay, now time.Time) Account {
	if passed := now.Sub(a.Time); passed > 0 {
		a.Score, a.Time = d.Next(a.Score, a.Usage.float(), passed.Seconds()), now
	}
	return a
}

// change computes the score at the time `now` from the old usage, and then changes the usage.
func (a *account) change(d Decay, now time.Time, by Milli) {
	a.Account = a.at(d, now)
	a.Usage += by
}

// start adds a task that started at the time `since` and has held the given amount from then on.
// a.through is the time at which the restored usage was stored, minus Margin. If the task did not
// start after a.through, its amount may be in the restored usage (a.carried), and the score then
// already includes it. So the method first takes as much of the amount as possible out of
// a.carried. For the rest of the amount, it adds the score that a tenant would have if it had held
// only this amount (T is the time constant):
//
//	amount · (1 − e^(−(now − since)/T))
//
// While a.carried is not 0, `start` must be called for older tasks first. Start times and the field
// `through` alone do not tell which tasks the restored usage includes. Start times may be from a
// clock that is behind the clock of the program that stored the account. Then a task that started
// after the account was stored may also have a start time before a.through. But the tasks that the
// restored usage includes are older than such a task, so their amounts are taken out of a.carried
// first.
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

// complete is called after the method `start` was called for all running tasks. a.carried is then
// the part of the restored usage that belongs to no running task: this part was held by tasks that
// have ended. So complete subtracts a.carried from the usage, and then sets a.carried to zero.
func (a *account) complete(d Decay, now time.Time) {
	a.change(d, now, -a.carried)
	a.carried = 0
}

// float returns the amount in cores or GPUs.
func (m Milli) float() float64 { return float64(m) / 1000 }

// Weight is the share of resources that a tenant should get, compared with other tenants. Pods are
// ordered by score/weight of their tenants. So a tenant with weight 2 may use twice as much as a
// tenant with weight 1 before its pods come behind those of the other tenant.
type Weight float64

// DefaultWeight is the weight of a tenant whose weight was not set (Book.Weigh).
const DefaultWeight Weight = 1

// Check returns an error unless the weight is positive and finite.
func (w Weight) Check() error {
	if !positive(float64(w)) {
		return fmt.Errorf("weight %v: want more than 0 (default %v)", float64(w), float64(DefaultWeight))
	}
	return nil
}
