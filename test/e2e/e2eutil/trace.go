package e2eutil

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
)

// Sample is one reading of a container's allowed CPUs. These CPUs were allowed at some moment
// between From and To. Times are in nanoseconds of CLOCK_BOOTTIME, which is the same in all
// containers of a node.
type Sample struct {
	From, To int64
	CPUs     cpuset.Set
}

// Life is one run of a container's program, with all samples of its allowed CPUs in order. A
// restart begins a new life.
type Life struct {
	Pod, Container string
	Exclusive      bool
	Samples        []Sample // the first one is at the program's first instruction
}

// Born returns the CPUs that were allowed at the program's first instruction.
func (l Life) Born() cpuset.Set { return l.Samples[0].CPUs }

func (l Life) String() string { return l.Pod + "/" + l.Container }

// ParseLives reads the records of a container. A life begins with the line "born <ns> <cpus>". Each
// later sample is a line "sample <ns> <ns> <cpus>".
func ParseLives(r io.Reader, pod, container string, exclusive bool) ([]Life, error) {
	var lives []Life
	for lines := bufio.NewScanner(r); lines.Scan(); {
		sample, born, err := parseSample(lines.Text())
		switch {
		case err != nil:
			return lives, fmt.Errorf("trace of %s/%s: %w", pod, container, err)
		case born:
			lives = append(lives, Life{Pod: pod, Container: container, Exclusive: exclusive, Samples: []Sample{sample}})
		case len(lives) == 0:
			return nil, fmt.Errorf("trace of %s/%s: begins with a sample, not a birth", pod, container)
		default:
			last := &lives[len(lives)-1]
			last.Samples = append(last.Samples, sample)
		}
	}
	return lives, nil
}

func parseSample(line string) (s Sample, born bool, err error) {
	fields := strings.Fields(line)
	if len(fields) == 3 && fields[0] == "born" {
		fields = []string{"born", fields[1], fields[1], fields[2]}
	}
	if len(fields) != 4 {
		return s, false, fmt.Errorf("line %q is neither born nor sample", line)
	}
	if s.From, err = strconv.ParseInt(fields[1], 10, 64); err != nil {
		return s, false, fmt.Errorf("line %q: %w", line, err)
	}
	if s.To, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
		return s, false, fmt.Errorf("line %q: %w", line, err)
	}
	s.CPUs, err = cpuset.Parse(fields[3])
	return s, fields[0] == "born", err
}
