package commit

import "github.com/numalet/numalet/pkg/sched"

// judge is the filters beside package filter's, which turn to the pod of a list
// once they are asked.
type judge struct {
	*Committer
	list    sched.List
	turned  bool
	nowhere sched.Reason // why no node would do
}

// recheck filters a changed node again, for which package filter has that reason
// or none.
func (j *judge) recheck(node *sched.Node, why sched.Reason) sched.Reason {
	if !why.Refuses() && j.filter != nil {
		why = j.check(node)
	}
	if why.Refuses() {
		j.counts.failed.Add(1)
	} else {
		j.counts.passed.Add(1)
	}
	return why
}

func (j *judge) check(node *sched.Node) sched.Reason {
	if !j.turned {
		j.turned, j.nowhere = true, j.turn()
	}
	if j.nowhere.Refuses() {
		return j.nowhere
	}
	return j.filter.Check(node)
}

// turn turns the filters to the pod: from where its proposer's had come to, if
// the fit depends on no other node.
func (j *judge) turn() sched.Reason {
	if relay, ok := j.filter.(sched.Relay); ok && j.list.Begun != nil && !j.list.Pod.Across {
		return relay.Resume(j.list.Pod, j.list.Begun)
	}
	_, why := j.filter.Begin(j.list.Pod)
	return why
}
