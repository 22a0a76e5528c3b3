package cgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
	"golang.org/x/sync/errgroup"

	"github.com/numalet/numalet/pkg/cpuset"
)

// UnitSetter is the part of systemd's D-Bus interface that is used here.
// *dbus.Conn of go-systemd implements it.
type UnitSetter interface {
	SetUnitPropertiesContext(ctx context.Context, name string, runtime bool, properties ...systemd.Property) error
	SystemStateContext(ctx context.Context) (*systemd.Property, error)
}

// properties of one unit by name; the latest value of each wins.
type properties map[string]godbus.Variant

// maxAcknowledged bounds the acknowledged units, most of which are long gone.
// Beyond it all of them are dropped, and a later request sends its unit once more.
const maxAcknowledged = 4096

// maxCalls bounds the calls that wait for an answer. dbus-daemon refuses more than 128
// of one connection (max_replies_per_connection in dbus-daemon(1)); systemd handles them
// one after another, so more of them would not be faster.
const maxCalls = 64

// units compares what systemd should have with what it acknowledged, so that
// writing an unchanged state again sends no request.
//
// A synchronous call per container was rejected: 100 sequential calls take longer
// than concurrent ones, and a systemd that is busy with a daemon-reload would
// block the first write already.
type units struct {
	turn chan struct{} // held by the one persist in progress
	conn UnitSetter    // guarded by turn; nil until connected
	dial func(context.Context) (UnitSetter, error)
	mu   struct {
		sync.Mutex
		desired      map[string]*request   // by unit: not acknowledged yet
		acknowledged map[string]properties // by unit: the last request that systemd answered
		notReady     error                 // of the last exchange with systemd
	}
}

// request is what one unit should have. It is never changed, only replaced, so
// that acknowledge can tell whether it is still the latest.
type request struct{ properties }

func newUnits(conn UnitSetter) *units {
	u := &units{turn: make(chan struct{}, 1), conn: conn, dial: dialSystemd}
	u.mu.desired, u.mu.acknowledged = map[string]*request{}, map[string]properties{}
	u.mu.notReady = errors.New("systemd, which manages the containers' cgroups, has not answered yet")
	return u
}

// require adds properties to what a unit should have, unless systemd has them.
func (u *units) require(unit string, p properties) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := u.mu.desired[unit]
	if before == nil && includes(u.mu.acknowledged[unit], p) {
		return
	}
	all := properties{}
	if before != nil {
		maps.Copy(all, before.properties)
	}
	maps.Copy(all, p)
	u.mu.desired[unit] = &request{all}
}

func includes(acknowledged, p properties) bool {
	for name, value := range p {
		if before, ok := acknowledged[name]; !ok || before.String() != value.String() {
			return false
		}
	}
	return true
}

// invalidate drops what systemd acknowledged for a unit: another process wrote
// the unit's cgroup, so the next require has to be sent.
func (u *units) invalidate(unit string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.mu.acknowledged, unit)
}

// pending returns the requests to send. Until each is acknowledged, the state of
// its unit is unknown.
func (u *units) pending() map[string]*request {
	u.mu.Lock()
	defer u.mu.Unlock()
	for unit := range u.mu.desired {
		delete(u.mu.acknowledged, unit)
	}
	return maps.Clone(u.mu.desired)
}

// acknowledge records that systemd has what was requested for a unit. A request
// that replaced it meanwhile stays pending.
func (u *units) acknowledge(unit string, r *request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.complete(unit, r)
	if len(u.mu.acknowledged) >= maxAcknowledged {
		u.mu.acknowledged = map[string]properties{}
	}
	u.mu.acknowledged[unit] = r.properties
}

// drop removes the request for a unit that no longer exists.
func (u *units) drop(unit string, r *request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.complete(unit, r)
}

// complete removes a request unless a later one replaced it. Callers hold the lock.
func (u *units) complete(unit string, r *request) {
	if u.mu.desired[unit] == r {
		delete(u.mu.desired, unit)
	}
}

// persist sends all pending requests, waits for the answers, and then for one more:
// systemd writes cgroups after it has answered, but before it handles the next
// request (manager_dispatch_cgroup_realize_queue in its main loop). A request that
// fails stays pending.
func (u *units) persist(ctx context.Context) error {
	return u.update(ctx, func(pending int) bool { return pending > 0 })
}

// retry is persist, and also waits for an answer if the last one failed.
func (u *units) retry(ctx context.Context) error {
	return u.update(ctx, func(pending int) bool { return pending > 0 || u.ready() != nil })
}

// update sends all pending requests if needed reports so.
func (u *units) update(ctx context.Context, needed func(pending int) bool) error {
	ctx, cancel := context.WithTimeout(ctx, persistTimeout)
	defer cancel()
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-ctx.Done():
		return fmt.Errorf("wait for systemd: %w", ctx.Err())
	}
	pending := u.pending()
	if !needed(len(pending)) {
		return nil
	}
	reused := u.conn != nil
	err := u.exchange(ctx, pending)
	if reused && isDisconnected(ctx, err) {
		err = u.exchange(ctx, u.pending())
	}
	u.setReady(err)
	return err
}

// ready returns nil if systemd answered the last exchange, else the error of that exchange.
func (u *units) ready() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mu.notReady
}

func (u *units) setReady(reason error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.notReady = reason
}

// exchange sends requests and waits until systemd has them in force. After a failure
// the next exchange opens another connection.
func (u *units) exchange(ctx context.Context, pending map[string]*request) error {
	err := u.connect(ctx)
	if err == nil {
		err = u.send(ctx, pending)
	}
	if err == nil {
		if _, err = u.conn.SystemStateContext(ctx); err != nil {
			err = fmt.Errorf("wait for systemd: %w", err)
		}
	}
	if err != nil {
		u.disconnect()
	}
	return err
}

// send sets the properties of every unit, and returns one of the failures.
func (u *units) send(ctx context.Context, pending map[string]*request) error {
	var all errgroup.Group // without a context: one unit's failure does not end the others
	all.SetLimit(maxCalls)
	for unit, r := range pending {
		all.Go(func() error { return u.set(ctx, unit, r) })
	}
	return all.Wait()
}

// set sets the properties of one unit until the unit ends or the machine reboots.
func (u *units) set(ctx context.Context, unit string, r *request) error {
	list := make([]systemd.Property, 0, len(r.properties))
	for name, value := range r.properties {
		list = append(list, systemd.Property{Name: name, Value: value})
	}
	err := u.conn.SetUnitPropertiesContext(ctx, unit, true, list...)
	if refused := (godbus.Error{}); errors.As(err, &refused) && refused.Name == "org.freedesktop.systemd1.NoSuchUnit" {
		u.drop(unit, r)
		return nil
	}
	if err != nil {
		return fmt.Errorf("set properties of systemd unit %s: %w", unit, err)
	}
	u.acknowledge(unit, r)
	return nil
}

// allowed returns the properties of a cpuset. Source: systemd.resource-control(5).
func allowed(cpus, mems cpuset.Set) properties {
	p := properties{"AllowedCPUs": godbus.MakeVariant(mask(cpus))}
	if !mems.Empty() {
		p["AllowedMemoryNodes"] = godbus.MakeVariant(mask(mems))
	}
	return p
}

// noQuota returns the properties of a cgroup without a CFS quota: infinity.
func noQuota() properties {
	return properties{"CPUQuotaPerSecUSec": godbus.MakeVariant(^uint64(0))}
}

// mask returns systemd's encoding of a set: one bit per CPU, the lowest first.
func mask(set cpuset.Set) []byte {
	var bits []byte
	for c := range set.All() {
		for len(bits) <= int(c)/8 {
			bits = append(bits, 0)
		}
		bits[c/8] |= 1 << (c % 8)
	}
	return bits
}
