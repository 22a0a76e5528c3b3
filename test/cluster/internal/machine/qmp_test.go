package machine

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestReset(t *testing.T) {
	for name, tc := range map[string]struct{ answer, want string }{
		"past an event": {answer: `{"event": "RESET"} {"return": {}}`},
		"refused":       {answer: `{"error": {"class": "GenericError", "desc": "no such thing"}}`, want: "no such thing"},
	} {
		t.Run(name, func(t *testing.T) {
			b := Boot{Monitor: filepath.Join(t.TempDir(), "monitor")}
			l, err := net.Listen("unix", b.Monitor)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go answerOnce(l, tc.answer)
			switch err := b.Reset(); {
			case tc.want == "" && err != nil:
				t.Errorf("Reset: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("Reset = %v, want %q", err, tc.want)
			}
		})
	}
}

// answerOnce acts as QEMU's monitor for one connection. It sends the greeting and accepts the
// command qmp_capabilities. It responds to the command system_reset with the text in the argument
// `answer`.
func answerOnce(l net.Listener, answer string) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	defer c.Close()
	in := bufio.NewScanner(c)
	fmt.Fprintln(c, `{"QMP": {"version": {}}}`)
	in.Scan()
	fmt.Fprintln(c, `{"return": {}}`)
	in.Scan()
	fmt.Fprintln(c, answer)
	in.Scan()
}
