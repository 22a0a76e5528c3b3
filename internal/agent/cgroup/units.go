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

// UnitSetter has the calls to systemd that this package uses. *dbus.Conn of
// go-systemd implements it.
type UnitSetter interface {
	SetUnitPropertiesContext(ctx context.Context, name string, runtime bool, properties ...systemd.Property) error
	SystemStateContext(ctx context.Context) (*systemd.Property, error)
}

// properties are the properties of one systemd unit, by name. A later value of a property replaces an
// earlier one.
type properties map[string]godbus.Variant

// maxAcknowledged is how many acknowledged units are remembered. Most of these units no longer exist.
// At this limit, units forgets them all. A unit that still exists is then sent to systemd once more at
// its next request.
const maxAcknowledged = 4096

// maxCalls is how many calls wait for an answer at the same time. dbus-daemon refuses more than 128
// waiting calls of one connection (max_replies_per_connection in dbus-daemon(1)). systemd handles calls
// one after another, so a higher limit would not be faster.
const maxCalls = 64

// units compares the properties that each systemd unit should have with those that systemd
// acknowledged. It sends no request for a unit whose properties did not change.
//
// Confine does not call systemd itself for each container, for two reasons. 100 sequential calls take
// longer than concurrent calls. And while systemd is busy with a daemon-reload, already the first
// container would have to wait.
type units struct {
	turn chan struct{} // full while a persist runs, so that only one runs at a time
	conn UnitSetter    // used only by the persist that holds turn; nil until connected
	dial func(context.Context) (UnitSetter, error)
	mu   struct {
		sync.Mutex
		desired      map[string]*request   // by unit: requests that systemd has not acknowledged yet
		acknowledged map[string]properties // by unit: the last request that systemd answered
		notReady     error                 // the error of the last exchange with systemd
	}
}

// request is the properties that one unit should have. A request is never changed, only replaced by a
// new one. So acknowledge can compare pointers to see whether a newer request has replaced it.
type request struct{ properties }

func newUnits(conn UnitSetter) *units {
	u := &units{turn: make(chan struct{}, 1), conn: conn, dial: dialSystemd}
	u.mu.desired, u.mu.acknowledged = map[string]*request{}, map[string]properties{}
	u.mu.notReady = errors.New("systemd, which manages the containers' cgroups, has not answered yet")
	return u
}

// require adds properties to the request for a unit, unless systemd already acknowledged them.
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

// invalidate forgets what systemd acknowledged for a unit. It is called when another process has
// written the unit's cgroup, so that the next request is sent even if its properties did not change.
func (u *units) invalidate(unit string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.mu.acknowledged, unit)
}

// pending returns the requests to send. It also forgets what systemd acknowledged for their units:
// until systemd answers, the properties that a unit has are unknown.
func (u *units) pending() map[string]*request {
	u.mu.Lock()
	defer u.mu.Unlock()
	for unit := range u.mu.desired {
		delete(u.mu.acknowledged, unit)
	}
	return maps.Clone(u.mu.desired)
}

// acknowledge records that systemd has set the properties of request r. A newer request for the same
// unit stays pending.
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

// complete removes a request, unless a newer request for the unit has replaced it. The caller holds the
// lock.
func (u *units) complete(unit string, r *request) {
	if u.mu.desired[unit] == r {
		delete(u.mu.desired, unit)
	}
}

// persist sends all pending requests and waits for the answers. It then sends one more request and
// waits for its answer. This is needed because systemd writes cgroups after it has answered a
// request, but before it handles the next one (manager_dispatch_cgroup_realize_queue in its main
// loop). A request that fails stays pending.
func (u *units) persist(ctx context.Context) error {
	return u.update(ctx, func(pending int) bool { return pending > 0 })
}

// retry does what persist does. If the last exchange with systemd failed, it also calls systemd when no
// request is pending.
func (u *units) retry(ctx context.Context) error {
	return u.update(ctx, func(pending int) bool { return pending > 0 || u.ready() != nil })
}

// update sends all pending requests if needed returns true for their number.
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

// ready returns nil if systemd answered the last exchange, and otherwise the error of that
// exchange.
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

// exchange sends requests and waits until systemd has applied them. After a failure it closes the
// connection, and the next exchange opens a new one.
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

// send sets the properties of every unit. If it fails for several units, it returns the first error.
func (u *units) send(ctx context.Context, pending map[string]*request) error {
	var all errgroup.Group // without a context: one unit's failure does not end the others
	all.SetLimit(maxCalls)
	for unit, r := range pending {
		all.Go(func() error { return u.set(ctx, unit, r) })
	}
	return all.Wait()
}

// set sets the properties of one unit. They last until the unit ends or the machine reboots.
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

// allowed returns the unit properties that limit a unit to these CPUs and memory nodes. Source:
// systemd.resource-control(5).
func allowed(cpus, mems cpuset.Set) properties {
	p := properties{"AllowedCPUs": godbus.MakeVariant(mask(cpus))}
	if !mems.Empty() {
		p["AllowedMemoryNodes"] = godbus.MakeVariant(mask(mems))
	}
	return p
}

// noQuota returns the unit properties that remove the CFS quota. systemd reads the highest number as
// infinity.
func noQuota() properties {
	return properties{"CPUQuotaPerSecUSec": godbus.MakeVariant(^uint64(0))}
}

// mask returns a set in systemd's encoding, a bitmap with one bit for each CPU or memory node. Bit 0 of
// the first byte stands for number 0.
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
