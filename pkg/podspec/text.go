package podspec

import "fmt"

// The allowed names, for error messages.
const (
	policyNames = "random, spread, single"
	kindNames   = "app, init, sidecar"
)

// String returns "random", "spread" or "single".
func (p Policy) String() string {
	switch p {
	case Spread:
		return "spread"
	case Single:
		return "single"
	}
	return "random"
}

// ParsePolicy returns the policy that has the given text as its String. If there is none, the error
// lists the allowed values.
func ParsePolicy(text string) (Policy, error) {
	for _, p := range []Policy{Random, Spread, Single} {
		if p.String() == text {
			return p, nil
		}
	}
	return 0, fmt.Errorf("parse CPU policy %q: want one of %s", text, policyNames)
}

// MarshalText writes the policy's name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the policy's name.
func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePolicy(string(text))
	return err
}

// String returns "app", "init" or "sidecar".
func (k Kind) String() string {
	switch k {
	case Init:
		return "init"
	case Sidecar:
		return "sidecar"
	}
	return "app"
}

// ParseKind returns the kind that has the given text as its String. If there is none, the error
// lists the allowed values.
func ParseKind(text string) (Kind, error) {
	for _, k := range []Kind{App, Init, Sidecar} {
		if k.String() == text {
			return k, nil
		}
	}
	return 0, fmt.Errorf("parse container kind %q: want one of %s", text, kindNames)
}

// MarshalText writes the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the kind's name.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}
