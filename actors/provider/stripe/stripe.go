package stripe

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
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

// Options configure a Provider.
type Options struct {
	Clock clock.Clock // the business clock
	Log   *slog.Logger

	// Timeout is the real time that one request of a poll may take. Calls and inquiries are also bounded by the deadline of
	// their context.
	Timeout time.Duration

	// Terminals returns the terminals of this provider, in all organizations.
	Terminals func() []*directory.Terminal
}

// Provider charges through Stripe accounts. It is safe for concurrent use.
type Provider struct {
	clock     clock.Clock
	log       *slog.Logger
	timeout   time.Duration
	terminals func() []*directory.Terminal

	reportPageBound int // maximum number of pages that one poll reads

	mu         sync.Mutex
	transports map[string]*http.Transport // guarded by mu; by the address of the API
	clients    map[accountKey]*client     // guarded by mu
	polls      map[accountKey]poll        // guarded by mu
}

var (
	_ actors.Provider           = (*Provider)(nil)
	_ actors.NotificationReader = (*Provider)(nil)
)

// New makes the provider. Connections are opened only when they are needed.
func New(o Options) *Provider {
	return &Provider{
		clock: o.Clock, log: o.Log, timeout: o.Timeout, terminals: o.Terminals, reportPageBound: maxReportPages,
		transports: make(map[string]*http.Transport), clients: make(map[accountKey]*client), polls: make(map[accountKey]poll),
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

// ownBankAccount is the money_storage type of payouts. Stripe pays them to the account's own bank account.
const ownBankAccount = "bank_account"

// Accepts implements actors.Provider: cards and saved cards for payments, and the account's own bank account for payouts.
func (p *Provider) Accepts(operation actors.Operation, method string) bool {
	if operation == actors.PayOut {
		return method == ownBankAccount
	}
	return method == payment.BankCard || method == payment.ProviderToken
}

// Submit implements actors.Provider.
func (p *Provider) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	s := subjectOf(call)
	switch call.Operation {
	case actors.Pay:
		if s.intent != "" {
			return p.confirm(ctx, call, &s)
		}
		return p.prepare(ctx, call, &s)
	case actors.PayOut:
		return p.payOut(ctx, call, &s)
	case actors.Complete:
		return p.inquireCharge(ctx, &s)
	case actors.Refund:
		return p.refund(ctx, call, &s)
	}
	assert.That(call.Operation == actors.Capture || call.Operation == actors.Void, "stripe: operation %d", call.Operation)
	return p.operate(ctx, call, &s)
}

// Inquire implements actors.Provider.
func (p *Provider) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	s := subject{terminal: q.Terminal, reference: q.Reference, operation: q.Operation, request: q.Request, amount: q.Amount, ChargeState: q.ChargeState}
	s.readMeta()
	switch q.Operation {
	case actors.Pay:
		return p.inquireCharge(ctx, &s)
	case actors.PayOut:
		return p.inquirePayout(ctx, &s)
	case actors.Refund:
		return p.inquireRefund(ctx, &s)
	}
	return p.inquireOperation(ctx, &s)
}

// subject is the charge, or the operation on a charge, that a request is about.
type subject struct {
	terminal  *directory.Terminal
	reference ledger.ID
	operation actors.Operation
	request   ledger.ID
	amount    money.Amount // the captured or refunded amount
	actors.ChargeState

	intent       string // the id of the charge's PaymentIntent; empty if it has none yet
	isOffSession bool   // a saved card is charged while no payer is present
	hasElements  bool   // the payer gives the card to Stripe, whose script confirms the intent
}

func subjectOf(call *actors.Call) subject {
	s := subject{
		terminal: call.Terminal, reference: call.Reference, operation: call.Operation, request: call.Request, amount: call.Amount, ChargeState: call.ChargeState,
	}
	s.readMeta()
	return s
}

func (p *Provider) clientOf(s *subject) *client { return p.client(accountOf(connectionOf(s.terminal))) }

// Times for which an idempotency key is used. Stripe forgets a key after 24 hours. So a request that must not be executed twice
// is never sent again when its key is older than keyLifetime. All other requests have keys of the present keyWindow: creating
// another object that is not charged, or capturing or cancelling once more what is captured or cancelled, moves no money.
const (
	keyLifetime = 23 * time.Hour
	keyWindow   = time.Hour
)

// key returns an idempotency key that is always the same. It contains the terminal, because two terminals may share an account.
func (s *subject) key(parts ...string) *string {
	key := keyPrefix + s.terminal.ID.String() + "-" + strings.Join(parts, "-")
	return &key
}

// keyPrefix is the beginning of all idempotency keys.
const keyPrefix = "mizan-"

// windowKey returns an idempotency key that is the same within a keyWindow.
func (p *Provider) windowKey(s *subject, step string) *string {
	window := strconv.FormatInt(p.clock.Now().Truncate(keyWindow).Unix(), 10)
	if s.request != (ledger.ID{}) {
		return s.key(step, s.request.String(), window)
	}
	return s.key(step, s.reference.String(), window)
}

// mayUseKeySince tells whether a key may be sent that was perhaps used at this time first. If it may not, the call is not made: an
// operator has to look at it, and the log says so.
func (p *Provider) mayUseKeySince(s *subject, at time.Time) bool {
	if p.clock.Now().Sub(at) < keyLifetime {
		return true
	}
	p.log.Error("a call to Stripe is too old to be sent again without a risk that it is executed twice: an operator has to look at it",
		"reference", s.reference.String(), "request", s.request.String(), "terminal", s.terminal.ID.String(), "operation", s.operation.String(), "since", at)
	return false
}

// unknown is the outcome of a call whose result has to be inquired.
func unknown(f *fault) actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictUnknown, Unreachable: f.isUnreachable()}
}

// notRefused logs why a call has no usable answer, and returns the outcome of the call, which Stripe has not refused: it was not
// sent if no byte of it can have left, and unknown otherwise.
func (p *Provider) notRefused(call *actors.Call, s *subject, f *fault, step string) actors.Outcome {
	p.logFault(s, f, step)
	if !f.mayHaveArrived && call.Repetition == 0 {
		return notSent(f)
	}
	return unknown(f)
}

// refused is the outcome of a call that was certainly not executed, for this reason.
func refused(code payment.Code) actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: code}}
}

// notSent is the outcome of a call that moves no money, although it may have arrived.
func notSent(f *fault) actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: payment.Failure{Code: payment.ProcessingError}, Unreachable: f.isUnreachable()}
}

// logFault logs a failed request for an operator. The line contains no part of the request, and of the answer only the status
// and Stripe's code.
func (p *Provider) logFault(s *subject, f *fault, step string) {
	level := slog.LevelWarn
	if f.status == http.StatusUnauthorized || f.status == http.StatusForbidden || f.status == http.StatusBadRequest || f.status == http.StatusNotFound {
		level = slog.LevelError
	}
	p.log.Log(context.Background(), level, "a request to Stripe failed", "step", step, "reference", s.reference.String(), "terminal", s.terminal.ID.String(),
		"operation", s.operation.String(), "status", f.status, "code", f.code(), "cause", f.cause)
}
