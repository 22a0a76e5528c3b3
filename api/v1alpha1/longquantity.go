package v1alpha1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// longExponent matches a quantity whose decimal exponent has more than two digits. Parsing such a
// quantity can take hours: Quantity raises 10 to the power of the exponent, and an exponent beyond
// 32 bits wraps, so that it may be negative.
// Source: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/resource/quantity.go, ParseQuantity.
// The API server refuses such quantities in the fields of deploy/crds.
var longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{3,}\.?[0-9]*\s*$`)

// maxQuantity is the largest number of characters of a quantity. Parsing takes quadratic time: a
// million digits take seconds.
const maxQuantity = 64

// quantities has the fields of a pod's spec that are quantities, and those that are maps of them.
var quantities = map[string]bool{"limits": true, "requests": true, "overhead": true, "sizeLimit": true, "divisor": true}

// checkQuantities returns an error if a quantity in the JSON of a pod's spec is long, or has a long
// exponent. It is called before the quantities are parsed. It reads token by token, because if a name
// occurs twice in an object, the parser reads both values. Other errors are left to the parser.
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

// level is an object or a list that is open, or the place of a value in it.
type level struct {
	object   bool
	named    bool   // in an object: the name of the next value was read
	field    string // that name, or the list's
	quantity bool   // it is, or contains, quantities
}

// name takes a string as the name of the next value, if it is one.
func (l *level) name(text string) bool {
	if !l.object || l.named {
		return false
	}
	l.named, l.field = true, text
	return true
}

// next returns the place of the next value.
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
