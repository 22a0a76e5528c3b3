package doctor

import (
	"fmt"
	"io"
	"strings"
)

// Status is the result of a check.
type Status string

// These are the statuses, from good to bad.
const (
	OK      Status = "ok"
	Info    Status = "info"    // worth knowing; nothing to do
	Warning Status = "warning" // Numalet works, but something should be changed
	Error   Status = "error"   // exclusive CPUs or GPUs do not work here
	Unknown Status = "unknown" // the check could not be made
)

// Finding is the outcome of one check. Programs read findings as JSON, so the names and meanings
// of the fields must not change.
type Finding struct {
	Check  string `json:"check"`            // a stable name, such as "kubelet-managers"
	Object string `json:"object,omitempty"` // the node or object; "" for the whole cluster, or this machine
	Status Status `json:"status"`
	Found  string `json:"found"`            // what the check found
	Why    string `json:"why,omitempty"`    // why it matters; "" if there is no problem
	Remedy string `json:"remedy,omitempty"` // what to do; a command where possible
}

// Report has the findings, in the order of the checks.
type Report []Finding

// Count returns the number of findings with the status s.
func (r Report) Count(s Status) int {
	n := 0
	for _, f := range r {
		if f.Status == s {
			n++
		}
	}
	return n
}

// Fails reports whether any finding of the report has the status Error or Unknown.
func (r Report) Fails() bool { return r.Count(Error)+r.Count(Unknown) > 0 }

// manyObjects is the number of objects with equal findings from which WriteText writes one finding for
// all of them.
const manyObjects = 10

// short returns a report in which findings about many objects that differ only in the object are one
// finding, which names some of the objects.
func (r Report) short() (short Report) {
	objects := map[Finding][]string{} // by finding, without its object
	for _, f := range r {
		objects[f.general()] = append(objects[f.general()], f.Object)
	}
	for _, f := range r {
		names := objects[f.general()]
		switch {
		case len(names) < manyObjects:
			short = append(short, f)
		case f.Object == names[0]:
			f.Object = fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
			short = append(short, f)
		}
	}
	return short
}

// general returns the finding without its object.
func (f Finding) general() Finding {
	f.Object = ""
	return f
}

// WriteText writes the report for people. Each finding that is OK takes one line. Equal findings about
// many objects are written once.
func (r Report) WriteText(w io.Writer) error {
	var text strings.Builder
	for _, f := range r.short() {
		name := f.Check
		if f.Object != "" {
			name += " (" + f.Object + ")"
		}
		fmt.Fprintf(&text, "%-7s  %s: %s\n", strings.ToUpper(string(f.Status)), name, f.Found)
		if f.Why != "" {
			fmt.Fprintf(&text, "         why: %s\n", f.Why)
		}
		if f.Remedy != "" {
			fmt.Fprintf(&text, "         do:  %s\n", f.Remedy)
		}
	}
	fmt.Fprintf(&text, "\n%d checks: %d ok, %d info, %d warnings, %d errors, %d unknown\n",
		len(r), r.Count(OK), r.Count(Info), r.Count(Warning), r.Count(Error), r.Count(Unknown))
	_, err := io.WriteString(w, text.String())
	return err
}
