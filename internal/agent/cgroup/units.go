package cgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"

	"github.com/numalet/numalet/pkg/cpuset"
)

// UnitSetter is the part of systemd's D-Bus interface that is used here.
// *dbus.Conn of go-systemd has it.
type UnitSetter interface {
	SetUnitPropertiesContext(ctx context.Context, name string, runtime bool, properties ...systemd.Property) error
	SystemStateContext(ctx context.Context) (*systemd.Property, error)
}

// properties of one unit by name; the latest value of each wins.
type properties map[string]godbus.Variant

// toldAtMost bounds what is remembered of units, most of which are long gone;
// beyond it everything is forgotten, and told once more when it is noted.
const toldAtMost = 4096

// units keeps what systemd is still to be told, and what it was told, so that
// asserting a state that stands costs no request.
//
// A synchronous call per container was rejected: 100 of them one after another
// take longer than 100 under way at once, and a systemd that is busy with a
// daemon-reload would hold up the first write already.
type units struct {
	turn chan struct{} // held by the one settle under way
	conn UnitSetter    // guarded by turn; nil until connected
	dial func(context.Context) (UnitSetter, error)
	mu   struct {
		sync.Mutex
		noted map[string]properties // to be told
		told  map[string]properties // answered, and not under way again
	}
}

func newUnits(conn UnitSetter) *units {
	u := &units{turn: make(chan struct{}, 1), conn: conn, dial: dialSystemd}
	u.mu.noted, u.mu.told = map[string]properties{}, map[string]properties{}
	return u
}

// note remembers properties of a unit, over those noted before, unless they
// were told.
func (u *units) note(unit string, p properties) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.noted[unit] == nil && includes(u.mu.told[unit], p) {
		return
	}
	if u.mu.noted[unit] == nil {
		u.mu.noted[unit] = properties{}
	}
	maps.Copy(u.mu.noted[unit], p)
}

func includes(told, p properties) bool {
	for name, value := range p {
		if before, ok := told[name]; !ok || before.String() != value.String() {
			return false
		}
	}
	return true
}

// forget makes the next note of a unit count: somebody else wrote its cgroup.
func (u *units) forget(unit string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.mu.told, unit)
}

// take empties the notes; their units are in doubt until they are answered.
func (u *units) take() map[string]properties {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.mu.noted
	u.mu.noted = map[string]properties{}
	for unit := range taken {
		delete(u.mu.told, unit)
	}
	return taken
}

// answered remembers what systemd was told.
func (u *units) answered(unit string, p properties) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.mu.told) >= toldAtMost {
		u.mu.told = map[string]properties{}
	}
	u.mu.told[unit] = p
}

// putBack notes what could not be told, under what was noted since.
func (u *units) putBack(unit string, p properties) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for name, value := range u.mu.noted[unit] {
		p[name] = value
	}
	u.mu.noted[unit] = p
}

// settle sends the notes of all units at once and waits for the answers, then
// for one more: systemd writes cgroups after it answered, but before it takes
// the next request (manager_dispatch_cgroup_realize_queue in its main loop).
func (u *units) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-ctx.Done():
		return fmt.Errorf("wait for systemd: %w", ctx.Err())
	}
	notes := u.take()
	if len(notes) == 0 {
		return nil
	}
	err := u.send(ctx, notes)
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

// send sets the properties of every unit and puts back what failed.
func (u *units) send(ctx context.Context, notes map[string]properties) error {
	if err := u.connect(ctx); err != nil {
		for unit, p := range notes {
			u.putBack(unit, p)
		}
		return err
	}
	failures := make(chan error, len(notes))
	var all sync.WaitGroup
	for unit, p := range notes {
		all.Go(func() {
			if err := u.set(ctx, unit, p); err != nil {
				u.putBack(unit, p)
				failures <- err
			}
		})
	}
	all.Wait()
	close(failures)
	return <-failures
}

// set tells systemd the properties of one unit, for as long as the unit lives.
// A unit that is gone needs none.
func (u *units) set(ctx context.Context, unit string, p properties) error {
	list := make([]systemd.Property, 0, len(p))
	for name, value := range p {
		list = append(list, systemd.Property{Name: name, Value: value})
	}
	err := u.conn.SetUnitPropertiesContext(ctx, unit, true, list...)
	if refused := (godbus.Error{}); errors.As(err, &refused) && refused.Name == "org.freedesktop.systemd1.NoSuchUnit" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("set properties of systemd unit %s: %w", unit, err)
	}
	u.answered(unit, p)
	return nil
}

// allowed are the properties of a cpuset. Source: systemd.resource-control(5).
func allowed(cpus, mems cpuset.Set) properties {
	p := properties{"AllowedCPUs": godbus.MakeVariant(mask(cpus))}
	if !mems.Empty() {
		p["AllowedMemoryNodes"] = godbus.MakeVariant(mask(mems))
	}
	return p
}

// noQuota are the properties of a cgroup without CFS quota: infinity.
func noQuota() properties {
	return properties{"CPUQuotaPerSecUSec": godbus.MakeVariant(^uint64(0))}
}

// mask is systemd's form of a set: a bit per CPU, the lowest first.
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
