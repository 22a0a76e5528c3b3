package picture

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// cells formats cores as cells of equal width, so that columns are aligned.
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

// lines returns the cores of the CPUs, with as many on a line as fit in width.
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

// cells returns one text per core: "[0 8]", with the prefix P or E for performance and
// efficiency cores. A CPU whose core is unknown has a cell of its own.
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

// thread returns a CPU's number, * if it is isolated, and its mark.
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
