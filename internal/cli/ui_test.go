package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/cli/command"
)

// TestUI opens the web page of "numalet ui" as a browser does, and checks the data that
// the page reads.
func TestUI(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	root := NewRoot("numalet")
	root.SetArgs([]string{"ui", "--kubeconfig", nodeTopologies(t)})
	root.SetOut(in)
	root.SetContext(ctx)
	done := make(chan int)
	go func() { done <- command.Execute(root, io.Discard) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(strings.TrimSpace(line), "Open ")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	read := func(url string) string {
		response, err := browser.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(response.StatusCode, " ", string(body))
	}
	server, _, _ := strings.Cut(address, "?")
	for _, tc := range []struct{ url, want string }{
		{address, "200 <!DOCTYPE html>"},
		{server + "data/nodes", `200 [{"name":"node-a","ready":"True","numa":[{"id":0,"capacity":8,"allocatable":6,"available":2,"gpus":2,"freeGPUs":0}`},
		{server + "nodes/node-a", "200 <svg"},
		{server + "nodes/node-c", `502 node "node-c" has no NodeTopology`},
		{server + "data/queue", "502 "}, // the fake cluster has no queue API
	} {
		if got := read(tc.url); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %.200s, want %s…", tc.url, got, tc.want)
		}
	}
	stop()
	if status := <-done; status != 0 {
		t.Errorf("status %d after the end", status)
	}
}
