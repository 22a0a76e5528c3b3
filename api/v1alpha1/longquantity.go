package v1alpha1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// longExponent matches a quantity whose decimal exponent has more than two digits. Parsing such a
// quantity can take hours, because the parser of Kubernetes (resource.ParseQuantity) computes 10 to
// the power of the exponent. Negative exponents match, too: an exponent that does not fit in 32
// bits overflows, and may change its sign.
// Source: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/resource/quantity.go, ParseQuantity.
// The schemas in deploy/crds make the API server refuse such quantities in the fields of Numalet's
// custom resources.
var longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{3,}\.?[0-9]*\s*$`)

// maxQuantity is the largest number of characters of a quantity. The time to parse a quantity grows
// with the square of its length: a million digits take seconds.
const maxQuantity = 64

// quantities has the names of the fields of a pod's spec whose value is a quantity or a map of
// quantities.
var quantities = map[string]bool{"limits": true, "requests": true, "overhead": true, "sizeLimit": true, "divisor": true}

// checkQuantities returns an error if a quantity in the JSON of a pod's spec is long, or has a long
// exponent. It is called before the quantities are parsed. checkQuantities reads the JSON token by
// token, and does not decode it into a map. If a name occurs twice in a JSON object, a map would
// have only one of the two values, but the parser of the spec parses both. checkQuantities does not
// report other errors: the parser of the spec finds them.
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

// level describes a JSON value at one level of nesting: an object or list that checkQuantities has
// begun to read, or a string or number that is a value in an object or list.
type level struct {
	object   bool
	named    bool   // whether the name of a field was just read, so that the next token is its value; only for objects
	field    string // the name of the field whose value is read; in a list, the name of the field that has the list as its value
	quantity bool   // whether the value is a quantity or contains quantities
}

// name is called with each string token. If the token is the name of a field in a JSON object, name
// records it and returns true. If the token is a value, name returns false.
func (l *level) name(text string) bool {
	if !l.object || l.named {
		return false
	}
	l.named, l.field = true, text
	return true
}

// next returns a level that describes the next value in the object or list l.
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
