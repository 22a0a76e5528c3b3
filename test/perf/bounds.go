package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

// bound is an entry of bounds.yaml. It limits the quotient of two contenders' values in one run.
// Single values have no limits, because they depend on the machine.
type bound struct {
	Load     string   `json:"load"`
	Measure  string   `json:"measure"` // "bound" for bound pods per second, "told" for written events per second, or "cpu" for CPU time per pod (see bounds.yaml)
	Of       string   `json:"of"`
	To       string   `json:"to"`
	Min, Max *float64 `json:",omitempty"`
}

// check reads a file of bounds (bounds.yaml). For each bound, it prints the quotient of the two
// results that the bound names, and compares the quotient with the bound. It skips the bounds for
// rounds that were not run. If `file` is "", it checks nothing.
func check(out io.Writer, file string, results results) error {
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

// hold divides the result of the contender b.Of by that of the contender b.To, and compares this
// quotient with the bound. It returns a line with the quotient, and an error if the quotient is
// less than Min or more than Max. The line is "" if one of the results was not measured.
func (b bound) hold(results results) (string, error) {
	value, to := b.value(b.Of, results), b.value(b.To, results)
	if value == 0 || to == 0 {
		return "", nil
	}
	value /= to
	text := fmt.Sprintf("%s pods, %s of %s : %s = %.2f", b.Load, b.Measure, b.Of, b.To, value)
	switch {
	case b.Min != nil && value < *b.Min:
		return fmt.Sprintf("%s, want at least %v", text, *b.Min), fmt.Errorf("%s, want at least %v", text, *b.Min)
	case b.Max != nil && value > *b.Max:
		return fmt.Sprintf("%s, want at most %v", text, *b.Max), fmt.Errorf("%s, want at most %v", text, *b.Max)
	}
	return text, nil
}

// value returns a contender's value of the measure, or 0 if it was not measured.
func (b bound) value(contender string, results results) float64 {
	r, _ := results.of(contender, b.Load)
	return map[string]float64{"bound": r.rate, "told": r.told, "cpu": ms(r.cpu)}[b.Measure]
}
