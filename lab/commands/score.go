package commands

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/numalet/numalet/internal/cli/command"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// newScore returns "numalet score": how a tenant's score follows its usage.
func newScore() *cobra.Command {
	settle, step := seconds(fairshare.DefaultSettle), seconds(0)
	cmd := &cobra.Command{
		Use:   "score",
		Short: "Compute how a tenant's score follows its usage",
		Long: `Compute how a tenant's score follows its usage, as the controller does. The command
reads lines of "time,usage" from standard input and writes "time,usage,score". A usage
holds until the next line, and the score of the first line is 0. All times are numbers
of seconds or durations such as 90m.`,
		Example: `  printf 'time,usage\n0,8\n604800,8\n' | numalet score
  numalet score --settle 10 --step 1 <usage.csv`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			decay, err := fairshare.Settle(float64(settle))
			if err != nil {
				return command.BadUsage(err)
			}
			if cmd.Flags().Changed("step") && !(step > 0) {
				return command.WrongUsage("step %v s: want more than 0, or no --step", float64(step))
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			s := scorer{decay: decay, step: float64(step), out: out}
			if err := s.run(cmd.InOrStdin()); err != nil {
				out.Flush()
				return fmt.Errorf("score usage: %w", err)
			}
			return out.Flush()
		},
	}
	cmd.Flags().Var(&settle, "settle", "Time constant: after it, the score has reached 63 % of a constant usage.")
	cmd.Flags().Var(&step, "step", "Compute the score at least this often. The result is the same. (default once per line)")
	return cmd
}

// scorer computes a score sample by sample.
type scorer struct {
	decay fairshare.Decay
	step  float64 // seconds, 0 for none
	out   io.Writer
	last  sample // the line above, if any
	score float64
}

// run writes what it reads, each with its score.
func (s *scorer) run(in io.Reader) error {
	return readSamples(in, func(now sample) error {
		if now.isHeader() {
			_, err := fmt.Fprintln(s.out, "time,usage,score")
			return err
		}
		if err := s.follow(now); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out, "%s,%s,%s\n", now.text[0], now.text[1], strconv.FormatFloat(s.score, 'g', -1, 64))
		return err
	})
}

// maxSteps bounds the work of one line: some seconds.
const maxSteps = 1e7

// follow brings the score up to a sample's time.
func (s *scorer) follow(now sample) error {
	before := s.last
	s.last = now
	if before.text == nil {
		return nil
	}
	passed := now.time - before.time
	if passed < 0 {
		return fmt.Errorf("time %s is before %s, that of the line above: sort the lines by time", now.text[0], before.text[0])
	}
	steps := 1.
	if s.step > 0 {
		steps = max(1, math.Ceil(passed/s.step))
	}
	if steps > maxSteps {
		return fmt.Errorf("%v s since the line above are %.0f steps of %v s, want %.0f at most: choose a larger --step",
			passed, steps, s.step, maxSteps)
	}
	for range int(steps) {
		s.score = s.decay.Next(s.score, before.usage, passed/steps)
	}
	return nil
}

// seconds is a duration as the value of a flag. It implements pflag.Value.
type seconds float64

func (s *seconds) String() string { return strconv.FormatFloat(float64(*s), 'f', -1, 64) }

// Type names the value in the help text.
func (s *seconds) Type() string { return "seconds" }

func (s *seconds) Set(text string) error {
	x, err := parseSeconds(text)
	if err != nil {
		return errors.New("want a number of seconds, or a duration such as 42h")
	}
	*s = seconds(x)
	return nil
}

// parseSeconds reads a number of seconds, or a duration such as 42h.
func parseSeconds(text string) (float64, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds(), nil
	}
	return strconv.ParseFloat(text, 64)
}
