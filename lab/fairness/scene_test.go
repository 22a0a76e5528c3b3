package fairness

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// TestScenarios walks through testdata/*.txt:
//
//	nodes 4 8               four nodes of eight cards
//	sample 0.5 1h           users send pods of half a card that take an hour, too
//	users 5 2 32            five users, of whom 2 to 32 pods wait at any time
//	share 24h score         they share the nodes for a day: who has got what in its second half
//	starve 24h score [known] the largest sample comes when half of that is over; ends are known
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func() scenario.Scene { return newScene(t) })
}

type scene struct {
	settings Settings
	nodes    []*sched.Node
	samples  []Sample
	answer   strings.Builder
}

func newScene(t *testing.T) *scene {
	space, err := filter.ParseSpace("gpu-total,gpu-share,gpus,pods")
	if err != nil {
		t.Fatal(err)
	}
	return &scene{settings: Settings{Seed: 1, Settle: 6 * 3600, Profile: nodestate.Profile{Space: space, Policy: distbucket.BestFit, Wide: 1}}}
}

// Run obeys one command.
func (s *scene) Run(command []string) string {
	commands := map[string]func(args []string) error{"nodes": s.add, "sample": s.sample, "users": s.users, "share": s.share, "starve": s.starve}
	s.answer.Reset()
	do, ok := commands[command[0]]
	if !ok {
		return "no such command\n"
	}
	if err := do(command[1:]); err != nil {
		fmt.Fprintln(&s.answer, err)
	}
	return s.answer.String()
}

func (s *scene) add(args []string) error {
	for range scenario.Number(args[0]) {
		n := &sched.Node{Name: fmt.Sprint("node", len(s.nodes)), Allocatable: sched.Amounts{Pods: 110}}
		for i := range scenario.Number(args[1]) {
			n.GPUs = append(n.GPUs, sched.GPU{ID: strconv.Itoa(i), Type: "T4", Free: sched.WholeGPU})
		}
		s.nodes = append(s.nodes, n)
	}
	return nil
}

func (s *scene) sample(args []string) error {
	cards, err := strconv.ParseFloat(args[0], 64)
	if err != nil {
		return err
	}
	ask := sched.GPUAsk{Count: int(cards), Milli: sched.WholeGPU}
	if cards < 1 {
		ask = sched.GPUAsk{Count: 1, Milli: sched.MilliGPU(1000 * cards)}
	}
	took, err := span(args[1])
	s.samples = append(s.samples, Sample{&sched.Pod{Requests: sched.Amounts{Pods: 1}, GPUs: ask}, took})
	return err
}

func (s *scene) users(args []string) error {
	s.settings.Users = Users(scenario.Number(args[0]), scenario.Number(args[1]), scenario.Number(args[2]))
	return nil
}

// order sets how long a trial goes on and who goes first.
func (s *scene) order(args []string) (err error) {
	orders := map[string]virtual.Turns{"score": virtual.ByScore, "age": virtual.ByAge, "kube-scheduler": virtual.LikeKube}
	s.settings.Turns = orders[args[1]]
	s.settings.EndsKnown = len(args) > 2
	s.settings.For, err = span(args[0])
	return err
}

func (s *scene) share(args []string) error {
	if err := s.order(args); err != nil {
		return err
	}
	o, err := Share(s.nodes, s.samples, s.settings)
	if err != nil {
		return err
	}
	fmt.Fprintf(&s.answer, "Jain's index of scores per weight %.4f; %.1f %% of the cards in use; waiting: median %s, p99 %s\n",
		o.Jain, 100*o.Allocated, minutes(o.All.Quantile(.5)), minutes(o.All.Quantile(.99)))
	fmt.Fprintf(&s.answer, "%d pods have begun, of which %d ask for several cards; %d wait at the end, of which %d do\n",
		o.Began.All, o.Began.Large, o.Waiting.All, o.Waiting.Large)
	for _, u := range o.Users {
		fmt.Fprintf(&s.answer, "%s, weight %g, appetite %2d: %4.1f cards, median %s, p99 %s\n",
			u.Name, u.Weight, u.Appetite, u.Cards, minutes(u.Waits.Quantile(.5)), minutes(u.Waits.Quantile(.99)))
	}
	return nil
}

func (s *scene) starve(args []string) error {
	if err := s.order(args); err != nil {
		return err
	}
	o, err := Starve(s.nodes, s.samples, s.settings)
	if err != nil {
		return err
	}
	if !o.Began {
		fmt.Fprintf(&s.answer, "%d cards: not begun after %s\n", o.Large.GPUs.Count, minutes(o.Waited))
		return nil
	}
	fmt.Fprintf(&s.answer, "%d cards: begun after %s; held back after %s, enough had ended after %s: %.2f times that\n",
		o.Large.GPUs.Count, minutes(o.Waited), minutes(o.Held), minutes(o.Enough), o.Ratio())
	fmt.Fprintf(&s.answer, "small work had %.1f %% of what it has without the large, and %.1f %% until that had ended\n", 100*o.Small, 100*o.SmallAfter)
	return nil
}

func minutes(d time.Duration) string { return fmt.Sprintf("%.1f min", d.Minutes()) }

// span reads a time such as 4d or 30m.
func span(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		return time.Duration(scenario.Number(days)) * 24 * time.Hour, nil
	}
	return time.ParseDuration(text)
}
