package doctor

import (
	"fmt"
	"io"
	"strings"
)

// Status is the result of a check.
type Status string

// The statuses, from good to bad.
const (
	OK      Status = "ok"
	Info    Status = "info"    // worth knowing; nothing to do
	Warning Status = "warning" // it works, but something is weaker than it could be
	Error   Status = "error"   // exclusive CPUs or GPUs do not work here
	Unknown Status = "unknown" // the check could not be made
)

// Finding is the outcome of one check. Its JSON form is a contract.
type Finding struct {
	Check  string `json:"check"`            // a stable name, such as "kubelet-cpu-manager"
	Object string `json:"object,omitempty"` // the node or object; "" for the whole cluster, or this machine
	Status Status `json:"status"`
	Found  string `json:"found"`            // what is there
	Why    string `json:"why,omitempty"`    // why it matters; "" if all is well
	Remedy string `json:"remedy,omitempty"` // what to do, a command where possible
}

// Report is the findings in the order of the checks.
type Report []Finding

// Count returns the number of findings with a status.
func (r Report) Count(s Status) int {
	n := 0
	for _, f := range r {
		if f.Status == s {
			n++
		}
	}
	return n
}

// Fails reports whether something does not work or could not be checked.
func (r Report) Fails() bool { return r.Count(Error)+r.Count(Unknown) > 0 }

// WriteText writes the report for people. Checks that are OK take one line.
func (r Report) WriteText(w io.Writer) error {
	var text strings.Builder
	for _, f := range r {
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
