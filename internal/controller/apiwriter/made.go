package apiwriter

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"
)

// made reads the answer that nearly every POST gets: that the object is made, in
// so many bytes. It leaves header and body empty, since nobody looks at them. Of any
// other answer, and of one whose head comes in pieces, it reads nothing and returns
// nil: http.ReadResponse knows what to do, but makes a map of each head, which is a
// tenth of the processor time of a request, server and all (BenchmarkBind).
func made(in *bufio.Reader) (*http.Response, error) {
	_, _ = in.Peek(1) // waits; an error comes again
	come, _ := in.Peek(in.Buffered())
	end := bytes.Index(come, []byte("\r\n\r\n"))
	if end < 0 {
		return nil, nil
	}
	line, fields, _ := bytes.Cut(come[:end], []byte("\r\n"))
	length, ok := lengthOf(fields)
	if !ok || !isMade(line) {
		return nil, nil
	}
	code := http.StatusOK + int(line[len("HTTP/1.1 20")]-'0')
	_, err := in.Discard(end + len("\r\n\r\n") + length)
	return &http.Response{StatusCode: code, Body: http.NoBody}, err
}

// isMade reports whether a status line says 200, 201 or 202, and a reason.
func isMade(line []byte) bool {
	code, ok := bytes.CutPrefix(line, []byte("HTTP/1.1 20"))
	return ok && len(code) > 1 && '0' <= code[0] && code[0] <= '2' && code[1] == ' ' && visible(line)
}

// lengthOf returns the length of the body. It is not ok where the fields say
// anything else of how the body ends, or of the connection, or are odd.
func lengthOf(fields []byte) (length int, ok bool) {
	for more := len(fields) > 0; more; {
		var field []byte
		field, fields, more = bytes.Cut(fields, []byte("\r\n"))
		name, value, named := bytes.Cut(field, []byte(":"))
		if !named || !isName(name) || !visible(value) {
			return 0, false
		}
		switch {
		case is(name, "Content-Length"):
			n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
			if ok || err != nil || n > readable {
				return 0, false
			}
			length, ok = int(n), true
		case is(name, "Transfer-Encoding"), is(name, "Connection"), is(name, "Trailer"):
			return 0, false
		}
	}
	return length, ok
}

func is(name []byte, want string) bool { return bytes.EqualFold(name, []byte(want)) }

// visible reports whether there is nothing but what can be seen, and blanks.
func visible(s []byte) bool {
	for _, c := range s {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// isName reports whether s is the name of a field, of letters, digits and hyphens
// only.
func isName(s []byte) bool {
	for _, c := range s {
		if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return len(s) > 0
}
