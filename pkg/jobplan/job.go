package jobplan

import "time"

// Job is what was asked for.
type Job struct {
	Replicas     int
	MinAvailable int // so many of its pods start together or not at all
	Suspend      bool
	BackoffLimit int           // so many failures do no harm
	Deadline     time.Duration // it may run for so long; 0 is for ever
	TTL          *time.Duration
	InPlace      bool   // the node starts failed containers again, and each start is a failure
	Flaw         string // why no pod can be made of what was asked for; "" where it can
}

// Pod is one that there is. Its index is its own: no two pods of a job have the
// same at one time.
type Pod struct {
	Index   int // of those of the job, from 0 on
	Attempt int // pods of this index that failed before it
	State   State
	Ready   bool
	Going   bool      // deleted, and not gone yet
	Starts  int       // of containers again, in place
	Ended   time.Time // when it succeeded, failed or was disrupted
	Why     string    // it failed or was disrupted
}

// State is how far a pod is.
type State int

// States. One that is disrupted failed through no fault of its work: the node did not
// take it, say, or it was evicted.
const (
	Waiting State = iota
	Running
	Succeeded
	Failed
	Disrupted
)

// Phase sums up where a job is.
type Phase string

// Phases. A job is pending while none of its pods runs, or fewer than start together.
// It goes between the first three as often as it takes, and is over with one of the
// last two.
const (
	Pending   Phase = "Pending"
	Runs      Phase = "Running"
	Suspended Phase = "Suspended"
	Complete  Phase = "Succeeded"
	Broken    Phase = "Failed"
)

// Over reports whether nothing comes after.
func (p Phase) Over() bool { return p == Complete || p == Broken }

// Reasons of news that is not the reason of a phase.
const (
	EventPodFailed = "PodFailed"
	EventCompleted = "Completed"
	EventSuspended = "Suspended"
	EventResumed   = "Resumed"
)

// Reasons of a phase, by the names that batch/v1 has for them where it has some.
const (
	ReasonUser     = "JobSuspended"
	ReasonComplete = "CompletionsReached"
	ReasonLimit    = "BackoffLimitExceeded"
	ReasonDeadline = "DeadlineExceeded"
	ReasonFlaw     = "InvalidTemplate"
)

// Progress is what is remembered of a job. Done and Failures do not depend on pods
// that are still there, and what one pod adds to them it adds only once, however
// often and however late it is seen.
type Progress struct {
	Phase    Phase
	Reason   string // of a phase that somebody may ask about; else ""
	Message  string
	Started  time.Time   // so many pods as it takes ran first; zero where they never did, or before it was suspended
	Ended    time.Time   // it is over since
	Done     Indexes     // of pods that succeeded
	Failures map[int]int // by index; none is 0
	Active   int         // pods that wait or run
	Ready    int         // of these
}

// Failed returns how many pods failed.
func (p Progress) Failed() int {
	sum := 0
	for _, n := range p.Failures {
		sum += n
	}
	return sum
}
