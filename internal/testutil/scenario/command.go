package scenario

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/numalet/numalet/pkg/cpuset"
)

// Answer is what a command prints. It is empty when a command begins.
type Answer struct{ strings.Builder }

// Line writes a line.
func (a *Answer) Line(format string, args ...any) { fmt.Fprintf(a, format+"\n", args...) }

// Error writes an error as a line, and nothing if there is none.
func (a *Answer) Error(err error) {
	if err != nil {
		fmt.Fprintln(a, err)
	}
}

// YAML writes an object as YAML.
func (a *Answer) YAML(object any) {
	text, err := yaml.Marshal(object)
	a.Error(err)
	a.Write(text)
}

// Command is a command and its answer.
type Command struct {
	*Answer
	Name string
	Words
}

// Words are what follows the name of a command: arguments, which are counted from 0, and
// values, which have a key (key=value). A word that is missing or that cannot be read
// ends the command with an error of the test.
type Words []string

// Args returns the words that are not values.
func (w Words) Args() (args []string) {
	for _, word := range w {
		if !strings.Contains(word, "=") {
			args = append(args, word)
		}
	}
	return args
}

// Arg returns an argument.
func (w Words) Arg(i int) string {
	args := w.Args()
	if i >= len(args) {
		panic(malformed(fmt.Sprintf("argument %d is missing", i)))
	}
	return args[i]
}

// Opt returns an argument, or nothing.
func (w Words) Opt(i int) string {
	if args := w.Args(); i < len(args) {
		return args[i]
	}
	return ""
}

// Int returns an argument that is a number.
func (w Words) Int(i int) int { return Int(w.Arg(i)) }

// Float returns an argument that is a number with a fraction.
func (w Words) Float(i int) float64 {
	return must(strconv.ParseFloat(w.Arg(i), 64))
}

// Duration returns an argument that is a duration.
func (w Words) Duration(i int) time.Duration { return Duration(w.Arg(i)) }

// Has returns whether a word is there, with a value or without.
func (w Words) Has(key string) bool {
	return slices.ContainsFunc(w, func(word string) bool { return word == key || strings.HasPrefix(word, key+"=") })
}

// Value returns the value of a key, or nothing.
func (w Words) Value(key string) string {
	for _, word := range w {
		if value, ok := strings.CutPrefix(word, key+"="); ok {
			return value
		}
	}
	return ""
}

// Values yields the words that are values, in order.
func (w Words) Values() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, word := range w {
			if key, value, ok := strings.Cut(word, "="); ok && !yield(key, value) {
				return
			}
		}
	}
}

// IntValue returns a value that is a number, or another number where it is missing.
func (w Words) IntValue(key string, otherwise int) int {
	if value := w.Value(key); value != "" {
		return Int(value)
	}
	return otherwise
}

// CPUs returns a value that is a list of CPUs; none where it is missing.
func (w Words) CPUs(key string) cpuset.Set { return must(cpuset.Parse(w.Value(key))) }

// List returns a value that is a list, such as a,b; nil if it is missing.
func (w Words) List(key string) []string {
	if w.Value(key) == "" {
		return nil
	}
	return strings.Split(w.Value(key), ",")
}

// Pairs yields the pairs of a value such as a:1,b:2.
func (w Words) Pairs(key string) iter.Seq2[string, string] { return Pairs(w.Value(key)) }

// malformed says what is wrong with a command.
type malformed string

func (m malformed) Error() string { return "error: " + string(m) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(malformed(err.Error()))
	}
	return value
}

// Int reads a number that is part of a word.
func Int(text string) int { return must(strconv.Atoi(text)) }

// Duration reads a duration that is part of a word, in days too: 30m, 4d.
func Duration(text string) time.Duration {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		return time.Duration(Int(days)) * 24 * time.Hour
	}
	return must(time.ParseDuration(text))
}

// Pairs yields the pairs of a text such as a:1,b:2.
func Pairs(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for pair := range strings.SplitSeq(text, ",") {
			if a, b, ok := strings.Cut(pair, ":"); ok && !yield(a, b) {
				return
			}
		}
	}
}
