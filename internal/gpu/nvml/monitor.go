package nvml

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/internal/gpu/nvml/cdi"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/health"
)

const (
	// eventWait bounds one wait for an event, and so the time until the monitor ends.
	eventWait = time.Second
	// reopenAfter is the number of consecutive polls with a lost GPU after which
	// the library is initialized again. Without that, the library does not find a GPU that was reset
	// or is back on the bus.
	reopenAfter = 6
)

var errLost = errors.New("a GPU does not answer; initializing NVML again")

// MonitorOptions of NewMonitor.
type MonitorOptions struct {
	Open func() (Driver, error)
	// Prepare, if not nil, prepares the allocation of GPUs and returns the inventory
	// to publish. The driver is nil while none is open.
	Prepare  func(*gpu.Inventory, cdi.Source) *gpu.Inventory
	Publish  func(*gpu.Inventory) // called after every poll, with or without changes
	Tick     <-chan time.Time     // when to poll all GPUs
	Now      func() time.Time
	MinFault time.Duration // how long a fault lasts at least after its last report
	Log      logr.Logger
}

// Monitor maintains a node's inventory and its health. If the driver no longer lists
// a GPU or is removed, the GPU stays in the inventory as unhealthy, until the
// driver lists it again or the monitor ends.
type Monitor struct {
	MonitorOptions
	complete  *gpu.Inventory // with all GPUs that were ever listed, lost ones as they were
	health    *health.Tracker
	dog       *watchdog
	open      cdi.Source     // the driver of this session; nil between sessions
	published *gpu.Inventory // the last one
	lost      int            // consecutive polls with a lost GPU
	problem   string         // the last one that was logged
}

// NewMonitor returns a Monitor that opens no driver before Run.
func NewMonitor(o MonitorOptions) *Monitor {
	none := &gpu.Inventory{}
	return &Monitor{MonitorOptions: o, complete: none, health: health.New(none, o.MinFault), dog: newWatchdog(o.Now), published: none}
}

// Run publishes until ctx ends, and then returns nil. A library that exists but
// cannot be initialized is an error: it stays loaded until the process ends, so
// after an upgrade of the kernel driver only a new process gets the new version.
func (m *Monitor) Run(ctx context.Context) error {
	for {
		switch err := m.session(ctx); {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrAbsent):
			m.logProblem(err)
			m.markLost(err)
		case !errors.Is(err, errLost):
			return err
		default:
			m.logProblem(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.Tick:
		}
	}
}

// Live returns an error if a call of NVIDIA's library hangs. It is safe for concurrent use.
func (m *Monitor) Live() error { return m.dog.live() }

// session monitors with an open driver, and returns why the driver has to be opened
// again.
func (m *Monitor) session(ctx context.Context) error {
	driver, err := m.dog.open(m.Open)
	if err != nil {
		return err
	}
	m.lost, m.open = 0, driver
	defer func() { m.open = nil; driver.Close() }()
	m.poll(driver)
	receiving, stop := context.WithCancel(ctx)
	events, ended := receive(receiving, driver)
	defer func() { stop(); <-ended }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-events:
			m.handle(e)
		case <-m.Tick:
			if m.poll(driver); m.lost >= reopenAfter {
				return errLost
			}
		}
	}
}

// handle processes an event. It only logs an error: the next poll detects its cause.
func (m *Monitor) handle(r received) {
	if r.err != nil {
		m.logProblem(r.err)
		return
	}
	m.Log.V(2).Info("event", "gpu", r.event.GPU, "kind", r.event.Kind, "xid", r.event.Xid)
	m.health.ObserveEvent(r.event, m.Now())
	m.publish()
}

// poll reads the inventory and the health of every GPU.
func (m *Monitor) poll(driver Driver) {
	now, err := driver.Inventory()
	if err == nil {
		err = now.Check()
	}
	m.logProblem(err)
	m.update(now)
	lost := false
	for i := range m.complete.GPUs {
		uuid := m.complete.GPUs[i].UUID
		p := driver.Probe(uuid)
		m.health.ObserveProbe(uuid, p, m.Now())
		lost = lost || !p.Answers
	}
	m.lost++
	if !lost {
		m.lost = 0
	}
	m.publish()
}

// update replaces what the driver lists, and keeps the other GPUs.
func (m *Monitor) update(now *gpu.Inventory) {
	all := now.WithLost(m.complete)
	if all.Check() != nil {
		return
	}
	m.complete = all
	m.health.SetInventory(all)
}

// markLost records that no GPU answers, because there is no driver.
func (m *Monitor) markLost(why error) {
	for i := range m.complete.GPUs {
		m.health.ObserveProbe(m.complete.GPUs[i].UUID, health.Probe{Error: why.Error()}, m.Now())
	}
	m.publish()
}

func (m *Monitor) publish() {
	now := m.health.Apply(m.complete)
	if m.Prepare != nil {
		returned := m.dog.watch("preparing the allocation of GPUs")
		now = m.Prepare(now, m.open)
		returned()
	}
	if !reflect.DeepEqual(now, m.published) {
		m.logChanges(now)
	}
	m.published = now
	m.Publish(now)
}

// logChanges logs the differences from the last published inventory.
func (m *Monitor) logChanges(now *gpu.Inventory) {
	before := map[string]gpu.Unit{}
	for _, u := range m.published.Units() {
		before[u.ID] = u
	}
	for _, unit := range now.Units() {
		if was, known := before[unit.ID]; !known || was.Health != unit.Health {
			m.Log.Info("GPU changed", "id", unit.ID, "type", unit.Type, "health", unit.Health.State.String(), "reason", unit.Health.Reason)
		}
		delete(before, unit.ID)
	}
	for id := range before {
		m.Log.Info("GPU removed", "id", id)
	}
}

// logProblem logs a problem once.
func (m *Monitor) logProblem(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case text == "" || text == m.problem:
	case errors.Is(err, ErrAbsent):
		m.Log.Info("no GPUs", "reason", text)
	default:
		m.Log.Info("cannot read all GPUs of this node", "reason", text)
	}
	m.problem = text
}

// received is an event, or the error of the driver.
type received struct {
	event health.Event
	err   error
}

// receive returns a channel of the driver's events until ctx ends, and one that is
// closed when no call of the driver is in progress any more.
func receive(ctx context.Context, driver Driver) (_ <-chan received, ended <-chan struct{}) {
	events, done := make(chan received), make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			event, happened, err := driver.Next(eventWait)
			if !happened && err == nil {
				continue
			}
			select {
			case events <- received{event, err}:
			case <-ctx.Done():
			}
			if err != nil {
				pause(ctx, eventWait)
			}
		}
	}()
	return events, done
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
