package payment

import (
	"fmt"
	"strconv"
	"time"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
)

// Directory finds the stored settings of organizations and partners; actors/directory implements it.
type Directory interface {
	Organization(org ledger.ID) (*directory.Organization, bool)
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
	// Terminals returns a partner's terminals by priority, then by id, in a slice that never changes.
	Terminals(org ledger.ID, partner int64) []*directory.Terminal
	Terminal(org, id ledger.ID) (*directory.Terminal, bool)
	Rate(org ledger.ID, from, to money.Currency) (money.Rate, bool)

	// Limits returns a partner's active limits, in a slice that never changes.
	Limits(org ledger.ID, partner int64) []*directory.Limit
	// HasBlocks reports whether the block list has any entry.
	HasBlocks(org ledger.ID) bool
	// Blocked reports whether an entry of the block list matches the payer. kind is the kind of the first
	// such entry.
	Blocked(org ledger.ID, p *directory.Payer) (kind string, blocked bool)
}

// Admission refuses a payout early if its account certainly cannot cover it, and counts attempts for the
// velocity limits; actors/account implements it. Results are passed to the callback answer, because they may
// take a while.
type Admission interface {
	// CheckFunds checks whether the amount may leave the account now.
	CheckFunds(org ledger.ID, account ledger.Account, amount, overdraft money.Amount, answer func(admitted bool))
	// Count counts an attempt. It passes to answer the first limit that the attempt exceeds, or nil if there
	// is none. The function repeats, which may be nil, reports whether the attempt repeats one that is
	// already stored.
	Count(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt, repeats func() (bool, error),
		answer func(breached *directory.Limit, err error))
	// CountNow counts the attempt at once if no limit could refuse the attempt.
	CountNow(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) (counted bool)
	// Uncount removes a counted attempt.
	Uncount(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt)
}

// Sealer encrypts the cards that a later step needs; *secret.Keyring implements it. The context
// binds the ciphertext to its record.
type Sealer interface {
	SealCard(card *secret.Card, context []byte) ([]byte, error)
	OpenCard(sealed, context []byte) (*secret.Card, error)
}

var _ Sealer = (*secret.Keyring)(nil)

// Options configure the service.
type Options struct {
	Runtime           *actors.Runtime
	Directory         Directory
	Admission         Admission
	Sealer            Sealer
	Providers         map[string]actors.Provider
	Addresses         actors.Addresses  // if nil, no merchant is notified
	CanReachOperators CanReachOperators // if nil, no operator is alerted
	SendsReceipts     bool              // payers get the addresses of their receipts by e-mail
	CreateWait        time.Duration     // the create-wait: how long a request waits for its first outcome, in real time
	ProviderTimeout   time.Duration     // a call is stopped after this real time; without an outcome, an inquiry follows after this time by the runtime's clock
	ActionTTL         time.Duration     // time, by the runtime's clock, within which a payer must act
	Breaker           Breaker           // settings of the terminals' circuit breakers

	// ReturnURL, if set, returns the address to which a rail sends the payer after the payer has acted.
	ReturnURL func(org, id ledger.ID, until time.Time) string

	// MayCall, if set, is called before each operation is sent to a provider. If it returns an error, the operation is not sent,
	// and its outcome counts as unknown: in a cluster, another node may have taken over and asked the provider about it.
	MayCall func(org ledger.ID) error

	// NotFoundCounts, if set, is called before each inquiry. If it returns false, an answer that the provider does not know the
	// operation proves nothing: in a cluster, an operation that an earlier leader has sent may still be on its way.
	NotFoundCounts func(org ledger.ID) bool

	// ObserveCall, if set, is called after every call and inquiry to a provider, on any goroutine.
	ObserveCall func(ProviderCall)

	// Tracer records a hop (a span of a trace) for every call and inquiry to a provider. If it is nil, no hops are
	// recorded.
	Tracer *tracing.Tracer

	// Observe, if set, is called on the actor's goroutine after every durable change of a transaction's
	// status. from is the previous status, or payment.Absent if the transaction is new. Observe must not
	// modify the record.
	Observe func(org ledger.ID, from payment.Status, r *payment.Record)
}

// Service creates, reads and changes transactions.
type Service struct {
	rt                *actors.Runtime
	directory         Directory
	admission         Admission
	sealer            Sealer
	providers         map[string]actors.Provider
	addresses         actors.Addresses
	canReachOperators CanReachOperators
	sendsReceipts     bool
	createWait        time.Duration
	providerTimeout   time.Duration
	actionTTL         time.Duration
	returnURL         func(org, id ledger.ID, until time.Time) string
	mayCall           func(org ledger.ID) error
	notFoundCounts    func(org ledger.ID) bool
	resetPolls        []func() // see PollAgain; written only before the runtime starts
	registry          *actors.Registry[actors.RecordKey]
	circuits          *circuits
	volumes           admission.BoundCache
	onRenewal         func(org ledger.ID, r *payment.Renewal, transaction ledger.ID, paid bool) // set before the runtime starts
	observe           func(ledger.ID, payment.Status, *payment.Record)
	observeCall       func(ProviderCall)
	tracer            *tracing.Tracer
	origins           *tracing.OriginCache[actors.RecordKey]
}

// New registers the service with the runtime. Start the runtime afterwards.
func New(o Options) *Service {
	s := &Service{
		rt: o.Runtime, directory: o.Directory, admission: o.Admission, sealer: o.Sealer, providers: o.Providers, addresses: o.Addresses, canReachOperators: o.CanReachOperators, sendsReceipts: o.SendsReceipts,
		createWait: o.CreateWait, providerTimeout: o.ProviderTimeout, actionTTL: o.ActionTTL, returnURL: o.ReturnURL, mayCall: o.MayCall, notFoundCounts: o.NotFoundCounts, observe: o.Observe,
		observeCall: o.ObserveCall, tracer: o.Tracer, origins: tracing.NewOriginCache[actors.RecordKey](maxOrigins),
		circuits: newCircuits(o.Breaker, o.Runtime),
	}
	s.registry = actors.NewRegistry(o.Runtime, "payment", 0, func(k actors.RecordKey) actors.Behaviour {
		t := &transaction{service: s, key: k}
		t.waiters = t.waiterMemory[:0]
		return t
	})
	o.Runtime.HandleDue(ledger.Transaction, func(d actors.Due) { s.registry.Tell(d.Key, d) })
	for _, p := range o.Providers {
		s.schedulePolls(p)
	}
	return s
}

// ResumesAtStart reports whether an item of due work is handled when the runtime starts, even before the due
// instant. This is true for all transactions, so that providers are asked for results early.
func ResumesAtStart(item posting.DueItem) bool { return item.Source.Kind == ledger.Transaction }

// Create creates a transaction and waits for its first outcome, at most for Options.CreateWait (the create-wait). The error
// is a *ledger.Refusal. If Create returns an error, no transaction is stored, except perhaps if the error's code is
// Internal or, after the create-wait, Unavailable.
func (s *Service) Create(c Create) (Result, error) {
	if existing, found, err := s.findByKey(c.Org, &c.Key); found || err != nil {
		c.Card.Wipe()
		if err != nil {
			return Result{}, err
		}
		return s.replay(c.Org, c.Partner.Number, existing, &c.Key, c.Author)
	}
	deadline := time.Now().Add(s.createWait)
	id := s.rt.NewTransactionID()
	m := &createMessage{Create: c, id: id}
	if err := s.registry.Command(actors.RecordKey{Org: c.Org, ID: id}, m); err != nil {
		c.Card.Wipe()
		return Result{}, err
	}
	r, answered := m.wait(deadline)
	switch {
	case !answered:
		r.result, r.err = s.currentState(c.Org, id)
	case r.existing != (ledger.ID{}) && r.byKey:
		return s.replay(c.Org, c.Partner.Number, r.existing, &c.Key, c.Author)
	case r.existing != (ledger.ID{}):
		return s.awaitFirstOutcome(c.Org, c.Partner.Number, r.existing, deadline)
	}
	if r.err != nil {
		return Result{}, r.err
	}
	return s.storeCachedReply(c.Org, &c.Key, c.Author, r.result)
}

// findByKey finds the transaction of the first request with an idempotency key.
func (s *Service) findByKey(org ledger.ID, key *actors.Key) (id ledger.ID, found bool, err error) {
	if key.IsZero() {
		return id, false, nil
	}
	view := s.rt.Journal.View()
	defer view.Close()
	source, _, found, err := key.Find(view, org)
	return source.ID, found, err
}

// replay returns the reply that the first request with the same key got. If that reply can't be decrypted, or
// was not stored because the process ended first, replay returns the current state of the first request's
// transaction.
func (s *Service) replay(org ledger.ID, partner int64, id ledger.ID, key *actors.Key, author ledger.Author) (Result, error) {
	stored, state, err := s.cachedReply(org, key)
	if err != nil || state == replyReadable {
		stored.Replay = true
		return stored, err
	}
	deadline := time.Now().Add(s.createWait)
	result, err := s.awaitFirstOutcome(org, partner, id, deadline)
	if err == nil {
		err = refuseUndecided(result.Record)
	}
	if err != nil {
		return Result{}, err
	}
	if state == replyUnreadable {
		return result, nil // a reply record with this key's id exists, so no other can be stored
	}
	return s.storeCachedReply(org, key, author, result)
}

// awaitFirstOutcome waits until the transaction of a repeated request has its first outcome, or until
// the deadline.
func (s *Service) awaitFirstOutcome(org ledger.ID, partner int64, id ledger.ID, deadline time.Time) (Result, error) {
	result, err := s.Read(org, partner, id)
	if err == nil && !result.Record.HasAnswer() {
		m := new(awaitMessage)
		if err := s.registry.Command(actors.RecordKey{Org: org, ID: id}, m); err != nil {
			return Result{}, err
		}
		if r, answered := m.wait(deadline); answered {
			result, err = r.result, r.err
		} else {
			result, err = s.currentState(org, id)
		}
	}
	result.Replay = true
	return result, err
}

// currentState returns a transaction's state after the create-wait is over.
func (s *Service) currentState(org, id ledger.ID) (Result, error) {
	result, found, err := s.load(org, id)
	if err != nil {
		return Result{}, err
	}
	if !found {
		return Result{}, ledger.Refuse("payment.Create", ledger.Unavailable, "the transaction is not stored yet; ask again with the same txid")
	}
	return result, nil
}

// Read returns a partner's transaction as stored. For another partner's transaction the error is the
// same as for an unknown id.
func (s *Service) Read(org ledger.ID, partner int64, id ledger.ID) (Result, error) {
	result, err := s.Find(org, id)
	if err == nil && result.Record.Partner != partner {
		return Result{}, errNotFound()
	}
	return result, err
}

// Find returns a stored transaction of any partner.
func (s *Service) Find(org, id ledger.ID) (Result, error) {
	result, found, err := s.load(org, id)
	if err == nil && !found {
		err = errNotFound()
	}
	return result, err
}

// Methods returns the methods that the payer of a hosted transaction can choose now. A method can be chosen if the
// transaction would find a terminal for it. The methods are in the order in which terminals are tried.
func (s *Service) Methods(org ledger.ID, r *payment.Record) []payment.Offer {
	partner, known := s.directory.Partner(org, r.Partner)
	organization, exists := s.directory.Organization(org)
	if !known || !exists || !partner.Active || !organization.Active() {
		return nil
	}
	request := r.Request
	search := admission.TerminalSearch{Org: org, Partner: partner, Request: &request, At: ledger.MicrosOf(s.rt.Clock.Now())}
	return search.Methods(s.directory.Terminals(org, r.Partner), rails{s})
}

func errNotFound() error {
	return ledger.Refuse("payment.Read", ledger.NotFound, "no such transaction")
}

func (s *Service) load(org, id ledger.ID) (Result, bool, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Transaction, ID: id})
	if err != nil || !found {
		return Result{}, false, err
	}
	record, err := paymentcodec.Decode(stored.Payload)
	if err != nil {
		return Result{}, false, fmt.Errorf("transaction %v: %w", id, err)
	}
	record.FinishedAt = stored.Header.FinishedAt
	return Result{Record: record, Header: stored.Header}, true, nil
}

// TxIDKey returns the claim key of a partner's txid.
func TxIDKey(partner int64, txid string) string {
	return strconv.FormatInt(partner, 10) + "/" + txid
}
