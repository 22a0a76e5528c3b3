package apisim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Faults decides which requests and watches fail, and how. With the same random seed, it makes the
// same sequence of decisions. But each request gets the next decision of this sequence when it
// arrives. The order of the requests depends on the order in which goroutines run, so a request
// can get another decision in another run. The methods of Faults are safe for concurrent use.
type Faults struct {
	// Rates has the share of requests that fail, by class of the request (see the function `class`).
	// Stream is the probability that a watch fails when it has changes to send. Stale is the share
	// of lists from the server's cache that are out of date.
	Rates         map[string]float64
	Stream, Stale float64

	mu     sync.Mutex
	rand   *rand.Rand
	off    bool
	total  int
	counts map[string]int
}

// NewFaults returns a Faults that makes its decisions with the random numbers of r.
func NewFaults(r *rand.Rand) *Faults {
	return &Faults{
		Rates:  map[string]float64{"bind": .6, "read pod": .5, "write condition": .5, "event": .5, "lease": .06, "list": .3, "watch": .4},
		Stream: .1, Stale: .3,
		rand: r, counts: map[string]int{},
	}
}

// Stop(true) disables all faults, and Stop(false) enables them again. It does not affect the
// partitions that Conn.Part simulates.
func (f *Faults) Stop(off bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.off = off
}

// Total returns how many faults were injected.
func (f *Faults) Total() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}

// Counts returns how many faults were injected, by the class of the request and the kind of fault.
func (f *Faults) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// The type `when` says whether the server applies a failed request to the stored objects, and at
// what time.
type when string

const (
	never when = "before commit"
	now   when = "after commit"
	late  when = "committed late" // the server applies the request after it has sent the answer, if there is one, but before the deadline that the client set for the request
)

// fault is one way in which a request fails.
type fault struct {
	effect when
	status int    // status code of the answer; `reset` or `silence` if there is no answer
	reason string // reason in the Status; "" means that a proxy answers instead of the API server
	retry  bool   // the answer has the header Retry-After
}

// These values of fault.status mean that the client gets no answer. If the value is `reset`, the
// connection is reset. If it is `silence`, the client waits until it gives up, but for at most
// answerTimeout.
const (
	reset   = 0
	silence = -1
)

// waits reports whether the fault makes the client wait.
func (f *fault) waits() bool { return f.status == silence || f.retry }

func (f *fault) String() string {
	what := fmt.Sprint(f.status)
	switch {
	case f.status == reset:
		what = "reset"
	case f.status == silence:
		what = "no answer"
	case f.reason == "":
		what += " of a proxy"
	case f.retry:
		what += " with Retry-After"
	}
	return what + " " + string(f.effect)
}

// failing has all faults that a write can have. A read changes nothing, so it can have only the
// faults with the effect `never`, except the one with the reason "Conflict".
var failing = func() (all []fault) {
	for _, answer := range []fault{
		{status: 500, reason: "InternalError"}, {status: 504, reason: "Timeout"}, {status: 500, reason: "ServerTimeout", retry: true},
		{status: 502}, {status: 504}, {status: 409, reason: "Conflict"}, {status: reset}, {status: silence},
	} {
		for _, answer.effect = range []when{never, now, late} {
			if answer.effect != late || answer.status != 409 {
				all = append(all, answer)
			}
		}
	}
	return append(all,
		fault{effect: never, status: 429, reason: "TooManyRequests", retry: true}, fault{effect: never, status: 429, reason: "TooManyRequests"},
		fault{effect: never, status: 503, reason: "ServiceUnavailable", retry: true}, fault{effect: never, status: 503})
}()

// class returns the class of a request, which is the key in Faults.Rates.
func class(r *request) string {
	switch {
	case r.watch:
		return "watch"
	case r.verb == "list":
		return "list"
	case r.sub == "binding":
		return "bind"
	case r.verb == "get" && r.resource.Resource == "pods":
		return "read pod"
	case r.sub == "status":
		return "write condition"
	case r.resource.Resource == "events":
		return "event"
	case r.resource.Resource == "leases":
		return "lease"
	}
	return "other"
}

// The method `of` decides at random whether a request fails. It returns the fault, or nil if the
// request does not fail.
func (f *Faults) of(r *request) *fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.off || f.rand.Float64() >= f.Rates[class(r)] {
		return nil
	}
	for {
		chosen := failing[f.rand.IntN(len(failing))]
		switch reads := r.verb == "get" || r.verb == "list"; {
		case reads && (chosen.effect != never || chosen.status == http.StatusConflict):
		case r.hurried() && chosen.waits():
		default:
			f.count(class(r), chosen.String())
			return &chosen
		}
	}
}

// The method `one` decides at random whether a fault occurs. The parameter `rate` is the
// probability. If a fault occurs, the method returns one of the given faults, chosen at random, and
// counts it for the class of requests given as `of`. If no fault occurs, it returns "".
func (f *Faults) one(rate float64, of string, faults ...string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.off || f.rand.Float64() >= rate {
		return ""
	}
	chosen := faults[f.rand.IntN(len(faults))]
	f.count(of, chosen)
	return chosen
}

// lost counts a request, or the changes of a watch, that a partition blocked (see Conn.Part).
func (f *Faults) lost(r *request, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count(class(r), why)
}

// count counts an injected fault. The caller holds f.mu.
func (f *Faults) count(class, kind string) {
	f.total++
	f.counts[class+": "+kind]++
}

// upTo returns a random duration of less than d.
func (f *Faults) upTo(d time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Duration(f.rand.Int64N(int64(max(d, 1))))
}

// Table returns the result of Counts as lines of text, one for each kind of fault.
func Table(counts map[string]int) string {
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%9d %s\n", counts[kind], kind)
	}
	return b.String()
}
