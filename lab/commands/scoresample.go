package commands

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/numalet/numalet/lab/openb"
)

// sample is one input line "time,usage".
type sample struct {
	time, usage float64
	text        []string // the fields, without surrounding spaces
}

func (s sample) isHeader() bool { return slices.Equal(s.text, []string{"time", "usage"}) }

// readSamples calls the function given as `do` for each line. The first line may be a header; `do`
// is called for it, too. The errors of readSamples contain the line number.
func readSamples(in io.Reader, do func(sample) error) error {
	rows := csv.NewReader(in)
	rows.FieldsPerRecord = -1
	for first := true; ; first = false {
		fields, err := rows.Read()
		if errors.Is(err, io.EOF) && first {
			return errors.New("nothing to read: give lines of time,usage on standard input")
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: want lines of time,usage", openb.CSVError(err))
		}
		line, _ := rows.FieldPos(0)
		s, err := parseSample(fields)
		if err == nil || first && s.isHeader() {
			err = do(s)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func parseSample(fields []string) (s sample, err error) {
	for _, f := range fields {
		s.text = append(s.text, strings.TrimSpace(f))
	}
	if len(fields) != 2 {
		return s, fmt.Errorf("%d columns: want 2, time,usage", len(fields))
	}
	if s.time, err = finite(parseSeconds(s.text[0])); err != nil {
		return s, fmt.Errorf("time %q: want a number of seconds, or a duration such as 90m", s.text[0])
	}
	if s.usage, err = finite(strconv.ParseFloat(s.text[1], 64)); err != nil || s.usage < 0 {
		return s, fmt.Errorf("usage %q: want a number of GPUs or cores, 0 or more", s.text[1])
	}
	return s, nil
}

// finite checks a parsed number. It returns its arguments, but if err is nil and x is infinite
// or not a number, it returns an error instead.
func finite(x float64, err error) (float64, error) {
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = strconv.ErrRange
	}
	return x, err
}
