package e2eutil

import (
	"fmt"
	"strconv"
	"strings"
)

// Series are the values of metrics. The keys are the metric's name and labels as in Prometheus'
// text format: `name{label="value"}`.
type Series map[string]float64

// ParseSeries parses the text of /metrics. The values must not have timestamps. Source:
// https://prometheus.io/docs/instrumenting/exposition_formats/
func ParseSeries(page string) (Series, error) {
	all := Series{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ') + 1 // a label's value may have spaces
		value, err := strconv.ParseFloat(line[at:], 64)
		if err != nil {
			return nil, fmt.Errorf("parse metric %q: %w", line, err)
		}
		all[strings.TrimSpace(line[:at])] = value
	}
	return all, nil
}

// Since returns how much metrics have grown since an earlier scrape. The parameter `before` is the
// earlier scrape. Since adds up all metrics whose keys start with the prefix. A missing metric
// counts as 0.
func (s Series) Since(before Series, prefix string) float64 {
	return s.sum(prefix) - before.sum(prefix)
}

func (s Series) sum(prefix string) (total float64) {
	for name, value := range s {
		if strings.HasPrefix(name, prefix) {
			total += value
		}
	}
	return total
}
