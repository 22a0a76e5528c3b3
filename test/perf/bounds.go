package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

// bound is an entry of bounds.yaml. It limits the quotient of two values of one run: of two
// contenders, or of one contender with two loads. Single values have no limits, because they depend
// on the machine.
type bound struct {
	Load     string   `json:"load"`
	Measure  string   `json:"measure"` // "bound" for bound pods per second, "told" for written events per second, "cpu" for CPU time per pod, or "p99" for the time until a pod is bound (see bounds.yaml)
	Of       string   `json:"of"`
	To       string   `json:"to"`
	ToLoad   string   `json:"toLoad"` // the load of the contender To; "" if it is Load
	Min, Max *float64 `json:",omitempty"`
}

// check reads a file of bounds (bounds.yaml). For each bound, it prints the quotient of the two
// results that the bound names, and compares the quotient with the bound. For rounds that were not
// run, it prints that they were not measured, which is no error. If `file` is "", it checks nothing.
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
		fmt.Fprintln(out, text)
		broken = errors.Join(broken, err)
	}
	return broken
}

// hold divides the value of the contender b.Of with the load b.Load by that of the contender b.To
// with the load b.ToLoad, and compares this quotient with the bound. It returns a line with the
// quotient, and an error if the quotient is less than Min or more than Max, or if the contender b.Of
// was stopped before it had bound all pods. If one of the values was not measured, the line says so.
// It also says so if the bound has a misspelled name.
func (b bound) hold(results results) (string, error) {
	if r, _ := results.of(b.Of, b.Load); r.stopped {
		text := fmt.Sprintf("%s pods, %s of %s: stopped after %d pods", b.Load, b.Measure, b.Of, r.bound)
		return text, errors.New(text)
	}
	divisor := b.To
	if b.ToLoad != "" {
		divisor += " with " + b.ToLoad + " pods"
	}
	text := fmt.Sprintf("%s pods, %s of %s : %s", b.Load, b.Measure, b.Of, divisor)
	of, to := b.value(b.Of, b.Load, results), b.value(b.To, cmp.Or(b.ToLoad, b.Load), results)
	if of == 0 || to == 0 {
		return text + ": not measured", nil
	}
	value := of / to
	text += fmt.Sprintf(" = %.2f", value)
	switch {
	case b.Min != nil && value < *b.Min:
		return fmt.Sprintf("%s, want at least %v", text, *b.Min), fmt.Errorf("%s, want at least %v", text, *b.Min)
	case b.Max != nil && value > *b.Max:
		return fmt.Sprintf("%s, want at most %v", text, *b.Max), fmt.Errorf("%s, want at most %v", text, *b.Max)
	}
	return text, nil
}

// value returns a contender's value of the measure with a load, or 0 if it was not measured.
func (b bound) value(contender, load string, results results) float64 {
	r, _ := results.of(contender, load)
	return map[string]float64{"bound": r.rate, "told": r.told, "cpu": ms(r.cpu), "p99": ms(quantile(r.steady, 0.99))}[b.Measure]
}
