package forecast

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
)

// gpusPerNode is the number of GPUs of each node that Nodes returns.
const gpusPerNode = 8

// Nodes returns n equal nodes with 8 GPUs each.
func Nodes(n int) []*sched.Node {
	var nodes []*sched.Node
	for i := range n {
		node := &sched.Node{Name: fmt.Sprintf("node-%03d", i), Allocatable: sched.Amounts{CPU: 64_000, Memory: 512 << 30, Pods: 110}}
		for c := range gpusPerNode {
			node.GPUs = append(node.GPUs, sched.GPU{ID: strconv.Itoa(c), Type: "T4", Free: sched.WholeGPU})
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// user is a simulated user, who submits pods in the week that Week returns. Each of its pods
// requests one of the numbers of GPUs in the field `sizes`. The run times of its pods vary around a
// median.
type user struct {
	name   string
	median time.Duration
	spread float64 // standard deviation of the natural logarithm of the run times: the larger, the more the run times differ
	sizes  []int   // the numbers of GPUs that a pod may request
}

// newUsers returns n users whose median run times are from 20 minutes to 5 hours.
func newUsers(n int, random *rand.Rand) []user {
	var users []user
	for i := range n {
		minutes := 20 * math.Pow(15, float64(i)/float64(max(1, n-1)))
		users = append(users, user{
			fmt.Sprintf("user-%02d", i+1), time.Duration(minutes * float64(time.Minute)), .3 + .7*random.Float64(),
			[][]int{{1}, {1, 2}, {1, 1, 4}, {2, 8}}[random.IntN(4)],
		})
	}
	return users
}

// Week returns the pods of a week for a cluster with the given number of nodes (Nodes). Twelve
// users submit pods, four times as many by day as by night. The load is the GPU time that all pods
// need together, divided by the GPU time of all nodes in a week. Days and nights have 12 hours, and
// four fifths of the pods arrive by day. So with a load of 0.9, the pods that arrive by day need
// 0.8 / 0.5 · 0.9 = 1.44 times the nodes' GPU time by day. The pods that arrive by night need less
// than the nodes' GPU time by night.
func Week(nodes int, load float64, seed uint64) []Arrival {
	random := rand.New(rand.NewPCG(seed, 0))
	users := newUsers(12, random)
	var arrivals []Arrival
	budget := load * float64(nodes*gpusPerNode) * week.Seconds() / float64(len(users)) // GPU-seconds of a user
	for _, user := range users {
		for sent := 0.; sent < budget; {
			a := user.arrival(len(arrivals), random)
			sent += a.Takes.Seconds() * float64(a.Pod.GPUs.Count)
			arrivals = append(arrivals, a)
		}
	}
	slices.SortStableFunc(arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return arrivals
}

const week = 7 * 24 * time.Hour

// arrival returns a pod of the user that arrives at a random time of the week.
func (u user) arrival(i int, random *rand.Rand) Arrival {
	gpus := u.sizes[random.IntN(len(u.sizes))]
	name := fmt.Sprintf("%s-%05d", u.name, i)
	takes := float64(u.median) * math.Exp(u.spread*random.NormFloat64())
	return Arrival{
		Work: virtual.Work{
			Pod: &sched.Pod{
				UID: name, Name: name, Requests: sched.Amounts{CPU: sched.MilliCPU(4000 * gpus), Memory: sched.Bytes(gpus) << 34, Pods: 1},
				GPUs: sched.GPURequest{Count: gpus, Milli: sched.WholeGPU},
			},
			Tenant: u.name, Takes: time.Duration(takes).Round(time.Second) + time.Second,
		},
		At: moment(random),
	}
}

// moment returns a random time of the week in whole seconds. Times from 8 to 20 o'clock are four
// times as likely as other times.
func moment(random *rand.Rand) time.Duration {
	for {
		at := time.Duration(random.Int64N(int64(week/time.Second))) * time.Second
		hour := at % (24 * time.Hour) / time.Hour
		if hour >= 8 && hour < 20 || random.IntN(4) == 0 {
			return at
		}
	}
}
