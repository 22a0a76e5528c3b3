package kubeapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

const (
	// confinedEvery is the time between checks while the policies are in force. Each agent
	// sends a request, so the API server of a large cluster gets many.
	confinedEvery = 10 * time.Minute
	// unconfinedEvery is the time between checks while the policies are not in force.
	unconfinedEvery = 5 * time.Second
)

// errUnconfined is the state before the first check.
var errUnconfined = errors.New("not checked yet whether the policies of deploy/admission are in force")

// ConfinementOptions are the options of NewConfinement.
type ConfinementOptions struct {
	// Try sends a dry run of a request that the role allows and the policies refuse.
	Try func(context.Context) error
}

// Confinement knows whether admission policies confine this program's account. Its role
// alone would make it an administrator of the nodes. Confinement does not read the policies. It
// sends a request that the policies must refuse. This needs no further permission, and also detects
// a policy without a binding, or one that does not match the account.
type Confinement struct {
	ConfinementOptions

	mu  sync.Mutex
	err error
}

// NewConfinement returns a Confinement that is not Ready before Run has checked it.
func NewConfinement(o ConfinementOptions) *Confinement {
	return &Confinement{ConfinementOptions: o, err: errUnconfined}
}

// Ready returns why the policies are not known to be in force, or nil.
func (c *Confinement) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Run checks until ctx ends, and returns nil.
func (c *Confinement) Run(ctx context.Context) error {
	for {
		wait := confinedEvery
		if err := c.check(ctx); err != nil {
			wait = unconfinedEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// check tries once, and returns the new result of Ready. If the answer is uncertain, for example
// because the API server is away, a program that was ready stays ready.
func (c *Confinement) check(ctx context.Context) error {
	err, certain := verdict(c.Try(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	if !certain && c.err == nil {
		return nil
	}
	if err != nil && (c.err == nil || c.err.Error() != err.Error()) && ctx.Err() == nil {
		logr.FromContextOrDiscard(ctx).Error(err, "not ready until the admission policies confine this program")
	}
	c.err = err
	return err
}

// verdict interprets the answer to a request that the policies must refuse. It returns the result,
// and false if the answer does not tell whether the policies are in force.
func verdict(answer error) (err error, certain bool) {
	switch {
	case answer == nil:
		return errors.New("the admission policies do not confine this program: kubectl apply -k deploy/admission"), true
	case strings.Contains(answer.Error(), "ValidatingAdmissionPolicy"):
		return nil, true
	}
	return fmt.Errorf("check whether the policies of deploy/admission are in force: %w", answer), false
}
