package podreader

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// cut says which fields to drop from a message that is encoded in protobuf. The index of an element
// is the number of a field. Fields whose numbers are larger than the last index are kept.
type cut []struct {
	drop bool
	in   cut // what to drop from a field that is a message, or from each message of a repeated field
}

// drop records that fields of a message are dropped. It finds the fields by their names in the Go
// struct.
func (c *cut) drop(message any, fields ...string) {
	for _, field := range fields {
		(*c)[c.number(message, field)].drop = true
	}
}

// enter records what to drop (`in`) from each message in the named fields.
func (c *cut) enter(message any, in cut, fields ...string) {
	for _, field := range fields {
		(*c)[c.number(message, field)].in = in
	}
}

// number returns the number that a field of the message has in protobuf. It also makes the cut long
// enough to have an element with this index.
func (c *cut) number(message any, field string) int {
	f, _ := reflect.TypeOf(message).FieldByName(field)
	tag := strings.Split(f.Tag.Get("protobuf"), ",") // such as bytes,7,rep,name=env
	if len(tag) < 2 {
		panic(fmt.Sprintf("%T has no field %s in protobuf", message, field))
	}
	number, err := strconv.Atoi(tag[1])
	if err != nil {
		panic(fmt.Sprintf("number of the field %s of %T: %v", field, message, err))
	}
	for len(*c) <= number {
		*c = append(*c, cut{{}}...)
	}
	return number
}

// apply appends an encoded message without the dropped fields to a buffer. It returns false if the
// message is not valid.
func (c cut) apply(to, message []byte) ([]byte, bool) {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return to, false
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return to, false
		}
		field := message[:tag+size]
		message = message[len(field):]
		switch valid := true; {
		case kind != protowire.BytesType || int(number) >= len(c) || c[number].in == nil && !c[number].drop:
			to = append(to, field...)
		case c[number].drop:
		default:
			if to, valid = c[number].in.applyWithin(to, field, tag); !valid {
				return to, false
			}
		}
	}
	return to, true
}

// applyWithin is like apply, but for a field with a message. The field begins with its tag (the
// parameter `tag` is the length of the tag) and the length of the message. The new length is not
// known until the message is written. So it is written last, and takes the same number of bytes as
// the old length.
func (c cut) applyWithin(to, field []byte, tag int) ([]byte, bool) {
	message, _ := protowire.ConsumeBytes(field[tag:])
	head := len(field) - len(message)
	start := len(to) + head
	to, valid := c.apply(append(to, field[:head]...), message)
	for i, length := start-head+tag, len(to)-start; i < start; i, length = i+1, length>>7 {
		to[i] = byte(length) | 0x80 // 7 bits, and the mark that another byte follows
	}
	to[start-1] &^= 0x80
	return to, valid
}
