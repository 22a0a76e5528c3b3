package jobplan

import "time"

// Job is the spec of a job.
type Job struct {
	Replicas     int
	MinAvailable int // this many pods start together or not at all
	Suspend      bool
	BackoffLimit int           // the job fails after more failures than this
	Deadline     time.Duration // how long the job may run; 0 means no limit
	TTL          *time.Duration
	InPlace      bool   // the node restarts failed containers, and each restart counts as a failure
	Invalid      string // why no pod can be created from the spec; "" if it is valid
}

// Pod is an existing pod of a job. Pods of a job have distinct indexes.
type Pod struct {
	Index    int // from 0 on
	Attempt  int // how many pods with this index failed before
	State    State
	Ready    bool
	Deleting bool      // it has a deletion timestamp
	Restarts int       // of its containers
	Ended    time.Time // when it succeeded, failed or was disrupted
	Why      string    // why it failed or was disrupted
}

// State is the state of a pod.
type State int

// States. A disrupted pod failed for a reason outside its program: for example it was
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

// Phases. A job is pending while fewer than MinAvailable of its pods, or none, run. It may
// change between the first three phases any number of times, and ends in one of the last
// two.
const (
	Pending   Phase = "Pending"
	Runs      Phase = "Running"
	Suspended Phase = "Suspended"
	Complete  Phase = "Succeeded"
	Broken    Phase = "Failed"
)

// Over reports whether the phase is final.
func (p Phase) Over() bool { return p == Complete || p == Broken }

// Reasons of events that are not the reason of a phase.
const (
	EventPodFailed = "PodFailed"
	EventCompleted = "Completed"
	EventSuspended = "Suspended"
	EventResumed   = "Resumed"
)

// Reasons of a phase, named as in batch/v1 where it has the same reason.
const (
	ReasonUser     = "JobSuspended"
	ReasonComplete = "CompletionsReached"
	ReasonLimit    = "BackoffLimitExceeded"
	ReasonDeadline = "DeadlineExceeded"
	ReasonInvalid  = "InvalidTemplate"
)

// Progress is the stored progress of a job. Done and Failures include pods that were
// deleted. Each pod counts once, however often and however late it is seen.
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
