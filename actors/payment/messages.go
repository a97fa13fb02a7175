package payment

import (
	"log/slog"
	"sync/atomic"
	"time"

	"mizan/actors"
	"mizan/ledger"
)

// reply is what a waiting caller gets.
type reply struct {
	result   Result
	existing ledger.ID // the txid's owner, instead of a result
	err      error
}

// caller is somebody who waits for a reply. It never blocks who answers: the
// channel has room for the one reply, and a second one (after a panic) is dropped.
type caller struct {
	reply chan reply
	gone  atomic.Bool // it waits no more
}

func newCaller() *caller { return &caller{reply: make(chan reply, 1)} }

// wait takes the reply, or gives up when the timer does.
func (c *caller) wait(timer *time.Timer) (reply, bool) {
	select {
	case r := <-c.reply:
		return r, true
	case <-timer.C:
		c.gone.Store(true)
		return reply{}, false
	}
}

func (c *caller) answer(r reply) {
	select {
	case c.reply <- r:
	default:
	}
}

// create asks a new actor to begin its transaction.
type create struct {
	Create
	*caller
	id ledger.ID
}

// Refuse implements actors.Refusable.
func (m *create) Refuse(err error) {
	m.Card.Wipe()
	m.answer(reply{err: err})
}

// LogValue implements slog.LogValuer.
func (m *create) LogValue() slog.Value { return slog.StringValue("create " + m.id.String()) }

// await asks for the first outcome.
type await struct{ *caller }

// Refuse implements actors.Refusable.
func (m *await) Refuse(err error) { m.answer(reply{err: err}) }

// Observes implements actors.Observer.
func (m *await) Observes() {}

// LogValue implements slog.LogValuer.
func (m *await) LogValue() slog.Value { return slog.StringValue("await") }

// admitted is the account's answer to a payout.
type admitted struct{ ok bool }

// Expected implements actors.Expected.
func (admitted) Expected() {}

// outcome is what the provider answered, to a submission or an inquiry.
type outcome struct{ actors.Outcome }

// Expected implements actors.Expected.
func (outcome) Expected() {}

// reversed says that the rail took settled money back.
type reversed struct{ reason string }

// Lasting implements actors.Lasting: the rail is not asked for it again.
func (reversed) Lasting() {}
