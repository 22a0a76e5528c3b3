package post

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// tries is how often an object is sent where the API server says that it may be
// sent again later, as client-go does.
const tries = 11

// create sends an object until the API server has made something of it. The error
// is an APIStatus if that is a refusal; without an answer it is none.
func (c *Client) create(ctx context.Context, o object) error {
	var body bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o.Object, &body); err != nil {
		return fmt.Errorf("encode %s %q: %w", o.resource, o.name, err)
	}
	for try := 1; ; try++ {
		later, err := c.send(ctx, o, body.Bytes())
		if err == nil || later < 0 || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, after the API server asked to come later: %v", ctx.Err(), err)
		case <-time.After(later):
		}
	}
}

// send sends an object once. Of an error it returns how much later it may be sent
// again, a negative time for not.
func (c *Client) send(ctx context.Context, o object, body []byte) (later time.Duration, err error) {
	if err := c.limit.Wait(ctx); err != nil {
		return -1, fmt.Errorf("wait for its turn: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+o.path+c.query, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	request.Header = c.header
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return -1, fmt.Errorf("post to %s%s: %w", c.base, o.path, err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be used again
		return 0, nil
	}
	return after(response), refusal(o, response)
}

// after returns how long the API server wants not to be asked again; it is
// negative where it did not say that it may be asked again.
func after(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || response.StatusCode != http.StatusTooManyRequests && response.StatusCode < 500 {
		return -1
	}
	return time.Duration(seconds) * time.Second
}
