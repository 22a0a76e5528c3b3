package jobplan

import "time"

// Job is the spec of a job.
type Job struct {
	Replicas     int
	MinAvailable int // so many pods must start together, or none does
	Suspend      bool
	BackoffLimit int           // the job fails if there are more failures than this
	Deadline     time.Duration // how long the job may run; 0 means no limit
	TTL          *time.Duration
	InPlace      bool   // the node restarts failed containers, and each restart counts as a failure
	Invalid      string // why no pod can be created from the spec; "" if it is valid
}

// Pod is an existing pod of a job. Different pods of a job have different indexes.
type Pod struct {
	Index    int // from 0 on
	Attempt  int // how many earlier pods with this index have failed
	State    State
	Ready    bool
	Deleting bool      // it has a deletion timestamp
	Restarts int       // how often its containers have been restarted
	Ended    time.Time // when it succeeded, failed or was disrupted
	Why      string    // why it failed or was disrupted
}

// State is the state of a pod.
type State int

// States. A disrupted pod has failed for a reason other than its programs. For example, it was
// evicted, or the node did not admit it.
const (
	Waiting State = iota
	Running
	Succeeded
	Failed
	Disrupted
)

// Phase is the phase of a job.
type Phase string

// Phases. A job is Pending if no pod runs, or if fewer than MinAvailable pods run or have
// succeeded. It may change between the first three phases any number of times. The last two are
// final.
const (
	Pending   Phase = "Pending"
	Runs      Phase = "Running"
	Suspended Phase = "Suspended"
	Complete  Phase = "Succeeded"
	Broken    Phase = "Failed"
)

// Over reports whether the phase is final.
func (p Phase) Over() bool { return p == Complete || p == Broken }

// Reasons of events. An event for a failed job has the reason of its phase instead.
const (
	EventPodFailed = "PodFailed"
	EventCompleted = "Completed"
	EventSuspended = "Suspended"
	EventResumed   = "Resumed"
)

// Reasons of a phase. If batch/v1 has the same reason, the name is the same.
const (
	ReasonUser     = "JobSuspended"
	ReasonComplete = "CompletionsReached"
	ReasonLimit    = "BackoffLimitExceeded"
	ReasonDeadline = "DeadlineExceeded"
	ReasonInvalid  = "InvalidTemplate"
)

// Progress is the stored progress of a job. Done and Failures also count pods that have been
// deleted. Each pod counts once, even if Next sees it several times.
type Progress struct {
	Phase    Phase
	Reason   string // "" for the phases Pending and Running
	Message  string
	Started  time.Time   // when MinAvailable pods first ran; zero if they have not since the job was last suspended
	Ended    time.Time   // when the job ended
	Done     Indexes     // indexes of pods that succeeded
	Failures map[int]int // by index; only values above 0 are stored
	Active   int         // pods that are pending or running
	Ready    int         // active pods that are ready
}

// Failed returns how many pods failed.
func (p Progress) Failed() int {
	sum := 0
	for _, n := range p.Failures {
		sum += n
	}
	return sum
}
