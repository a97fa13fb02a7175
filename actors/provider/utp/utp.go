package utp

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Our texts for failures that the other platform did not explain with a text for payers.
const (
	reasonUnreachable        = "The platform could not be reached."
	reasonCredentialsRefused = "The platform refused the credentials."
	reasonRequestRefused     = "The platform refused the request."
	reasonRejected           = "The platform rejected the transaction."
	reasonFailed             = "The transaction failed at the platform."
	reasonTakenBack          = "The money was taken back at the platform."
	reasonCharged            = "The platform has charged it already."
	reasonNotDone            = "The platform did not do it."
)

// Options configure a Provider.
type Options struct {
	Clock clock.Clock // the business clock
	Log   *slog.Logger

	// Timeout is the real time that the request for one page of a list may take. Calls and inquiries
	// are also bounded by the deadline of their context.
	Timeout time.Duration

	// Terminals returns the terminals of this provider, in all organizations.
	Terminals func() []*directory.Terminal
}

// Provider calls other platforms. It is safe for concurrent use.
type Provider struct {
	clock     clock.Clock
	log       *slog.Logger
	timeout   time.Duration
	terminals func() []*directory.Terminal

	reportPageBound int // maximum number of pages that one poll for reports reads

	mu         sync.Mutex
	transports map[connectionKey]*http.Transport // guarded by mu
	pollFrom   map[account]time.Time             // guarded by mu; start of the period that no poll has covered yet
}

var _ actors.Provider = (*Provider)(nil)

// New makes the provider. Connections are opened only when they are needed.
func New(o Options) *Provider {
	return &Provider{
		clock: o.Clock, log: o.Log, timeout: o.Timeout, terminals: o.Terminals, reportPageBound: maxReportPages,
		transports: make(map[connectionKey]*http.Transport), pollFrom: make(map[account]time.Time),
	}
}

// Close closes idle connections.
func (p *Provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.transports {
		t.CloseIdleConnections()
	}
	return nil
}

// Name implements actors.Provider.
func (p *Provider) Name() string { return Name }

// Accepts implements actors.Provider: it accepts every payment method except direct_debit, which needs fields that
// the service does not keep.
func (p *Provider) Accepts(_ actors.Operation, method string) bool {
	_, known := payment.Method([]byte(method))
	return known && method != payment.DirectDebit
}

// Submit implements actors.Provider.
func (p *Provider) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	assert.That(call.Operation >= actors.Pay && call.Operation <= actors.Refund, "utp: operation %d", call.Operation)
	switch call.Operation {
	case actors.Pay, actors.PayOut:
		return p.create(ctx, call)
	case actors.Complete:
		return p.complete(ctx, call)
	}
	return p.operate(ctx, call)
}

// create opens the charge.
func (p *Provider) create(ctx context.Context, call *actors.Call) actors.Outcome {
	s := subjectOf(call)
	r := p.exchange(ctx, connectionOf(call.Terminal), &request{method: http.MethodPost, path: transactionsPath, body: createBody(call)})
	if r.succeeded() {
		tx, err := r.transaction()
		if err == nil {
			err = tx.checkCreated(call)
		}
		if err != nil {
			return p.unreadableOutcome(&s, err)
		}
		return p.chargeOutcome(tx, nil)
	}
	return p.failureOutcome(&s, r, true)
}

// Inquire implements actors.Provider.
func (p *Provider) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	s := subject{terminal: q.Terminal, reference: q.Reference, operation: q.Operation, amount: q.Amount, ChargeState: q.ChargeState}
	tx, o := p.find(ctx, &s)
	if tx == nil {
		return o
	}
	if s.createsCharge() {
		if id, _ := storedIDs(s.Meta); id == "" && tx.status == statusAction && !s.ActionKnown {
			// In a list, a transaction may lack the payer's action. Therefore the transaction is read again by its id.
			if tx, o = p.read(ctx, &s, tx.id); tx == nil {
				return o
			}
		}
		return p.chargeOutcome(tx, &s.ChargeState)
	}
	return p.operationOutcome(tx, &s, false)
}

// Reissue implements Reissuer of actors/payment: it only reads the transaction, because each read
// returns fresh material (what the payer must sign or answer) and a fresh address of the payer's page.
func (p *Provider) Reissue(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	again := *q
	again.ActionKnown = false
	return p.Inquire(ctx, &again)
}

// subject is the charge, or the operation on a charge, that a request is about.
type subject struct {
	terminal  *directory.Terminal
	reference ledger.ID
	operation actors.Operation
	amount    money.Amount // the captured or refunded amount
	actors.ChargeState
}

func subjectOf(call *actors.Call) subject {
	return subject{terminal: call.Terminal, reference: call.Reference, operation: call.Operation, amount: call.Amount, ChargeState: call.ChargeState}
}

func (s *subject) createsCharge() bool {
	return s.operation == actors.Pay || s.operation == actors.PayOut
}

// failureOutcome returns the outcome of a request (a submission or an inquiry) that did not succeed. If the platform
// has definitely refused a submission, the verdict is refused, because the charge was not created or the operation
// was not carried out.
func (p *Provider) failureOutcome(s *subject, r *reply, isSubmission bool) actors.Outcome {
	switch {
	case !r.mayHaveArrived && isSubmission:
		p.logFailure(slog.LevelWarn, "a platform can't be reached", s, r)
		return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: processingError(reasonUnreachable), Unreachable: true}
	case !r.answered():
		p.logFailure(slog.LevelWarn, "a platform did not answer", s, r)
		return actors.Outcome{Verdict: payment.VerdictUnknown, Unreachable: true}
	case r.credentialsRefused():
		p.logFailure(slog.LevelError, "a platform refused the credentials", s, r)
		return actors.Outcome{Verdict: refusalVerdict(isSubmission), Failure: processingError(reasonCredentialsRefused)}
	case r.definitelyRefused() && isSubmission:
		p.logFailure(slog.LevelError, "a platform refused a request", s, r)
		return actors.Outcome{Verdict: payment.VerdictRefused, Failure: processingError(reasonRequestRefused)}
	}
	p.logFailure(slog.LevelWarn, "a platform gave no usable answer", s, r)
	return actors.Outcome{Verdict: payment.VerdictUnknown, Unreachable: r.status >= http.StatusInternalServerError}
}

// refusalVerdict returns the verdict after a definite refusal. If an inquiry was refused, the verdict is
// unknown, because this says nothing about the charge.
func refusalVerdict(isSubmission bool) payment.Verdict {
	if isSubmission {
		return payment.VerdictRefused
	}
	return payment.VerdictUnknown
}

// unreadableOutcome logs that a response cannot be parsed or is about another transaction, and returns the outcome "unknown".
func (p *Provider) unreadableOutcome(s *subject, err error) actors.Outcome {
	p.log.Error("a platform's answer can't be read", "reference", s.reference.String(), "terminal", s.terminal.ID.String(),
		"operation", s.operation.String(), "error", err)
	return actors.Outcome{Verdict: payment.VerdictUnknown}
}

// logFailure logs a failed request for an operator. The log line contains no part of the request's
// body, and only the status and the code of the response.
func (p *Provider) logFailure(level slog.Level, text string, s *subject, r *reply) {
	p.log.Log(context.Background(), level, text, "reference", s.reference.String(), "terminal", s.terminal.ID.String(),
		"operation", s.operation.String(), "status", r.status, "code", r.code(), "error", r.fault)
}
