package payment

import (
	"log/slog"
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

type replies chan reply

// wait takes the reply, or gives up when the timer does.
func (c replies) wait(timer *time.Timer) (reply, bool) {
	select {
	case r := <-c:
		return r, true
	case <-timer.C:
		return reply{}, false
	}
}

// create asks a new actor to begin its transaction.
type create struct {
	Create
	id    ledger.ID
	reply replies
}

// Refuse implements actors.Refusable.
func (m *create) Refuse(err error) {
	m.Card.Wipe()
	answer(m.reply, reply{err: err})
}

// LogValue implements slog.LogValuer.
func (m *create) LogValue() slog.Value { return slog.StringValue("create " + m.id.String()) }

// await asks for the first outcome.
type await struct{ reply replies }

// Refuse implements actors.Refusable.
func (m *await) Refuse(err error) { answer(m.reply, reply{err: err}) }

// LogValue implements slog.LogValuer.
func (m *await) LogValue() slog.Value { return slog.StringValue("await") }

// admitted is the account's answer to a payout.
type admitted struct{ ok bool }

// outcome is what the provider answered, to a submission or an inquiry.
type outcome struct{ actors.Outcome }

// reversed says that the rail took settled money back.
type reversed struct{ reason string }

// answer never blocks: a channel has room for its one reply, and a second one
// (after a panic) is dropped.
func answer(to replies, r reply) {
	select {
	case to <- r:
	default:
	}
}
