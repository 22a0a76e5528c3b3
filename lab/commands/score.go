package commands

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// newScore returns the command "numalet score".
func newScore() *cobra.Command {
	constant, step, format := seconds(fairshare.DefaultTimeConstant), seconds(0), command.Text
	cmd := &cobra.Command{
		Use:   "score",
		Short: "Compute how a tenant's score follows its usage",
		Long: `Compute how a tenant's score follows its usage, as the controller does. The usage is the
amount of a resource that the tenant's pods hold, such as a number of GPUs. The score is
an average of the usage in which recent usage counts more.

The command reads lines of "time,usage" from standard input and writes
"time,usage,score". A usage lasts until the next line, and the score of the first line
is 0. All times are numbers of seconds or durations such as 90m.`,
		Example: `  printf 'time,usage\n0,8\n604800,8\n' | numalet score
  numalet score --time-constant 10 --step 1 <usage.csv`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			decay, err := fairshare.NewDecay(float64(constant))
			if err != nil {
				return command.BadUsage(err)
			}
			if cmd.Flags().Changed("step") && !(step > 0) {
				return command.WrongUsage("--step %v s: want more than 0, or no --step", float64(step))
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			s := scorer{decay: decay, step: float64(step), out: out, format: format}
			if err := s.run(command.TextReader(cmd.InOrStdin())); err != nil {
				return errors.Join(fmt.Errorf("score usage: %w", err), out.Flush())
			}
			return out.Flush()
		},
	}
	cmd.Flags().Var(&constant, "time-constant", "Time constant of the score, in seconds or as a duration: after this time, the score has risen from 0 to 63 % of a constant usage.")
	cmd.Flags().Var(&step, "step", "Maximum time between two computations of the score, in seconds or as a duration. More computations change the result only by rounding errors. (default once per line)")
	command.OutputFlag(cmd, &format)
	return cmd
}

// scorer reads lines of "time,usage", and computes a tenant's fair-share score (package
// fairshare) at the time of each line.
type scorer struct {
	decay fairshare.Decay
	step  float64 // longest time between two computations (--step), in seconds; 0 means no limit
	out   io.Writer
	last  sample // the previous line, if any
	score float64

	format command.Format
	scored []scored // the output so far; only for the format JSON
}

// scored is one line of the output as JSON.
type scored struct {
	Seconds float64 `json:"seconds"`
	Usage   float64 `json:"usage"`
	Score   float64 `json:"score"`
}

// run reads the input line by line, and writes each line with the score at its time.
func (s *scorer) run(in io.Reader) error {
	if err := readSamples(in, s.line); err != nil {
		return err
	}
	if s.format == command.JSON {
		return command.WriteJSON(s.out, s.scored)
	}
	return nil
}

func (s *scorer) line(now sample) error {
	header := now.isHeader()
	if !header {
		if err := s.follow(now); err != nil {
			return err
		}
	}
	var err error
	switch {
	case s.format == command.JSON && !header:
		s.scored = append(s.scored, scored{now.time, now.usage, s.score})
	case header && s.format == command.Text:
		_, err = fmt.Fprintln(s.out, "time,usage,score")
	case s.format == command.Text:
		_, err = fmt.Fprintf(s.out, "%s,%s,%s\n", now.text[0], now.text[1], strconv.FormatFloat(s.score, 'g', -1, 64))
	}
	return err
}

// maxSteps is the largest number of steps that the command computes between the times of two lines
// of input. The flag --step limits the length of a step. The limit on steps also limits the time
// that the command takes for a line.
const maxSteps = 1e7

// follow updates the score from the time of the previous line to the time of the line given as
// `now`. Between these two times, the usage is that of the previous line.
func (s *scorer) follow(now sample) error {
	before := s.last
	s.last = now
	if before.text == nil {
		return nil
	}
	passed := now.time - before.time
	if passed < 0 {
		return fmt.Errorf("time %s is before %s, the time of the previous line: sort the lines by time", now.text[0], before.text[0])
	}
	steps := 1.
	if s.step > 0 {
		steps = max(1, math.Ceil(passed/s.step))
	}
	if steps > maxSteps {
		return fmt.Errorf("%v s since the previous line are %.0f steps of %v s, want at most %.0f: use a larger --step",
			passed, steps, s.step, maxSteps)
	}
	for range int(steps) {
		s.score = s.decay.Next(s.score, before.usage, passed/steps)
	}
	return nil
}

// seconds is a flag value with a duration in seconds. It implements pflag.Value.
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
