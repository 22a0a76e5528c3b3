package cgroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
	"golang.org/x/sync/errgroup"

	"github.com/numalet/numalet/pkg/cpuset"
)

// UnitSetter has the calls to systemd that package cgroup uses. The type *dbus.Conn of go-systemd
// implements UnitSetter.
type UnitSetter interface {
	SetUnitPropertiesContext(ctx context.Context, name string, runtime bool, properties ...systemd.Property) error
	SystemStateContext(ctx context.Context) (*systemd.Property, error)
}

// properties are the properties of one systemd unit, by name.
type properties map[string]godbus.Variant

// maxAcknowledged limits the size of the map units.acknowledged. The map may have entries for units
// that no longer exist. When the map reaches this size, all its entries are removed. For a unit
// that still exists, the next request is then sent to systemd even if nothing has changed.
const maxAcknowledged = 4096

// maxCalls is how many calls to systemd may wait for an answer at the same time. dbus-daemon
// refuses a call if 128 calls of the same connection already wait (max_replies_per_connection in
// dbus-daemon(1)). systemd handles calls one after another, so a higher limit would not be faster.
const maxCalls = 64

// maxRound is how many requests one call of the method `retry` sends at most. While `retry` waits
// for the answers, a hook that calls `persist` must wait. So `retry` sends few requests at a time:
// systemd takes about 1 ms for each of them, and 50 to 120 ms on an overloaded machine.
const maxRound = 16

// answerTime is the time in which systemd must answer at least one request to count as ready. A
// hook that waited long for its turn may have less time left. If systemd answers no request in this
// shorter time, this shows nothing about systemd, so the result of the method `ready` does not
// change.
const answerTime = time.Second

// units tells systemd which properties each unit should have. It remembers which properties systemd
// has acknowledged, and sends no request for a unit whose properties did not change.
//
// Confine does not call systemd for each container, but leaves that to Persist, for two reasons.
// First, calls for 100 containers one after another take longer than concurrent calls. Second, while
// systemd is busy with a daemon-reload, Confine would have to wait for its answer, so the cpusets of
// all further containers would be written late.
type units struct {
	soon chan struct{} // full after persistLater, until the agent calls `retry`
	turn chan struct{} // full while a call of `update` or `close` runs, so that only one call runs at a time
	conn UnitSetter    // used only by the call that has filled `turn`; nil until connected
	dial func(context.Context) (UnitSetter, error)
	mu   struct {
		sync.Mutex
		desired      map[string]*request   // by unit: requests that systemd has not acknowledged yet
		acknowledged map[string]properties // by unit: the properties of the last request that systemd acknowledged
		notReady     error                 // why systemd was not ready at the last call of `update`; nil if it was ready; before the first call, not nil
		answers      int                   // how many requests for units systemd has answered so far
		order        int                   // how often a request was recorded or sent so far
	}
}

// request is the properties that one unit should have. The properties of a request are never
// changed: instead, a new request replaces the old one. So the method `complete` can compare
// pointers to find out whether a newer request has replaced the one that was sent.
type request struct {
	properties
	order int // requests with a higher order are sent first; negative after the request was sent; units.mu guards it
}

func newUnits(conn UnitSetter) *units {
	u := &units{soon: make(chan struct{}, 1), turn: make(chan struct{}, 1), conn: conn, dial: dialSystemd}
	u.mu.desired, u.mu.acknowledged = map[string]*request{}, map[string]properties{}
	u.mu.notReady = errors.New("systemd, which manages the containers' cgroups, has not answered yet")
	return u
}

// require adds the properties p to the request for a unit, unless systemd has already acknowledged
// them.
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
	u.mu.order++
	u.mu.desired[unit] = &request{all, u.mu.order}
}

// has reports whether systemd has acknowledged the properties p for a unit, and no other request
// for this unit has been sent since then.
func (u *units) has(unit string, p properties) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return includes(u.mu.acknowledged[unit], p)
}

func includes(acknowledged, p properties) bool {
	for name, value := range p {
		if before, ok := acknowledged[name]; !ok || before.String() != value.String() {
			return false
		}
	}
	return true
}

// invalidate forgets which properties systemd acknowledged for a unit. Cgroups calls it whenever
// the unit's cgroup did not have the wanted settings. If systemd has already acknowledged these
// settings, another process has changed the cgroup since then, and maybe the unit, too. So the next
// request for the unit is sent to systemd even if the properties in it did not change.
func (u *units) invalidate(unit string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.mu.acknowledged, unit)
}

// pending returns the requests to send to systemd. The parameter `limit` is the largest number of
// requests. pending also forgets which properties systemd acknowledged for the units of these
// requests. Until systemd answers, it is unknown which properties these units have.
//
// The newest requests come first, and those that were already sent come last. So the request for a
// new sandbox does not wait until systemd has handled a long list of older requests. Until systemd
// has this request, a daemon-reload would let the sandbox run on other CPUs. Requests that systemd
// refuses come last, so they do not keep other requests waiting. An older request is sent when
// systemd answers faster than new requests are recorded.
func (u *units) pending(limit int) map[string]*request {
	u.mu.Lock()
	defer u.mu.Unlock()
	sorted := slices.SortedFunc(maps.Keys(u.mu.desired), func(a, b string) int {
		return cmp.Compare(u.mu.desired[b].order, u.mu.desired[a].order)
	})
	chosen := map[string]*request{}
	for _, unit := range sorted[:min(limit, len(sorted))] {
		delete(u.mu.acknowledged, unit)
		chosen[unit] = u.mu.desired[unit]
		u.mu.order++
		chosen[unit].order = -u.mu.order
	}
	return chosen
}

// acknowledge records that systemd has set the properties of request r. If there is a newer request
// for the same unit, the newer request stays pending.
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

// complete counts systemd's answer to the request r for a unit. It removes r, unless a newer request
// for the unit has replaced r. The caller holds u.mu.
func (u *units) complete(unit string, r *request) {
	u.mu.answers++
	if u.mu.desired[unit] == r {
		delete(u.mu.desired, unit)
	}
}

// persist sends systemd all pending requests and waits for the answers. It then sends one more
// request and waits for its answer. systemd writes a unit's cgroup only after it has answered the
// request for the unit, but before it handles the next request
// (manager_dispatch_cgroup_realize_queue in its main loop). So when systemd answers the last
// request, it has written the cgroups of all units. A request that fails stays pending, unless its
// unit no longer exists.
func (u *units) persist(ctx context.Context) error {
	return u.update(ctx, math.MaxInt, func(pending int) bool { return pending > 0 })
}

// persistLater requests a call of the method `retry`. It does not block.
func (u *units) persistLater() {
	select {
	case u.soon <- struct{}{}:
	default: // a call is already requested
	}
}

// retry does what persist does, but sends no more than maxRound requests. If systemd has answered
// them and more requests are pending, retry requests its next call. Before that call, a hook that
// waits in persist gets its turn. If systemd was not ready at the last call, or if there was no call
// yet, retry calls systemd even if no request is pending.
func (u *units) retry(ctx context.Context) error {
	err := u.update(ctx, maxRound, func(pending int) bool { return pending > 0 || u.ready() != nil })
	if err == nil && u.isPending() {
		u.persistLater()
	}
	return err
}

func (u *units) isPending() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.mu.desired) > 0
}

// update sends systemd the pending requests, but no more than the number in the parameter `limit`.
// First it calls the function in the parameter `needed` with the number of these requests. If this
// function returns false, update sends nothing.
func (u *units) update(ctx context.Context, limit int, needed func(pending int) bool) error {
	if err := u.takeTurn(ctx); err != nil {
		return fmt.Errorf("wait for systemd: %w", err)
	}
	defer func() { <-u.turn }()
	if err := ctx.Err(); err != nil && u.isPending() { // systemd could not answer in time, and `exchange` would close the connection
		return fmt.Errorf("wait for systemd: %w", err)
	}
	pending := u.pending(limit)
	if !needed(len(pending)) {
		return nil
	}
	reused, before, start := u.conn != nil, u.answers(), time.Now()
	err := u.exchange(ctx, pending)
	if reused && isDisconnected(ctx, err) {
		err = u.exchange(ctx, u.pending(limit))
	}
	switch late := ctx.Err() != nil; {
	case late && u.answers() > before:
		u.setReady(nil) // systemd answers, but had too little time for all requests
	case late && time.Since(start) < answerTime: // unknown whether systemd answers
	default:
		u.setReady(err)
	}
	return err
}

// takeTurn fills u.turn. If ctx has ended, it still does so if it need not wait.
func (u *units) takeTurn(ctx context.Context) error {
	select {
	case u.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case u.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (u *units) answers() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mu.answers
}

// ready reports the result of the last call of the method `update` that sent requests. It returns
// nil if all requests succeeded, or if systemd answered some of them before the deadline of the
// call. Otherwise it returns the error of that call. If there was no such call yet, it returns an
// error, too. Calls whose deadline left systemd less than answerTime, and in which systemd answered
// nothing, do not count.
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

// exchange sends systemd the pending requests, and waits until systemd has applied them. After a
// failure, it closes the connection, and the next call of exchange opens a new connection.
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

// send calls systemd to set the properties of every unit in pending. If it fails for several units,
// it returns the first error.
func (u *units) send(ctx context.Context, pending map[string]*request) error {
	var all errgroup.Group // without a context, so that the failure of one unit does not end the calls for the others
	all.SetLimit(maxCalls)
	for unit, r := range pending {
		all.Go(func() error { return u.set(ctx, unit, r) })
	}
	return all.Wait()
}

// set calls systemd to set the properties of one unit. systemd keeps the properties until the unit
// ends or the machine reboots.
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

// allowed returns the properties that limit a systemd unit to these CPUs, and to these NUMA nodes
// of memory. Source: systemd.resource-control(5).
func allowed(cpus, mems cpuset.Set) properties {
	p := properties{"AllowedCPUs": godbus.MakeVariant(mask(cpus))}
	if !mems.Empty() {
		p["AllowedMemoryNodes"] = godbus.MakeVariant(mask(mems))
	}
	return p
}

// noQuota returns the properties that remove the CFS quota of a systemd unit. The largest uint64
// means that there is no limit.
func noQuota() properties {
	return properties{"CPUQuotaPerSecUSec": godbus.MakeVariant(^uint64(0))}
}

// mask returns a set in systemd's encoding, which is a bitmap with one bit for each CPU or NUMA
// node. Bit 0 of the first byte stands for number 0.
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
