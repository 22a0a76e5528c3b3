package forecast

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Present is the state that a forecast begins with.
type Present struct {
	Now     time.Time
	Nodes   []*sched.Node // the current records of all nodes, with reservations
	Running []Running
	// Ahead begins with the pods that come before Pod in the queue, in the order of the queue. A
	// pod that comes after Pod must also be in Ahead if it has a reservation: in a simulated
	// future, only Pod and the pods in Ahead can start, and a reservation ends only when its pod
	// starts.
	Ahead []Waiting
	Pod   Waiting
}

// Running is a pod that holds resources of a node.
type Running struct {
	Class
	UID   string
	Node  string
	Holds sched.Holding
	Since time.Time
	Ends  time.Time // when it ends at the latest, such as its deadline; zero if it has none
}

// Waiting is a pending pod.
type Waiting struct {
	Class
	*sched.Pod
}

// Answer says when a pod will probably start. Its times are never before Present.Now.
type Answer struct {
	P50, P90 time.Time // P90 is zero if the pod starts in fewer than nine tenths of the simulated futures
	Unknown  Unknown   // why there is no P50; "" if there is one
}

// Unknown is the reason why there is no forecast.
type Unknown string

// Reasons why there is no forecast.
const (
	NoRunTimes Unknown = "no pod has ended yet, so it is not known how long pods run"
	Never      Unknown = "the pod does not fit, as things are, even when the pods that run and those ahead of it have ended"
	Held       Unknown = "the pod waits for something other than resources, such as a quota"
	Gang       Unknown = "the pod starts together with others, for which there is no forecast"
	TooMuch    Unknown = "too many pods and nodes are involved"
)
