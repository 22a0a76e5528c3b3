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
	// confinedEvery is the time between two checks of a Confinement while the admission policies
	// are known to be in force. It is long because the agent of every node sends a request for each
	// check.
	confinedEvery = 10 * time.Minute
	// unconfinedEvery is the time between two checks while the admission policies are not known to
	// be in force.
	unconfinedEvery = 5 * time.Second
)

// errUnconfined is the error that Confinement.Ready returns before the first check.
var errUnconfined = errors.New("not checked yet whether the policies of deploy/admission are in force")

// ConfinementOptions are the options of NewConfinement.
type ConfinementOptions struct {
	// Try sends a dry run of a request that the admission policies must refuse. The RBAC role
	// of this program's service account allows this request, so only the policies can refuse
	// it.
	Try func(context.Context) error
}

// Confinement checks whether admission policies restrict this program's service account. RBAC
// rules cannot depend on the node on which a program runs, so without these policies the account
// could control all nodes. Confinement does not read the policies, because the account would need
// another permission to read them. Instead it sends a request that the policies must refuse. So
// it also detects a policy that has no ValidatingAdmissionPolicyBinding or that does not match
// the account.
type Confinement struct {
	ConfinementOptions

	mu  sync.Mutex
	err error
}

// NewConfinement returns a Confinement. It is not Ready until Run has found that the admission
// policies are in force.
func NewConfinement(o ConfinementOptions) *Confinement {
	return &Confinement{ConfinementOptions: o, err: errUnconfined}
}

// Ready returns nil if the admission policies are known to be in force, or else the reason why not.
func (c *Confinement) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Run checks again and again, until ctx ends, whether the admission policies are in force. Then it
// returns nil.
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

// check sends one request that the admission policies must refuse, and returns the new result of
// Ready. Some answers do not tell whether the policies are in force, for example the error that the
// API server cannot be reached. After such an answer, a program that was ready stays ready. If the
// program was not ready, Ready returns the new error from now on.
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

// verdict interprets the answer to the request that the admission policies must refuse. It returns
// nil if the policies are in force, or else an error. The result `certain` is false if the answer
// does not tell whether they are in force.
func verdict(answer error) (err error, certain bool) {
	switch {
	case answer == nil:
		return errors.New("the admission policies do not confine this program: kubectl apply -k deploy/admission"), true
	case strings.Contains(answer.Error(), "ValidatingAdmissionPolicy"):
		return nil, true
	}
	return fmt.Errorf("check whether the policies of deploy/admission are in force: %w", answer), false
}
