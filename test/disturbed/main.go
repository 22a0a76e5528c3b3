// Command disturbed draws the results of TestLatencyIsolation as an SVG image. It reads them as JSON
// from standard input.
//
//	go run ./test/disturbed <docs/benchmarks/logs/isolation.json >docs/benchmarks/isolation.svg
package main

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/numalet/numalet/test/e2e/e2eutil"
)

func main() {
	if err := draw(os.Stdout, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "disturbed:", err)
		os.Exit(1)
	}
}

// draw writes one group of bars for each measure. The longest bar of a group has the full length.
// The results without isolation come first.
func draw(w io.Writer, r io.Reader) error {
	var all []e2eutil.Disturbed
	if err := json.NewDecoder(r).Decode(&all); err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	slices.SortStableFunc(all, func(a, b e2eutil.Disturbed) int { return strings.Compare(a.Isolation, b.Isolation) })
	p := &page{}
	for _, m := range []struct {
		title, unit string
		of          func(e2eutil.Disturbed) float64
	}{
		{"foreign time of a CPU: other processes", "ms/s", func(d e2eutil.Disturbed) float64 { return d.ForeignMillis["other"] }},
		{"foreign time of a CPU: kernel threads", "ms/s", func(d e2eutil.Disturbed) float64 { return d.ForeignMillis["kernel"] }},
		{"foreign time of a CPU: interrupts", "ms/s", func(d e2eutil.Disturbed) float64 { return d.ForeignMillis["interrupts"] }},
		{"wake-up latency, median", "ms", func(d e2eutil.Disturbed) float64 { return d.MedianMicros / 1000 }},
		{"wake-up latency, p99.9", "ms", func(d e2eutil.Disturbed) float64 { return d.P999Micros / 1000 }},
	} {
		longest := 0.0
		for _, d := range all {
			longest = max(longest, m.of(d))
		}
		p.title(m.title)
		for _, d := range all {
			p.bar(label(d), m.of(d), longest, m.unit)
		}
	}
	return p.write(w)
}

func label(d e2eutil.Disturbed) string {
	if d.Isolation == "" {
		return "exclusive CPUs"
	}
	return "isolation: " + d.Isolation
}

// Lengths in pixels.
const (
	lineHeight = 24
	padding    = 12
	labels     = 150 // width of the labels before the bars
	barWidth   = 380 // length of the longest bar
	pageWidth  = padding + labels + barWidth + 110
)

// style has the colours for light and for dark mode.
const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600 } .page { fill: #ffffff } .bar { fill: #0969da }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .page { fill: #0d1117 } .bar { fill: #4493f8 } }
`

// page is an image that grows downwards.
type page struct {
	body   strings.Builder
	height int
}

func (p *page) title(text string) {
	p.height += lineHeight
	fmt.Fprintf(&p.body, "<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>\n", padding, p.height, html.EscapeString(text))
}

func (p *page) bar(label string, value, longest float64, unit string) {
	p.height += lineHeight
	width := 0.0
	if longest > 0 {
		width = barWidth * value / longest
	}
	fmt.Fprintf(&p.body, "<text x=\"%d\" y=\"%d\">%s</text>\n", padding, p.height, html.EscapeString(label))
	fmt.Fprintf(&p.body, "<rect class=\"bar\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n", padding+labels, p.height-13, width, lineHeight-8)
	fmt.Fprintf(&p.body, "<text x=\"%.1f\" y=\"%d\">%.3g %s</text>\n", padding+labels+width+6, p.height, value, unit)
}

func (p *page) write(w io.Writer) error {
	height := p.height + padding
	_, err := fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%[1]d\" height=\"%[2]d\" role=\"img\" aria-label=\"%[3]s\">\n"+
		"<style>%[4]s</style>\n<rect class=\"page\" width=\"%[1]d\" height=\"%[2]d\"/>\n%[5]s</svg>\n",
		pageWidth, height, "how much a pod with exclusive CPUs is disturbed, without and with isolation", style, p.body.String())
	return err
}
