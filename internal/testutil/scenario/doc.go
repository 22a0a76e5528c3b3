// Package scenario helps to write tests that compare text output with golden files. A suite of such
// tests consists of files in a folder testdata, and of a Go test that computes the answers. The
// command "go test -rewrite" writes the current answers to the files, and the diff shows what has
// changed.
//
// Most suites are scenarios: text files of commands, each followed by its answer.
//
//	# Two containers do not fit.
//	> machine cores=2
//
//	> pod a single app=3
//	no NUMA node has 3 CPUs free
//
// A line that starts with "> " is a command: a name, and words, some of which have the form
// key=value. A line that starts with "#" is a comment. All other lines are answers. The test has a
// table of functions that handle the commands. Each file starts with a new state of the test:
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
// In other suites, each test case has one input and its outputs. Each file of such a suite is a
// txtar archive (see [Cases]). For output without an input file, use [Golden].
package scenario
