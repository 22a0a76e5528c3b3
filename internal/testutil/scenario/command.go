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

// Answer collects the output of a command of a scenario. It is empty when the command starts.
type Answer struct{ strings.Builder }

// Line writes a formatted line.
func (a *Answer) Line(format string, args ...any) { fmt.Fprintf(a, format+"\n", args...) }

// Error writes an error as a line. It writes nothing if err is nil.
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

// Command is a command of a scenario, with the answer that the command writes.
type Command struct {
	*Answer
	Name string
	Words
}

// Words are the words after the name of a command. A word of the form key=value is a value, and any
// other word is an argument. Arguments are counted from 0. If a word that a method needs is missing
// or cannot be parsed, the command ends and the test fails.
type Words []string

// Args returns the arguments: the words that are not of the form key=value.
func (w Words) Args() (args []string) {
	for _, word := range w {
		if !strings.Contains(word, "=") {
			args = append(args, word)
		}
	}
	return args
}

// Arg returns the i-th argument.
func (w Words) Arg(i int) string {
	args := w.Args()
	if i >= len(args) {
		panic(malformed(fmt.Sprintf("argument %d is missing", i)))
	}
	return args[i]
}

// Opt returns the i-th argument, or "" if it is missing.
func (w Words) Opt(i int) string {
	if args := w.Args(); i < len(args) {
		return args[i]
	}
	return ""
}

// Int returns the i-th argument, which must be an integer.
func (w Words) Int(i int) int { return Int(w.Arg(i)) }

// Float returns the i-th argument, which must be a number.
func (w Words) Float(i int) float64 {
	return must(strconv.ParseFloat(w.Arg(i), 64))
}

// Duration returns the i-th argument, which must be a duration.
func (w Words) Duration(i int) time.Duration { return Duration(w.Arg(i)) }

// Has reports whether the words include key or key=value.
func (w Words) Has(key string) bool {
	return slices.ContainsFunc(w, func(word string) bool { return word == key || strings.HasPrefix(word, key+"=") })
}

// Value returns the value of the word key=value, or "" if there is no such word.
func (w Words) Value(key string) string {
	for _, word := range w {
		if value, ok := strings.CutPrefix(word, key+"="); ok {
			return value
		}
	}
	return ""
}

// Values yields the keys and values of all words of the form key=value, in the order of the words.
func (w Words) Values() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, word := range w {
			if key, value, ok := strings.Cut(word, "="); ok && !yield(key, value) {
				return
			}
		}
	}
}

// IntValue returns the value of the word key=value as an integer. If there is no such word, it
// returns the default value, which is given as `otherwise`.
func (w Words) IntValue(key string, otherwise int) int {
	if value := w.Value(key); value != "" {
		return Int(value)
	}
	return otherwise
}

// CPUs returns the value of the word key=value as a set of CPUs. If there is no such word, the set
// is empty.
func (w Words) CPUs(key string) cpuset.Set { return must(cpuset.Parse(w.Value(key))) }

// List returns the value of the word key=value as a list, such as a,b. If there is no such word,
// it returns nil.
func (w Words) List(key string) []string {
	if w.Value(key) == "" {
		return nil
	}
	return strings.Split(w.Value(key), ",")
}

// Pairs yields the pairs in the value of the word key=value, such as a:1,b:2.
func (w Words) Pairs(key string) iter.Seq2[string, string] { return Pairs(w.Value(key)) }

// malformed is the value with which a method of Words panics if a word is missing or cannot be
// parsed.
type malformed string

func (m malformed) Error() string { return "error: " + string(m) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(malformed(err.Error()))
	}
	return value
}

// Int parses an integer in the text of a scenario.
func Int(text string) int { return must(strconv.Atoi(text)) }

// Duration parses a duration in the text of a scenario, such as 30m. It also accepts days, such as
// 4d.
func Duration(text string) time.Duration {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		return time.Duration(Int(days)) * 24 * time.Hour
	}
	return must(time.ParseDuration(text))
}

// Pairs yields the pairs in a text such as a:1,b:2.
func Pairs(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for pair := range strings.SplitSeq(text, ",") {
			if a, b, ok := strings.Cut(pair, ":"); ok && !yield(a, b) {
				return
			}
		}
	}
}
