package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
)

// Reserved is the CPUs that never become exclusive. Its text form is "kubelet" (the CPUs
// that the kubelet's configuration reserves), "none" or a CPU list. The zero value means
// "kubelet".
type Reserved struct {
	Given bool       // if false, the reserved CPUs are those that the kubelet's configuration reserves
	CPUs  cpuset.Set // the reserved CPUs, if Given is true; otherwise empty
}

// MarshalText writes the text form.
func (r Reserved) MarshalText() ([]byte, error) {
	switch {
	case !r.Given:
		return []byte("kubelet"), nil
	case r.CPUs.Empty():
		return []byte("none"), nil
	}
	return r.CPUs.MarshalText()
}

// UnmarshalText parses the text form. An empty text is an error, because it could mean "kubelet" or
// "none".
func (r *Reserved) UnmarshalText(text []byte) error {
	switch string(text) {
	case "":
		return fmt.Errorf("empty list: write none to reserve no CPU, or kubelet to take what the kubelet's configuration reserves")
	case "kubelet":
		*r = Reserved{}
		return nil
	case "none":
		*r = Reserved{Given: true}
		return nil
	}
	cpus, err := cpuset.Parse(string(text))
	if err != nil {
		return err
	}
	*r = Reserved{Given: true, CPUs: cpus}
	return nil
}

// Names is a list of names. In the text form, commas separate the names.
type Names []string

// MarshalText returns the text form.
func (n Names) MarshalText() ([]byte, error) { return []byte(strings.Join(n, ",")), nil }

// UnmarshalText parses the text form. Spaces around names and empty names are dropped.
func (n *Names) UnmarshalText(text []byte) error {
	*n = nil
	for name := range strings.SplitSeq(string(text), ",") {
		if name = strings.TrimSpace(name); name != "" {
			*n = append(*n, name)
		}
	}
	return nil
}

// RequestForm is how pods request exclusive CPUs if the cluster has no controller.
type RequestForm string

// The ways in which pods request exclusive CPUs.
const (
	PolicyForm   RequestForm = "policy"   // the annotation numalet.dev/cpu-policy
	ExplicitForm RequestForm = "explicit" // limits such as numalet.dev/numa1-cpu: "2"
)

// MarshalText writes the form's name.
func (a RequestForm) MarshalText() ([]byte, error) { return []byte(a), nil }

// UnmarshalText parses a form's name.
func (a *RequestForm) UnmarshalText(text []byte) error {
	return choose(a, text, PolicyForm, ExplicitForm)
}

// Enforce is the method by which the agent sets the CPUs of containers.
type Enforce string

// The methods by which the agent sets the CPUs of containers.
const (
	NRI    Enforce = "nri"
	Cgroup Enforce = "cgroup"
)

// MarshalText returns the method's name.
func (e Enforce) MarshalText() ([]byte, error) { return []byte(e), nil }

// UnmarshalText parses a method's name.
func (e *Enforce) UnmarshalText(text []byte) error { return choose(e, text, NRI, Cgroup) }

// LogFormat is the format of log lines.
type LogFormat string

// Formats of log lines.
const (
	Text LogFormat = "text"
	JSON LogFormat = "json"
)

// MarshalText writes the format's name.
func (f LogFormat) MarshalText() ([]byte, error) { return []byte(f), nil }

// UnmarshalText parses a format's name.
func (f *LogFormat) UnmarshalText(text []byte) error { return choose(f, text, Text, JSON) }

// choose parses a setting that has a fixed list of allowed values. If the text is one of these
// values, it is stored in the variable to which `target` points. Otherwise choose returns an error.
func choose[T ~string](target *T, text []byte, allowed ...T) error {
	if !slices.Contains(allowed, T(text)) {
		var names []string
		for _, a := range allowed {
			names = append(names, string(a))
		}
		return fmt.Errorf("%q is not one of %s", text, strings.Join(names, ", "))
	}
	*target = T(text)
	return nil
}
