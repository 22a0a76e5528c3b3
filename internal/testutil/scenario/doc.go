// Package scenario helps to write tests that compare text output with golden files. Such a suite
// consists of files in a folder testdata and of a Go test that computes the answers. "go test
// -rewrite" writes the current answers to the files, and the diff shows what changed.
//
// Most suites are scenarios: text files of commands, each followed by its answer.
//
//	# Two containers do not fit.
//	> machine cores=2
//
//	> pod a single app=3
//	no NUMA node has 3 CPUs free
//
// A line that starts with "> " is a command: a name and words, of which some have the form
// key=value. A line that starts with "#" is a comment. Everything else is an answer. The test has a
// table of functions that handle the commands. Their state is new for each file:
//
//	func TestScenarios(t *testing.T) {
//		scenario.Walk(t, func(t *testing.T, out *scenario.Answer) scenario.Commands {
//			w := &world{}
//			return scenario.Commands{"machine": w.machine, "pod": w.pod}
//		})
//	}
//
//	func (w *world) machine(c *scenario.Command) { w.cores = c.IntValue("cores", 4) }
//
// If each test case has one input and its outputs, each file of the suite is a txtar archive; see
// [Cases]. [Golden] compares output without input.
package scenario
