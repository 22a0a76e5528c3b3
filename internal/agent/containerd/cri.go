package containerd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
)

// askTimeout is how long a call to containerd or to the agent may take. It is long, because both
// answer slowly on a busy node.
const askTimeout = 10 * time.Second

// Serves returns a function that checks whether containerd answers at a socket. The function calls
// CRI, the API that the kubelet uses.
func Serves(socket string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return fmt.Errorf("connect to containerd: %w", err)
		}
		defer conn.Close()
		// A VersionRequest may be empty. The contents of the answer do not matter.
		if err := conn.Invoke(ctx, "/runtime.v1.RuntimeService/Version", &emptypb.Empty{}, &emptypb.Empty{}); err != nil {
			return fmt.Errorf("containerd does not answer the kubelet's API at %s: %w", socket, err)
		}
		return nil
	}
}

// Connected returns a function that checks whether the agent at a URL is ready. A ready agent is
// connected to containerd.
func Connected(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("ask the agent: %w", err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("the agent of this node does not answer, and containerd must not require it before it runs: %w", err)
		}
		defer answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
		return fmt.Errorf("the agent of this node is not ready, and containerd must not require it before it is: %s", reasons(string(text)))
	}
}

// reasons shortens a response of the agent's readiness check (/readyz). It returns one line with
// all failed checks that the response lists. If the response lists no failed check, reasons returns
// the whole response.
func reasons(text string) string {
	var failed []string
	for line := range strings.SplitSeq(text, "\n") {
		if reason, ok := strings.CutPrefix(line, "[-] "); ok {
			failed = append(failed, reason)
		}
	}
	if failed == nil {
		return strings.TrimSpace(text)
	}
	return strings.Join(failed, "; ")
}
