package alerts

import (
	"fmt"
	"sync"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// MaxDetectors is the maximum number of terminals whose failures are counted at a time, each by a SpikeDetector. A detector
// takes 100 bytes and 16 bytes for each outcome that it holds, at most 14 KB. When the maximum is reached, detectors of
// idle terminals are evicted.
const MaxDetectors = 16_384

// Directory finds terminals and the recipients of their alerts; actors/directory implements it.
type Directory interface {
	Organization(org ledger.ID) (*directory.Organization, bool)
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
	// AlertTerminal returns the terminal whose recipients are notified of a transaction. terminal is the transaction's
	// terminal, or the zero ID if the transaction has none. If nobody is notified, AlertTerminal returns false.
	AlertTerminal(org ledger.ID, partner int64, env money.Env, terminal ledger.ID) (*directory.Terminal, bool)
	// AlertTerminals calls fn once per organization with the terminals that list recipients,
	// grouped by partner.
	AlertTerminals(fn func(org ledger.ID, terminals []*directory.Terminal) error) error
}

// Notifier sends alerts that are not about an event of a record; actors/notifier implements it.
type Notifier interface {
	// PostBulletin makes a message to a terminal's recipients durable and queues it. If the organization has already used the same
	// key, Post does nothing and returns nil.
	PostBulletin(org, terminal ledger.ID, body []byte, key string) error
}

// Options configure a Monitor.
type Options struct {
	Runtime   *actors.Runtime
	Directory Directory
	Notifier  Notifier
	Decode    func(payload []byte) (*payment.Record, error) // decodes a stored transaction
	CanReach  func(n *directory.Notification) bool          // tells whether any of the recipients can be reached
}

// Monitor watches terminals for spikes of failures, and summarizes each terminal's transactions of a day.
type Monitor struct {
	rt        *actors.Runtime
	directory Directory
	notifier  Notifier
	decode    func([]byte) (*payment.Record, error)
	canReach  func(*directory.Notification) bool

	mu        sync.Mutex
	detectors map[actors.RecordKey]*alerts.SpikeDetector // guarded by mu: the detector of each terminal
	evictedAt ledger.Micros                              // guarded by mu: time of the last eviction
	nextDay   ledger.Date                                // guarded by mu: the next day to summarize
	dayStored bool                                       // guarded by mu: the day before nextDay is stored as summarized
}

// New makes a Monitor and registers its daily summaries with the runtime, which must not have been started yet. If the
// store does not say which day was summarized last, today is the first day to be summarized. The error comes from the
// store.
func New(o Options) (*Monitor, error) {
	m := &Monitor{
		rt: o.Runtime, directory: o.Directory, notifier: o.Notifier, decode: o.Decode, canReach: o.CanReach,
		detectors: make(map[actors.RecordKey]*alerts.SpikeDetector),
	}
	lastDay, found, err := m.loadLastDay()
	if err != nil {
		return nil, err
	}
	today := ledger.DateOf(o.Runtime.Clock.Now())
	if m.nextDay, m.dayStored = today, found; found {
		m.nextDay = min(lastDay+1, today)
	}
	o.Runtime.AddPoll(actors.Poll{Next: m.nextSummaryAt, Run: m.summarizeDays})
	return m, nil
}

// Observe handles a durable change of a transaction's status. It implements payment.Options.Observe
// and does not block.
func (m *Monitor) Observe(org ledger.ID, from payment.Status, r *payment.Record) {
	failed, concluded := r.Outcome(from)
	if !concluded {
		return
	}
	t, found := m.directory.AlertTerminal(org, r.Partner, r.Asset.Env, r.Terminal)
	if !found || !m.canReach(&t.Notification) {
		return
	}
	key, at := actors.RecordKey{Org: org, ID: t.ID}, ledger.MicrosOf(m.rt.Clock.Now())
	if alert, raised := m.countOutcome(key, at, failed); raised {
		m.postSpike(key, alert, t)
	}
}

// countOutcome counts an outcome of a terminal. It returns an alert if the outcome raises one.
func (m *Monitor) countOutcome(key actors.RecordKey, at ledger.Micros, failed bool) (alerts.SpikeAlert, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	detector := m.detectors[key]
	if detector == nil {
		if len(m.detectors) >= MaxDetectors && !m.evictIdle(at) {
			return alerts.SpikeAlert{}, false
		}
		detector = new(alerts.SpikeDetector)
		m.detectors[key] = detector
	}
	return detector.Record(at, failed)
}

// evictIdle removes the detectors of idle terminals, and tells whether there is room for another detector. Because this
// means visiting all detectors, evictIdle does it at most once a minute, and otherwise returns false.
func (m *Monitor) evictIdle(at ledger.Micros) bool {
	if at < m.evictedAt+ledger.Micros(time.Minute/time.Microsecond) {
		return false
	}
	m.evictedAt = at
	for key, detector := range m.detectors {
		if detector.IsIdle(at) {
			delete(m.detectors, key)
		}
	}
	if len(m.detectors) < MaxDetectors {
		return true
	}
	m.rt.Log.Warn("more terminals than the maximum: failure spikes are detected at only some of them", "max", MaxDetectors)
	return false
}

// postSpike posts an alert. If posting fails, the terminal's next outcome raises the alert again.
func (m *Monitor) postSpike(key actors.RecordKey, alert alerts.SpikeAlert, t *directory.Terminal) {
	postKey := fmt.Sprintf("spike/%s/%s", t.ID, alert.At.Time().Truncate(alerts.SpikeWindow).Format(time.RFC3339))
	body := alert.Message(terminalOf(t)).Append(nil)
	err := m.rt.Go(func() {
		if err := m.notifier.PostBulletin(key.Org, t.ID, body, postKey); err != nil {
			m.handlePostError(key, err)
		}
	})
	if err != nil {
		m.handlePostError(key, err)
	}
}

// handlePostError logs the error and makes the terminal's next outcome raise the alert again.
func (m *Monitor) handlePostError(key actors.RecordKey, err error) {
	m.rt.Log.Error("alert about a spike of failures was not posted", "terminal", key.ID.String(), "error", err)
	m.mu.Lock()
	defer m.mu.Unlock()
	if detector := m.detectors[key]; detector != nil {
		detector.Retract()
	}
}

// terminalOf returns the description of a terminal that alerts contain.
func terminalOf(t *directory.Terminal) alerts.Terminal {
	return alerts.Terminal{ID: t.ID, Name: t.Name, Partner: t.Partner, Env: t.Env}
}
