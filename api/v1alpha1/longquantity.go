package v1alpha1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// longExponent matches a quantity whose decimal exponent has more than two digits. Parsing such a
// quantity can take hours, because the parser of Kubernetes (resource.ParseQuantity) raises 10 to
// the power of the exponent. If the exponent does not fit in 32 bits, it even wraps, and may change
// its sign.
// Source: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/resource/quantity.go, ParseQuantity.
// The API server refuses such quantities in the fields of deploy/crds.
var longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{3,}\.?[0-9]*\s*$`)

// maxQuantity is the largest number of characters of a quantity. The time to parse a quantity grows
// with the square of its length: a million digits take seconds.
const maxQuantity = 64

// quantities has the names of the fields of a pod's spec whose value is a quantity or a map of
// quantities.
var quantities = map[string]bool{"limits": true, "requests": true, "overhead": true, "sizeLimit": true, "divisor": true}

// checkQuantities returns an error if a quantity in the JSON of a pod's spec is long, or has a long
// exponent. It is called before the quantities are parsed. It reads token by token instead of
// decoding the JSON into a map. If a name occurs twice in an object, a map has only one of the two
// values, but the parser of the spec parses both. checkQuantities leaves other errors to that
// parser.
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

// level is a JSON object or list that checkQuantities is inside of, or the position of a value in
// such an object or list.
type level struct {
	object   bool
	named    bool   // true if it is an object and the name of the next value was read
	field    string // the name of the field that is read: in a list, the field whose value the list is
	quantity bool   // the value at this position is a quantity or contains quantities
}

// name records text as the name of the next value and returns true. It returns false if text is
// itself a value.
func (l *level) name(text string) bool {
	if !l.object || l.named {
		return false
	}
	l.named, l.field = true, text
	return true
}

// next returns the position of the next value in the object or list.
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
