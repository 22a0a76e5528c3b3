// Package fuzztest decodes the inputs of fuzz tests.
package fuzztest

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
)

// slow matches a number that takes seconds to hours to parse as a quantity. No program gets such a
// quantity from an API server, for two reasons. For Numalet's custom resources, the schemas in
// deploy/crds do not allow it, so the API server refuses the object. For the resources of
// Kubernetes, the API server itself parses the quantity before it stores the object, so it would
// hang before any program gets the object.
var slow = regexp.MustCompile(`^\s*[+-]?([0-9.]*[eE][+-]?[0-9]{3}|[0-9.]{64})`)

// Decode decodes an object from JSON. It returns false if no API server can have stored the object,
// because the JSON is invalid, or has a number that takes too long to parse (see the variable
// `slow`).
func Decode(data []byte, object any) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err == io.EOF {
			return json.Unmarshal(data, object) == nil
		}
		if err != nil {
			return false
		}
		text, _ := token.(string)
		if n, ok := token.(json.Number); ok {
			text = n.String()
		}
		if slow.MatchString(text) {
			return false
		}
	}
}
