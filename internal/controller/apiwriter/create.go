package apiwriter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// tries is how often an object is sent where the API server says that it may be
// sent again later, as client-go does.
const tries = 11

// message is an object on its way: the path and query of its request, and its body.
type message struct {
	object
	to   string
	body []byte
}

// create sends objects until the API server has made something of each. Errors are
// APIStatus where those are refusals; without an answer they are none.
func (c *Client) create(ctx context.Context, objects ...object) error {
	left, err := c.encode(objects)
	if err != nil {
		return err
	}
	var errs []error
	for try := 1; len(left) > 0; try++ {
		answers, err := c.send(ctx, left)
		errs = append(errs, err)
		var again []message
		var pause time.Duration
		for i, answer := range answers {
			switch later := after(answer); {
			case isSuccess(answer):
			case later < 0 || try == tries:
				errs = append(errs, refusal(left[i].object, answer))
			default:
				again, pause = append(again, left[i]), max(pause, later)
			}
		}
		if left = again; len(left) > 0 && !wait(ctx, pause) {
			return errors.Join(append(errs, fmt.Errorf("%w: the API server asked to come %v later", ctx.Err(), pause))...)
		}
	}
	return errors.Join(errs...)
}

// wait reports whether some time passes before ctx ends.
func wait(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

func (c *Client) encode(objects []object) ([]message, error) {
	all := make([]message, len(objects))
	for i, o := range objects {
		var body bytes.Buffer
		if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o.Object, &body); err != nil {
			return nil, fmt.Errorf("encode %s %q: %w", o.resource, o.name, err)
		}
		all[i] = message{o, c.prefix + o.path + c.query, body.Bytes()}
	}
	return all, nil
}

// send sends messages once.
func (c *Client) send(ctx context.Context, all []message) ([]*http.Response, error) {
	for range all {
		if err := c.limit.Wait(ctx); err != nil {
			return nil, fmt.Errorf("wait for its turn: %w", err)
		}
	}
	answers, err := c.way.send(ctx, all)
	if err != nil {
		err = fmt.Errorf("post to %s%s: %w", c.host, all[len(answers)].path, err)
	}
	return answers, err
}

func isSuccess(answer *http.Response) bool {
	return answer.StatusCode >= 200 && answer.StatusCode < 300
}

// after returns how long the API server wants not to be asked again; it is
// negative where it did not say that it may be asked again.
func after(answer *http.Response) time.Duration {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil || answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode < 500 {
		return -1
	}
	return time.Duration(seconds) * time.Second
}
