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
	// eventWait is the longest time that the monitor waits for one event. The monitor
	// cannot end while it waits, so its end can be delayed by this time.
	eventWait = time.Second
	// reopenAfter is a number of polls. If at least one GPU has not answered in this many polls in
	// a row, NVML is closed and initialized again. NVML finds a GPU that was reset, or that is back
	// on the PCI bus, only when it is initialized. As long as a GPU does not answer, each next such
	// number of polls is twice as large, up to maxReopenAfter, because initializing NVML interrupts
	// the monitoring of all GPUs.
	reopenAfter    = 6
	maxReopenAfter = 60
)

var errLost = errors.New("a GPU does not answer; initializing NVML again")

// MonitorOptions are the options of NewMonitor.
type MonitorOptions struct {
	Open func() (Driver, error)
	// Prepare, if not nil, is called before each Publish and returns the inventory to
	// publish. It can return a changed copy of the inventory, and do what is needed before
	// the GPUs are allocated, such as writing their CDI specification. The cdi.Source is
	// nil while no driver is open.
	Prepare  func(*gpu.Inventory, cdi.Source) *gpu.Inventory
	Publish  func(*gpu.Inventory) // called after every poll and every event, with or without changes
	Tick     <-chan time.Time     // ticks when it is time to poll all GPUs
	Now      func() time.Time
	MinFault time.Duration // a GPU stays unhealthy at least this long after the last report of a fault, unless it is reset
	Log      logr.Logger
}

// Monitor maintains the inventory of a node's GPUs and their health. If the driver is
// removed or no longer lists a GPU, the GPU stays in the inventory as unhealthy, at least
// until the driver lists it again.
type Monitor struct {
	MonitorOptions
	complete  *gpu.Inventory // all GPUs that the driver ever listed; a GPU that it no longer lists (a lost GPU) is here as it was listed last
	health    *health.Tracker
	dog       *watchdog
	open      cdi.Source     // the driver of this session; nil between sessions
	published *gpu.Inventory // the inventory that was published last
	lost      int            // number of consecutive polls of this session, up to now, with a GPU that did not answer
	patience  int            // number of such polls after which NVML is initialized again
	problem   string         // the problem that was logged last
}

// NewMonitor returns a Monitor. It opens no driver until Run is called.
func NewMonitor(o MonitorOptions) *Monitor {
	none := &gpu.Inventory{}
	return &Monitor{MonitorOptions: o, complete: none, health: health.New(none, o.MinFault), dog: newWatchdog(o.Now), published: none, patience: reopenAfter}
}

// Run publishes the inventory until ctx ends, and then returns nil. If NVML exists but cannot be
// initialized, Run returns an error, so that the process ends and is started again. This helps
// after an upgrade of the driver: the process still has the old version of the library, which does
// not work with the new driver. Only a new process loads the new version.
func (m *Monitor) Run(ctx context.Context) error {
	for {
		switch err := m.session(ctx); {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrAbsent):
			m.logProblem(err)
			m.markLost(err)
		case errors.Is(err, errLost):
			m.logProblem(err)
			continue // without a wait, because no GPU is monitored while NVML is closed
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.Tick:
		}
	}
}

// Live returns an error if a call of NVML has not returned for a long time. It is safe for
// concurrent use.
func (m *Monitor) Live() error { return m.dog.live() }

// session opens the driver and monitors the GPUs. It returns nil when ctx ends. It returns
// an error if the driver cannot be opened, or has to be opened again.
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
			if m.poll(driver); m.lost >= m.patience {
				m.patience = min(2*m.patience, maxReopenAfter)
				return errLost
			}
		}
	}
}

// handle processes an event. If the wait for an event has failed, it only logs the error,
// because the next poll detects the cause.
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
		m.lost, m.patience = 0, reopenAfter
	}
	m.publish()
}

// update records the GPUs that the driver lists now. GPUs that the driver listed before but does
// not list now stay in the inventory. The method ignores an inconsistent list.
func (m *Monitor) update(now *gpu.Inventory) {
	all := now.WithLost(m.complete)
	if all.Check() != nil {
		return
	}
	m.complete = all
	m.health.SetInventory(all)
}

// markLost records that no GPU answers, because no driver is open.
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

// logChanges logs how the inventory differs from the inventory that was published last.
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

// logProblem logs a problem, unless the same problem was logged last.
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

// received is an event of the driver, or the error of a wait for an event.
type received struct {
	event health.Event
	err   error
}

// receive calls the driver's method Next until ctx ends, and sends the events and the errors of
// these calls to the channel that it returns first. After ctx has ended and the last call of Next
// has returned, it closes the channel that it returns second, `ended`. The driver must not be
// closed before that.
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
