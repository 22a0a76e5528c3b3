package v1alpha1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// longExponent matches a quantity whose decimal exponent has more than two digits. Parsing such a
// quantity can take hours, because the parser of Kubernetes (resource.ParseQuantity) raises 10 to
// the power of the exponent. An exponent that does not fit in 32 bits overflows, and may change its
// sign.
// Source: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/resource/quantity.go, ParseQuantity.
// The API server refuses such quantities in the fields of Numalet's custom resources, by the
// schemas in deploy/crds.
var longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{3,}\.?[0-9]*\s*$`)

// maxQuantity is the largest number of characters of a quantity. The time to parse a quantity grows
// with the square of its length: a million digits take seconds.
const maxQuantity = 64

// quantities has the names of the fields of a pod's spec whose value is a quantity or a map of
// quantities.
var quantities = map[string]bool{"limits": true, "requests": true, "overhead": true, "sizeLimit": true, "divisor": true}

// checkQuantities returns an error if a quantity in the JSON of a pod's spec is long, or has a long
// exponent. It is called before the quantities are parsed. If a name occurs twice in a JSON object,
// the parser of the spec parses both values, but a decoded map has only one of them. So
// checkQuantities reads the JSON token by token. It does not report other errors, which the parser
// of the spec finds.
func checkQuantities(spec []byte) error {
	d := json.NewDecoder(bytes.NewReader(spec))
	d.UseNumber()
	var open []level
	for {
		token, err := d.Token()
		if err != nil {
			return nil
		}
		inner := level{}
		if n := len(open); n > 0 {
			inner = open[n-1].next()
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				open = append(open, level{object: t == '{', quantity: inner.quantity, field: inner.field})
				continue
			}
			open = open[:len(open)-1]
		case string:
			if n := len(open); n > 0 && open[n-1].name(t) {
				continue
			}
			err = checkQuantity(inner, t)
		case json.Number:
			err = checkQuantity(inner, t.String())
		}
		if err != nil {
			return err
		}
		if n := len(open); n > 0 {
			open[n-1].named = false
		}
	}
}

// level is the position of checkQuantities in one of the nested JSON objects and lists that it is
// reading. For a single value, it is the position of this value in the object or list around it.
type level struct {
	object   bool
	named    bool   // true if it is an object and the name of the next value was read
	field    string // the name of the field that is read: in a list, the field whose value the list is
	quantity bool   // the value at this position is a quantity or contains quantities
}

// name records text as the name of the next value in a JSON object, and returns true. It returns
// false if text is a value, and not a name.
func (l *level) name(text string) bool {
	if !l.object || l.named {
		return false
	}
	l.named, l.field = true, text
	return true
}

// next returns the position of the value that follows in the object or list.
func (l level) next() level {
	return level{field: l.field, quantity: l.quantity || l.object && quantities[l.field]}
}

func checkQuantity(at level, text string) error {
	switch {
	case !at.quantity:
	case len(text) > maxQuantity:
		return fmt.Errorf("%s: the quantity %.20q… has %d characters; write at most %d", at.field, text, len(text), maxQuantity)
	case longExponent.MatchString(text):
		return fmt.Errorf("%s: the exponent of the quantity %q has more than two digits; write a smaller one", at.field, text)
	}
	return nil
}
