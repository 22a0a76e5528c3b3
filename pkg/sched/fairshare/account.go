package fairshare

import "time"

// Account is a tenant's use of one type, as it is stored and shown.
type Account struct {
	Type  Type
	Usage Milli   // held since Time
	Score float64 // in cores or cards
	Time  time.Time
}

// account is an Account with what is known of its tasks. Score is as of Time and
// Usage, the sum of its tasks and carried, holds from then on.
type account struct {
	Account
	// carried is what was in use when the account was stored, and of which no task
	// has been found yet. Those that began until through are among it; it is zero
	// where nothing was stored.
	carried Milli
	through time.Time
}

// at returns the account at a later time, or the same one for an earlier.
func (a Account) at(d Decay, now time.Time) Account {
	if passed := now.Sub(a.Time); passed > 0 {
		a.Score, a.Time = d.Next(a.Score, a.Usage.float(), passed.Seconds()), now
	}
	return a
}

// change makes the account up to date, and then the usage greater or smaller.
func (a *account) change(d Decay, now time.Time, by Milli) {
	a.Account = a.at(d, now)
	a.Usage += by
}

// start charges for a task that has run since then: for as much as is carried and
// may be this task's nothing, since it was charged for all the time, and for the
// rest what the task has made of the score by itself:
//
//	amount · (1 − e^(−running time/T))
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

// complete gives up what is carried: its tasks are gone.
func (a *account) complete(d Decay, now time.Time) {
	a.change(d, now, -a.carried)
	a.carried = 0
}

func (m Milli) float() float64 { return float64(m) / 1000 }
