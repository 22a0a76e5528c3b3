package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

// bound is a line of bounds.yaml.
type bound struct {
	Load     string   `json:"load"`
	Measure  string   `json:"measure"` // rate, told or cpu
	Of       string   `json:"of"`
	To       string   `json:"to,omitempty"` // if set, the quotient of both is bounded
	Min, Max *float64 `json:",omitempty"`
}

// check compares the results with a file of bounds and prints each quotient. Rounds that were
// not run are skipped. Without a file there are no bounds.
func check(out io.Writer, file string, results []result) error {
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read bounds: %w", err)
	}
	var bounds []bound
	if err := yaml.UnmarshalStrict(data, &bounds); err != nil {
		return fmt.Errorf("read bounds %s: %w", file, err)
	}
	fmt.Fprintln(out)
	var broken error
	for _, b := range bounds {
		text, err := b.hold(results)
		if text != "" {
			fmt.Fprintln(out, text)
		}
		broken = errors.Join(broken, err)
	}
	return broken
}

// hold returns how a result compares with its bound, or nothing if it was not measured.
func (b bound) hold(results []result) (string, error) {
	value, ok := b.value(b.Of, results)
	text := fmt.Sprintf("%s pods, %s of %s", b.Load, b.Measure, b.Of)
	if b.To != "" {
		to, known := b.value(b.To, results)
		value, ok = value/to, ok && known
		text += " : " + b.To
	}
	if !ok {
		return "", nil
	}
	text += fmt.Sprintf(" = %.2f", value)
	switch {
	case b.Min != nil && value < *b.Min:
		return text, fmt.Errorf("%s, want at least %v", text, *b.Min)
	case b.Max != nil && value > *b.Max:
		return text, fmt.Errorf("%s, want at most %v", text, *b.Max)
	}
	return text, nil
}

func (b bound) value(contender string, results []result) (float64, bool) {
	for _, r := range results {
		if r.contender == contender && r.load == b.Load {
			return map[string]float64{"rate": r.rate, "told": r.eventRate(), "cpu": ms(r.cpu)}[b.Measure], true
		}
	}
	return 0, false
}
