package numaplan

// Limits of the searches that Plan makes.
const (
	// SearchLimit is the maximum number of choices that one call of Plan tries. With 8 NUMA nodes
	// and a dozen containers, a search usually needs far fewer choices.
	SearchLimit = 20000
	// fewChoices is how many choices a call of Plan may try when its Effort is used up, in addition to
	// one choice for each container. Most pods that fit a machine fit with the first choice for each
	// container, and most pods with two containers have no more choices than this.
	fewChoices = 64
)

// Effort limits the choices that several calls of Plan for one pod try together, for example to find
// the machines of a cluster that fit the pod. Without this limit, one pod whose containers are hard
// to pack could occupy the scheduler for SearchLimit choices on each machine, and anybody may create
// such a pod. Each call of Plan subtracts the choices that it tries. When an Effort is used up (0 or
// less), Plan tries only a few choices on each further machine. Only one goroutine at a time may use
// an Effort.
type Effort int

const (
	// FullEffort is the Effort for all calls of Plan that look for a machine for one pod.
	FullEffort Effort = 2 * SearchLimit
	// OneSearch is an Effort that is sufficient only for one search that reaches SearchLimit.
	OneSearch Effort = SearchLimit
)

// most returns how many choices the next call of Plan may try for a number of containers.
func (e *Effort) most(containers int) int {
	if e == nil {
		return SearchLimit
	}
	return min(SearchLimit, max(int(*e), fewChoices+containers))
}

// spend subtracts the choices that a call of Plan has tried.
func (e *Effort) spend(tries int) {
	if e != nil {
		*e -= Effort(tries)
	}
}
