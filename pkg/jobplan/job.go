package jobplan

import "time"

// Job is the spec of a job.
type Job struct {
	Replicas     int
	MinAvailable int // no pod starts unless this many pods can start together
	Suspend      bool
	BackoffLimit int            // the job fails if there are more failures than this
	Deadline     time.Duration  // how long the job may run; 0 means no limit
	TTL          *time.Duration // how long the job is kept after its end; nil means forever
	InPlace      bool           // the node restarts failed containers, and each restart counts as a failure
	Invalid      string         // why no pod can be created from the spec; "" if it is valid
}

// Pod is an existing pod of a job. Different pods of a job have different indexes.
type Pod struct {
	Index     int // from 0 on
	Attempt   int // how many earlier pods with this index have failed
	Unstarted int // how many pods with this index, one after the other, were disrupted before they started, up to the time this pod was created
	Name      string
	Node      string // "" if it is not bound
	State     State
	Started   bool // a container of it has started
	Ready     bool
	Deleting  bool      // it has a deletion timestamp
	Gone      time.Time // when the grace period of its deletion ends; zero if it is not being deleted
	Restarts  int       // how often its containers have been restarted
	Ended     time.Time // when it succeeded, failed or was disrupted
	Why       string    // why it failed or was disrupted
}

// State is the state of a pod.
type State int

// The states of a pod. A disrupted pod has failed, but not because of its programs. For example, it
// was evicted, or its node did not admit it.
const (
	Waiting State = iota
	Running
	Succeeded
	Failed
	Disrupted
)

// Phase is the phase of a job.
type Phase string

// The phases of a job. A job that is neither suspended nor over is Running if at least one pod
// runs, and if at least MinAvailable pods run or have succeeded. Otherwise it is Pending. A job can
// change between Pending, Running and Suspended any number of times. Succeeded and Failed are
// final.
const (
	Pending   Phase = "Pending"
	Runs      Phase = "Running"
	Suspended Phase = "Suspended"
	Complete  Phase = "Succeeded"
	Broken    Phase = "Failed"
)

// The method Over reports whether the phase is final.
func (p Phase) Over() bool { return p == Complete || p == Broken }

// Reasons of events. The event for a failed job has none of these reasons, but the reason of the
// job's phase (Progress.Reason).
const (
	EventPodFailed = "PodFailed"
	EventPodStuck  = "PodStuckTerminating"
	EventCompleted = "Completed"
	EventSuspended = "Suspended"
	EventResumed   = "Resumed"
)

// Reasons of a phase (Progress.Reason). Except for InvalidTemplate, they are also reasons of
// batch/v1 Jobs.
const (
	ReasonUser     = "JobSuspended"
	ReasonComplete = "CompletionsReached"
	ReasonLimit    = "BackoffLimitExceeded"
	ReasonDeadline = "DeadlineExceeded"
	ReasonInvalid  = "InvalidTemplate"
)

// Progress is the stored progress of a job. Done, Failures and Unstarted also count pods that have
// been deleted. Each pod counts once, even if it is among the pods of several calls of Next.
type Progress struct {
	Phase     Phase
	Reason    string // "" for the phases Pending and Running
	Message   string
	Started   time.Time   // when the job first became Running since its creation or last suspension; zero if it has not
	Ended     time.Time   // when the job ended
	Done      Indexes     // indexes of pods that succeeded
	Failures  map[int]int // number of failed pods by index; only numbers above 0 are stored
	Unstarted map[int]int // number of pods by index that were disrupted before they started, one after the other, up to now; only numbers above 0 are stored
	Active    int         // pods that are pending or running
	Ready     int         // active pods that are ready
}

// Failed returns how many pods have failed, including pods that were replaced.
func (p Progress) Failed() int {
	sum := 0
	for _, n := range p.Failures {
		sum += n
	}
	return sum
}
