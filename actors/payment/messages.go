package payment

import (
	"log/slog"
	"sync/atomic"
	"time"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// reply is what a waiting caller gets.
type reply struct {
	result   Result
	existing ledger.ID // the owner of the txid or the key, instead of a result
	byKey    bool      // of the key
	err      error
}

// caller is somebody who waits for a reply. It never blocks who answers: the
// channel has room for the one reply, and a second one (after a panic) is dropped.
type caller struct {
	reply chan reply
	gone  atomic.Bool // it waits no more
	phase atomic.Int32

	// Of the actor's: what it waits for.
	patient bool // also for the answer to what is being asked
	cancels bool // and wants to know why it was not granted
}

// The phases of what a caller has asked for: whoever is first decides whether it
// is begun or was given up.
const (
	notBegun int32 = iota
	begun
	givenUp
)

// begin tells whether what was asked for may be begun: it is not given up.
func (c *caller) begin() bool {
	return c.phase.CompareAndSwap(notBegun, begun) || c.phase.Load() == begun
}

// giveUp tells whether what was asked for is not begun, and never will be.
func (c *caller) giveUp() bool { return c.phase.CompareAndSwap(notBegun, givenUp) }

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

// outcome is what the provider answered, to a submission or an inquiry. The
// card comes back with the answer to a charge: another terminal may need it, or
// a later step.
type outcome struct {
	actors.Outcome
	inquiry bool      // it answers a question; else a submission
	early   bool      // and was put before the record wanted to be woken
	reissue bool      // and asked the rail to publish anew what the payer has to do
	op      ledger.ID // the operation on the charge that it is about; zero: the charge
	card    *secret.Card
}

// Expected implements actors.Expected.
func (outcome) Expected() {}

// reported is what a rail said unasked.
type reported struct{ actors.Report }

// failure is what the rail says of why.
func (m *reported) failure() payment.Failure { return shorten(m.Failure) }

// Lasting implements actors.Lasting: the rail is not asked for it again.
func (reported) Lasting() {}

// what is asked of a transaction that is there. The zero value is invalid.
type what uint8

const (
	refund what = iota + 1
	cancel
	commit
	complete
	choose
	proceed
	returned
	reissue
)

// operation asks for something to be done with a transaction.
type operation struct {
	Command
	*caller
	what     what
	amount   *money.Amount
	material []byte
	choice   string
	page     bool // for reissue: the payer's page asks
	with     Continue
}

// Refuse implements actors.Refusable.
func (m *operation) Refuse(err error) {
	m.wipe()
	m.answer(reply{err: err})
}

// wipe overwrites what is secret in an operation that nobody takes up.
func (m *operation) wipe() {
	m.with.Card.Wipe()
	clear(m.material)
}

// LogValue implements slog.LogValuer.
func (m *operation) LogValue() slog.Value {
	return slog.StringValue("operation on " + m.ID.String())
}
