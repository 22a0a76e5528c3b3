package apiwriter

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// usual is the head of an API server's answer.
const usual = "HTTP/1.1 201 Created\r\nAudit-Id: f5f0b1a7\r\nCache-Control: no-cache, private\r\n" +
	"Content-Type: application/vnd.kubernetes.protobuf\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\nContent-Length: 2\r\n"

// TestMade: what says that an object is made is read, up to the next answer, and of
// what might say more nothing is.
func TestMade(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		taken  bool
	}{
		"created":            {usual + "\r\nok", true},
		"200":                {"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", true},
		"another follows":    {usual + "\r\nok" + usual + "\r\nok", true},
		"broken off":         {usual + "\r\no", true},
		"head broken off":    {usual, false},
		"chunked":            {usual + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", false},
		"goodbye":            {usual + "connection: close\r\n\r\nok", false},
		"a trailer":          {usual + "Trailer: Expires\r\n\r\nok", false},
		"two lengths":        {usual + "Content-Length: 1\r\n\r\nok", false},
		"no length":          {"HTTP/1.1 200 OK\r\nDate: now\r\n\r\nok", false},
		"a negative length":  {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok", false},
		"a length with sign": {"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", false},
		"too long":           {"HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\nok", false},
		"no content":         {"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", false},
		"on its way":         {"HTTP/1.1 102 Processing\r\n\r\n" + usual + "\r\nok", false},
		"refused":            {"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\nok", false},
		"HTTP/1.0":           {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false},
		"a folded field":     {usual + "Warning: a\r\n b\r\n\r\nok", false},
		"an odd name":        {usual + "a b: c\r\n\r\nok", false},
		"no colon":           {usual + "c\r\n\r\nok", false},
		"no name":            {usual + ": c\r\n\r\nok", false},
		"ends of lines":      {"HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok", false},
		"nothing":            {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			if taken := compare(t, []byte(tc.answer)); taken != tc.taken {
				t.Errorf("taken = %t, want %t", taken, tc.taken)
			}
		})
	}
}

// FuzzMade: what made takes net/http reads alike.
func FuzzMade(f *testing.F) {
	f.Add([]byte(usual + "\r\nok"))
	f.Add([]byte(usual + "Connection: close\r\nWarning: a\r\n b\r\n\r\nok"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, answer []byte) { compare(t, answer) })
}

// outcome is what becomes of an answer.
type outcome struct {
	Code          int
	Left          string
	Close, Failed bool
}

// compare reads an answer in both ways and reports whether made has taken it.
func compare(t *testing.T, answer []byte) (taken bool) {
	in := bufio.NewReader(bytes.NewReader(answer))
	response, err := made(in)
	if response == nil {
		if rest, _ := io.ReadAll(in); err != nil || !bytes.Equal(rest, answer) {
			t.Errorf("made = nil, %v and leaves %q of %q", err, rest, answer)
		}
		return false
	}
	got := follow(in, response, err)
	in = bufio.NewReader(bytes.NewReader(answer))
	if response, err = http.ReadResponse(in, posted); err == nil {
		err = slurp(response)
	}
	if diff := cmp.Diff(follow(in, response, err), got); diff != "" {
		t.Errorf("%q by net/http and by made (-net/http +made):\n%s", answer, diff)
	}
	return true
}

func follow(in *bufio.Reader, r *http.Response, err error) outcome {
	if err != nil {
		return outcome{Failed: true}
	}
	left, _ := io.ReadAll(in)
	return outcome{Code: r.StatusCode, Left: string(left), Close: r.Close}
}
