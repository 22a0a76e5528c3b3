package apiwriter

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
)

// through is a way over a transport of client-go's, one message after another.
type through struct {
	http.RoundTripper
	base   *url.URL
	header http.Header // of all requests
}

func (t through) send(ctx context.Context, all []message) (answers []*http.Response, err error) {
	for _, m := range all {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base.Scheme+"://"+t.base.Host+m.to, bytes.NewReader(m.body))
		if err != nil {
			return answers, err
		}
		request.Header = t.header
		answer, err := t.RoundTrip(request)
		if err != nil {
			return answers, err
		}
		if err := slurp(answer); err != nil {
			return answers, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}
