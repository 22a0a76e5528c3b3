package controller

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/numalet/numalet/internal/controller/queueapi"
	"github.com/numalet/numalet/internal/platform/kubeapi"
	"github.com/numalet/numalet/internal/platform/telemetry"
	"github.com/numalet/numalet/pkg/sched"
)

// answers has the HTTPS server of the queue API (package queueapi), through which users ask why
// their pods wait.
type answers struct {
	server *telemetry.Server
	access *queueapi.Access
	pem    []byte // certificate of the server, in PEM format
}

// republished is the interval at which the leader writes the certificate and the address of the
// queue API to the API server. It writes them repeatedly, because somebody may change the objects
// that hold them.
const republished = 10 * time.Second

// newAnswers creates the server that answers the commands "numalet queue" and "numalet why". It
// creates no server if the flag --queue-addr is empty.
func (c *controller) newAnswers(context.Context) error {
	if c.cfg.QueueAddr == "" {
		return nil
	}
	certificate, pem, err := kubeapi.SelfSigned(queueapi.Host(c.cfg.LeaseNS))
	if err != nil {
		return err
	}
	access, err := queueapi.NewAccess(c.clients.watch)
	if err != nil {
		return err
	}
	source := c.answersFrom()
	source.Allow = access.Allow
	server, err := telemetry.Listen(c.cfg.QueueAddr, queueapi.New(source))
	if err != nil {
		return fmt.Errorf("%w: choose another --queue-addr", err)
	}
	server.Encrypt(queueapi.Config(certificate))
	c.answers = &answers{server, access, pem}
	return nil
}

// answersFrom returns the functions through which the server of the queue API reads its data. The
// caller must set the field Allow, which checks the permissions of users.
func (c *controller) answersFrom() queueapi.Source {
	return queueapi.Source{
		List: c.queue.List, UID: c.uidOf, Explain: c.queue.Explain, Message: c.reporter.LastReport, TooLarge: c.tooLarge, Try: c.whatIf.try, Forecast: c.starts.forecast,
		Leads: func() bool { return c.schedules() && c.fence() == nil },
	}
}

// uidOf returns the UID of a pod that has not ended, or "" if this process has seen no such pod.
func (c *controller) uidOf(namespace, name string) string {
	if pod := c.seen(namespace, name); pod != nil {
		return string(pod.UID)
	}
	return ""
}

// answer serves the queue API until ctx is done.
func (c *controller) answer(ctx context.Context) error {
	if c.answers == nil {
		return nil
	}
	var parts errgroup.Group
	parts.Go(func() error { c.answers.access.Run(ctx); return nil })
	parts.Go(func() error { return c.answers.server.Run(ctx) })
	parts.Go(func() error { return c.publish(ctx) })
	return parts.Wait()
}

// publish makes the API server send requests for the queue API to this replica. It starts when
// this replica becomes the leader, and ends when ctx is done.
func (c *controller) publish(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.leads:
	}
	last := c.publishOnce(ctx, "")
	return every(ctx, republished, func() { last = c.publishOnce(ctx, last) })
}

// publishOnce writes the address and the certificate of the queue API to the API server. It returns
// the error as text, or "" if there is none. The parameter `last` is the result of the previous
// call. publishOnce logs an error only if its text differs from `last`, so that the same error is
// not logged at each call. Scheduling continues after an error, but users cannot ask why their pods
// wait.
func (c *controller) publishOnce(ctx context.Context, last string) string {
	err := c.publishAddress(ctx)
	if err == nil {
		err = queueapi.Trust(ctx, c.clients.resources, c.answers.pem)
	}
	if err == nil {
		return ""
	}
	if err.Error() != last {
		c.log.Info("users cannot ask why their pods wait", "cause", err.Error())
	}
	return err.Error()
}

// publishAddress tells the API server the address at which this process serves the queue API. It
// does nothing if the process does not know the IP address of its pod.
func (c *controller) publishAddress(ctx context.Context) error {
	if c.cfg.PodIP == "" {
		return nil
	}
	_, text, err := net.SplitHostPort(c.answers.server.Addr())
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	return queueapi.Address(ctx, c.clients.resources, c.cfg.LeaseNS, c.cfg.PodIP, port)
}

// tooLarge checks whether a pod requests more CPUs, memory or GPUs than any node has. If so, it
// returns a text that names this resource, and otherwise "".
func (c *controller) tooLarge(pod *sched.Pod) string {
	return sched.TooLarge(pod, c.state.View().Nodes())
}
