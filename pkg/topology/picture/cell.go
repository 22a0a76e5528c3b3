package picture

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// cells formats cores as texts of equal width, called cells, so that columns are aligned.
type cells struct {
	mark  func(cpuset.CPU) string
	width int
}

func newCells(machine *topology.Machine, mark func(cpuset.CPU) string) cells {
	c := cells{mark: mark}
	for _, cell := range c.cells(machine.CPUs) {
		c.width = max(c.width, columnsOf(cell))
	}
	return c
}

// lines returns the cells of the given CPUs' cores in lines of text. Each line has as many cells as
// fit into the given width.
func (c cells) lines(cpus []topology.CPU, width int) []string {
	perLine := max(1, (width+1)/(c.width+1))
	var lines []string
	var line []string
	for i, cell := range c.cells(cpus) {
		if i > 0 && i%perLine == 0 {
			lines, line = append(lines, strings.TrimRight(strings.Join(line, " "), " ")), nil
		}
		line = append(line, cell+strings.Repeat(" ", c.width-columnsOf(cell)))
	}
	return append(lines, strings.TrimRight(strings.Join(line, " "), " "))
}

// cells returns one text for each core, such as "[0 8]" for a core with CPUs 0 and 8. Performance
// cores have the prefix P, and efficiency cores E. A CPU whose core is unknown has a separate cell.
func (c cells) cells(cpus []topology.CPU) []string {
	var order []cpuset.CPU
	kind := map[cpuset.CPU]string{}
	threads := map[cpuset.CPU][]string{}
	for _, cpu := range cpus {
		if !cpu.Online {
			continue
		}
		core := cpu.Core
		if core == topology.Unknown {
			core = cpu.ID
		}
		if threads[core] == nil {
			order = append(order, core)
			kind[core] = kindLetter(cpu.Kind)
		}
		threads[core] = append(threads[core], c.thread(cpu))
	}
	var texts []string
	for _, core := range order {
		texts = append(texts, kind[core]+"["+strings.Join(threads[core], " ")+"]")
	}
	return texts
}

// thread returns the text of one CPU: its number, * if it is isolated, and the suffix that c.mark
// returns, such as the letter of the container that holds the CPU. If c.mark is nil, there is no
// suffix.
func (c cells) thread(cpu topology.CPU) string {
	text := fmt.Sprint(cpu.ID)
	if cpu.Isolated {
		text += "*"
	}
	if c.mark != nil {
		text += c.mark(cpu.ID)
	}
	return text
}

// escape matches an escape sequence that sets the colour of text on a terminal (ECMA-48, SGR).
var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// columnsOf returns the width of a text on a terminal.
func columnsOf(text string) int { return len([]rune(escape.ReplaceAllString(text, ""))) }

func kindLetter(k topology.CoreKind) string {
	switch k {
	case topology.Performance:
		return "P"
	case topology.Efficiency:
		return "E"
	}
	return ""
}
