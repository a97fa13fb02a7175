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

// Reasons that are ours, where the other platform gave none that a payer should read.
const (
	reasonUnreachable = "The platform could not be reached."
	reasonCredentials = "The platform refused the credentials."
	reasonRequest     = "The platform refused the request."
	reasonRejected    = "The platform rejected the transaction."
	reasonFailed      = "The transaction failed at the platform."
	reasonTakenBack   = "The money was taken back at the platform."
	reasonCharged     = "The platform has charged it already."
	reasonNotDone     = "The platform did not do it."
)

// Options are what the provider needs.
type Options struct {
	Clock clock.Clock // the business clock
	Log   *slog.Logger

	// Timeout is how long a page of a list may take, in real time. Calls and inquiries
	// have the deadline of their context besides.
	Timeout time.Duration

	// Connected are the terminals of this provider, of all organizations.
	Connected func() []*directory.Terminal
}

// Provider speaks to other platforms. It is safe for concurrent use.
type Provider struct {
	clock     clock.Clock
	log       *slog.Logger
	timeout   time.Duration
	connected func() []*directory.Terminal

	reportPages int // at most, of one question for reports

	mu     sync.Mutex
	lines  map[line]*http.Transport // guarded by mu
	behind map[account]time.Time    // guarded by mu: from when on a platform is still to be asked for reports
}

var _ actors.Provider = (*Provider)(nil)

// New makes the provider. Nothing is opened before a call.
func New(o Options) *Provider {
	return &Provider{
		clock: o.Clock, log: o.Log, timeout: o.Timeout, connected: o.Connected, reportPages: maxReportPages,
		lines: make(map[line]*http.Transport), behind: make(map[account]time.Time),
	}
}

// Close lets idle connections go.
func (p *Provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.lines {
		t.CloseIdleConnections()
	}
	return nil
}

// Name implements actors.Provider.
func (p *Provider) Name() string { return directory.UTP }

// Accepts implements actors.Provider: every type but the one that needs keys
// which nobody keeps.
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
	r := p.exchange(ctx, call.Terminal.Connection, &request{method: http.MethodPost, path: transactionsPath, body: createBody(call)})
	if r.fine() {
		tx, err := r.transaction()
		if err == nil {
			err = tx.isOf(call)
		}
		if err != nil {
			return p.unreadable(&s, err)
		}
		return p.charge(tx, nil)
	}
	return p.failure(&s, r, true)
}

// Inquire implements actors.Provider.
func (p *Provider) Inquire(ctx context.Context, q *actors.Question) actors.Outcome {
	s := subject{terminal: q.Terminal, reference: q.Reference, operation: q.Operation, amount: q.Amount, Remembered: q.Remembered}
	tx, o := p.find(ctx, &s)
	if tx == nil {
		return o
	}
	if s.opens() {
		if id, _ := kept(s.Meta); id == "" && tx.status == statusAction && !s.Acting {
			// It was found in a list, which does not have to show what the payer needs.
			if tx, o = p.read(ctx, &s, tx.id); tx == nil {
				return o
			}
		}
		return p.charge(tx, &s.Remembered)
	}
	return p.judge(tx, &s, false)
}

// Reissue implements payment.Reissuer of actors: each read of the other platform's
// transaction has fresh material and a fresh address of its page.
func (p *Provider) Reissue(ctx context.Context, q *actors.Question) actors.Outcome {
	again := *q
	again.Acting = false
	return p.Inquire(ctx, &again)
}

// subject is what a request is about.
type subject struct {
	terminal  *directory.Terminal
	reference ledger.ID
	operation actors.Operation
	amount    money.Amount // what is captured or refunded
	actors.Remembered
}

func subjectOf(call *actors.Call) subject {
	return subject{terminal: call.Terminal, reference: call.Reference, operation: call.Operation, amount: call.Amount, Remembered: call.Remembered}
}

func (s *subject) opens() bool { return s.operation == actors.Pay || s.operation == actors.PayOut }

// failure is what a request came to that was not answered with what was asked for.
// A charge that is opened is refused by a definite answer; so is an operation.
func (p *Provider) failure(s *subject, r *reply, submits bool) actors.Outcome {
	switch {
	case !r.sent && submits:
		p.note(slog.LevelWarn, "a platform can't be reached", s, r)
		return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: processing(reasonUnreachable), Down: true}
	case !r.answered():
		p.note(slog.LevelWarn, "a platform did not answer", s, r)
		return actors.Outcome{Verdict: payment.VerdictUnknown, Down: true}
	case r.credentials():
		p.note(slog.LevelError, "a platform refused the credentials", s, r)
		return actors.Outcome{Verdict: refusedIf(submits), Failure: processing(reasonCredentials)}
	case r.definite() && submits:
		p.note(slog.LevelError, "a platform refused a request", s, r)
		return actors.Outcome{Verdict: payment.VerdictRefused, Failure: processing(reasonRequest)}
	}
	p.note(slog.LevelWarn, "a platform gave no usable answer", s, r)
	return actors.Outcome{Verdict: payment.VerdictUnknown, Down: r.status >= http.StatusInternalServerError}
}

// refusedIf is what a definite refusal means: a question that is refused says
// nothing of what it asks about.
func refusedIf(submits bool) payment.Verdict {
	if submits {
		return payment.VerdictRefused
	}
	return payment.VerdictUnknown
}

// unreadable is for an answer that came and can't be believed: nobody knows what
// was done.
func (p *Provider) unreadable(s *subject, err error) actors.Outcome {
	p.log.Error("a platform's answer can't be read", "reference", s.reference.String(), "terminal", s.terminal.ID.String(),
		"operation", s.operation.String(), "error", err)
	return actors.Outcome{Verdict: payment.VerdictUnknown}
}

// note logs what an operator has to know of a failed request: nothing of its body,
// and of the answer only its status and code.
func (p *Provider) note(level slog.Level, text string, s *subject, r *reply) {
	p.log.Log(context.Background(), level, text, "reference", s.reference.String(), "terminal", s.terminal.ID.String(),
		"operation", s.operation.String(), "status", r.status, "code", r.code(), "error", r.fault)
}
