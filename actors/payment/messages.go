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

// reply is the reply to a waiting caller.
type reply struct {
	result   Result
	existing ledger.ID // instead of a result: the transaction that has claimed the txid or the key
	byKey    bool      // existing has claimed the key, not the txid
	err      error
}

// caller is a request that waits for its reply.
type caller struct {
	actors.Waiter[reply]
	stoppedWaiting atomic.Bool
	phase          atomic.Int32

	// Only the actor uses the fields below.
	waitsForCall bool // the caller also waits for the answer to the provider call in progress
	isCancel     bool // the request is a cancel; if the charge has settled, the reply is the error NotReversible
}

// The phases of a request. The phase changes once: either the actor begins the request, or its caller
// gives the request up.
const (
	phaseNotBegun int32 = iota
	phaseBegun
	phaseGivenUp
)

// begin marks the request as begun. It returns false if the caller has given the request up.
func (c *caller) begin() bool {
	return c.phase.CompareAndSwap(phaseNotBegun, phaseBegun) || c.phase.Load() == phaseBegun
}

// giveUp marks the request as given up. It returns false if the actor has already begun the request.
func (c *caller) giveUp() bool { return c.phase.CompareAndSwap(phaseNotBegun, phaseGivenUp) }

// wait returns the reply. If there is no reply by the deadline, wait returns false.
func (c *caller) wait(deadline time.Time) (reply, bool) {
	r, answered := c.Wait(deadline)
	if !answered {
		c.stoppedWaiting.Store(true)
	}
	return r, answered
}

// createMessage asks a new actor to begin its transaction.
type createMessage struct {
	Create
	caller
	id ledger.ID
}

// Refuse implements actors.Refusable.
func (m *createMessage) Refuse(err error) {
	m.Card.Wipe()
	m.Answer(reply{err: err})
}

// LogValue implements slog.LogValuer.
func (m *createMessage) LogValue() slog.Value { return slog.StringValue("create " + m.id.String()) }

// awaitMessage asks for a transaction's first outcome.
type awaitMessage struct{ caller }

// Refuse implements actors.Refusable.
func (m *awaitMessage) Refuse(err error) { m.Answer(reply{err: err}) }

// OnlyWaits implements actors.OutcomeWaiter.
func (m *awaitMessage) OnlyWaits() {}

// LogValue implements slog.LogValuer.
func (m *awaitMessage) LogValue() slog.Value { return slog.StringValue("await") }

// providerAnswer is a provider's answer to a submission or an inquiry. The answer to a charge
// brings the card back, because another terminal or a later step may need it.
type providerAnswer struct {
	actors.Outcome
	terminal  ledger.ID // this field and reference identify the charge
	reference ledger.ID

	inquiry   bool      // the answer is to an inquiry, not to a submission
	early     bool      // the inquiry was made before the record's due instant
	mayArrive bool      // see payment.ProviderAnswer
	reissue   bool      // the inquiry asked the rail to publish the payer's action again
	opID      ledger.ID // the operation on the charge that was submitted or inquired about; zero if it was the charge itself
	card      *secret.Card
}

// Expected implements actors.AnnouncedMessage.
func (*providerAnswer) Expected() {}

// providerReport is a report that a rail sends without being asked.
type providerReport struct{ actors.Report }

// failure returns the rail's reason, with its length bounded.
func (m *providerReport) failure() payment.Failure { return boundedFailure(m.Failure) }

// IsRedelivered implements actors.RedeliveredMessage: the rail sends a report only once, so a panic must not lose it.
func (providerReport) IsRedelivered() {}

var _ actors.RedeliveredMessage = providerReport{}

// operationKind is the kind of an operation on an existing transaction. The zero value is invalid.
type operationKind uint8

const (
	opRefund operationKind = iota + 1
	opCancel
	opCommit
	opComplete
	opChoose
	opContinue
	opPayerReturned
	opReissue
	opPayerCancel
)

// operation asks for an operation on an existing transaction.
type operation struct {
	Command
	caller
	kind         operationKind
	amount       *money.Amount
	material     []byte
	bank         string
	onPayerPage  bool // for opReissue: the request comes from the payer's page
	continuation Continue
	lastRefund   ledger.ID // for opRefund: id of the last refund that the transaction showed before this request
}

// cancels reports whether the operation is a cancel, by the merchant or by the payer.
func (m *operation) cancels() bool { return m.kind == opCancel || m.kind == opPayerCancel }

// Refuse implements actors.Refusable.
func (m *operation) Refuse(err error) {
	m.wipe()
	m.Answer(reply{err: err})
}

// wipe overwrites the secrets of an operation that is not carried out.
func (m *operation) wipe() {
	m.continuation.Card.Wipe()
	clear(m.material)
}

// LogValue implements slog.LogValuer.
func (m *operation) LogValue() slog.Value {
	return slog.StringValue("operation on " + m.ID.String())
}
