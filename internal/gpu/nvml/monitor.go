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
	// eventWait is how long the library is left waiting for an event before it
	// is seen whether the monitor is to end.
	eventWait = time.Second
	// reopenAfter is at how many looks in a row a card may be lost before the
	// library is started anew, which a card that was reset or is back on its bus
	// needs to be found.
	reopenAfter = 6
)

var errLost = errors.New("starting NVML anew, for a GPU does not answer")

// Env is what a Monitor works with.
type Env struct {
	Open func() (Driver, error)
	// Prepare, if there is one, gets GPUs ready to be given away and returns them as
	// they are to be published. The driver is nil while none is open.
	Prepare func(*gpu.Inventory, cdi.Source) *gpu.Inventory
	Publish func(*gpu.Inventory) // is called after every look, whether it found something new or not
	Tick    <-chan time.Time     // when to look at all cards
	Now     func() time.Time
	Settle  time.Duration // how long a fault stays after it was last reported
	Log     logr.Logger
}

// Monitor keeps a node's inventory with its health. A card that it has once seen
// stays in it, unhealthy, when the driver no longer finds it or goes away, until
// the driver lists all that were there, or the monitor ends.
type Monitor struct {
	Env
	known *gpu.Inventory // all cards, as they were last read in full
	watch *health.Watch
	open  cdi.Source     // the driver of this session; nil between two
	last  *gpu.Inventory // as published
	lost  int            // looks in a row that found a card lost
	said  string         // the last problem that was logged
}

// NewMonitor returns a Monitor that has asked nothing yet.
func NewMonitor(e Env) *Monitor {
	none := &gpu.Inventory{}
	return &Monitor{Env: e, known: none, watch: health.New(none, e.Settle), last: none}
}

// Run publishes until ctx ends, and then returns nil. A library that is there
// and does not start is an error: it stays loaded as long as the process, so one
// that is of another version than the kernel's driver since an upgrade is rid of
// only by a new process.
func (m *Monitor) Run(ctx context.Context) error {
	for {
		switch err := m.session(ctx); {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrAbsent):
			m.say(err)
			m.unanswered(err)
		case !errors.Is(err, errLost):
			return err
		default:
			m.say(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.Tick:
		}
	}
}

// session follows the driver while it is open, and returns why it has to be
// opened again.
func (m *Monitor) session(ctx context.Context) error {
	driver, err := m.Open()
	if err != nil {
		return err
	}
	m.lost, m.open = 0, driver
	defer func() { m.open = nil; driver.Close() }()
	m.look(driver)
	listening, stop := context.WithCancel(ctx)
	news, ended := listen(listening, driver)
	defer func() { stop(); <-ended }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case n := <-news:
			m.hear(n)
		case <-m.Tick:
			if m.look(driver); m.lost >= reopenAfter {
				return errLost
			}
		}
	}
}

// hear takes in an event. Why none can be had, the next look finds out.
func (m *Monitor) hear(n news) {
	if n.err != nil {
		m.say(n.err)
		return
	}
	m.Log.V(2).Info("event", "gpu", n.event.Card, "kind", n.event.Kind, "xid", n.event.Xid)
	m.watch.Note(n.event, m.Now())
	m.publish()
}

// look reads the inventory and asks every card how it is.
func (m *Monitor) look(driver Driver) {
	now, err := driver.Inventory()
	if err == nil {
		err = now.Check()
	}
	m.say(err)
	m.follow(now)
	lost := false
	for i := range m.known.Cards {
		uuid := m.known.Cards[i].UUID
		p := driver.Probe(uuid)
		m.watch.Probe(uuid, p, m.Now())
		lost = lost || !p.Answers
	}
	m.lost++
	if !lost {
		m.lost = 0
	}
	m.publish()
}

// follow turns to a newer inventory, unless a card is missing there.
func (m *Monitor) follow(now *gpu.Inventory) {
	if now.Check() != nil {
		return
	}
	for i := range m.known.Cards {
		if _, found := now.Find(m.known.Cards[i].UUID); !found {
			return
		}
	}
	m.known = now
	m.watch.Follow(now)
}

// unanswered notes that no card answers, for there is no driver to ask, and why.
func (m *Monitor) unanswered(why error) {
	for i := range m.known.Cards {
		m.watch.Probe(m.known.Cards[i].UUID, health.Probe{Error: why.Error()}, m.Now())
	}
	m.publish()
}

func (m *Monitor) publish() {
	now := m.watch.Apply(m.known)
	if m.Prepare != nil {
		now = m.Prepare(now, m.open)
	}
	if !reflect.DeepEqual(now, m.last) {
		m.tell(now)
	}
	m.last = now
	m.Publish(now)
}

// tell logs what changed.
func (m *Monitor) tell(now *gpu.Inventory) {
	before := map[string]gpu.Unit{}
	for _, u := range m.last.Units() {
		before[u.ID] = u
	}
	for _, u := range now.Units() {
		if was, known := before[u.ID]; !known || was.Health != u.Health {
			m.Log.Info("gpu", "id", u.ID, "type", u.Type, "health", u.Health.State.String(), "reason", u.Health.Reason)
		}
		delete(before, u.ID)
	}
	for id := range before {
		m.Log.Info("gpu is gone", "id", id)
	}
}

// say logs a problem once.
func (m *Monitor) say(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case text == "" || text == m.said:
	case errors.Is(err, ErrAbsent):
		m.Log.Info("no GPUs", "reason", text)
	default:
		m.Log.Info("not all is known of this node's GPUs", "reason", text)
	}
	m.said = text
}
