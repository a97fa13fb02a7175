package subscription

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
	"mizan/posting"
)

// Payments charges the stored credentials of earlier payments. Package actors/payment implements it.
type Payments interface {
	// Payment returns the transaction with this id, whatever its partner. It returns false if there is no such transaction.
	Payment(org, id ledger.ID) (*payment.Record, bool, error)
	// Renew begins the payment of a renewal, unless it exists already. In a crash the request to begin it may be lost.
	Renew(actors.Renewal)
	// ChargeProgress returns the state of a renewal's payment.
	ChargeProgress(org, id ledger.ID) (actors.ChargeProgress, error)
	// OnRenewal registers a function that is called, at least once, when a renewal's payment has
	// ended.
	OnRenewal(fn func(org ledger.ID, r *payment.Renewal, transaction ledger.ID, paid bool))
}

// Directory finds organizations and partners, and the addresses of their notifications. Package actors/directory implements it.
type Directory interface {
	actors.Addresses
	Organization(org ledger.ID) (*directory.Organization, bool)
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
}

// commandWait is the maximum real time that a request waits until its write is done. After this time the error
// says that the write may or may not be done.
const commandWait = 15 * time.Second

// Options configure the service.
type Options struct {
	Runtime   *actors.Runtime
	Payments  Payments
	Directory Directory
}

// Service creates, reads, changes and renews subscriptions.
type Service struct {
	runtime   *actors.Runtime
	payments  Payments
	directory Directory
	registry  *actors.Registry[actors.RecordKey]
}

// New registers the service with the runtime. Start the runtime afterwards.
func New(o Options) *Service {
	s := &Service{runtime: o.Runtime, payments: o.Payments, directory: o.Directory}
	s.registry = actors.NewRegistry(o.Runtime, "subscription", 0, func(k actors.RecordKey) actors.Behaviour {
		return &subscriptionActor{service: s, key: k}
	})
	o.Runtime.HandleDue(ledger.Subscription, func(d actors.Due) { s.registry.Tell(d.Key, d) })
	o.Payments.OnRenewal(func(org ledger.ID, r *payment.Renewal, transaction ledger.ID, paid bool) {
		s.registry.Tell(actors.RecordKey{Org: org, ID: r.Subscription}, renewalEnded{transaction, paid})
	})
	return s
}

// Result is a subscription in its current state or, for a repeated request, in the state that the first reply showed.
type Result struct {
	Record *subscription.Record // read only
	Header posting.RecordHeader // Header.StartedAt is the creation time of the subscription
	Replay bool                 // an earlier request had the same idempotency key
}

// Create is a partner's request for a new subscription.
type Create struct {
	Org     ledger.ID
	Partner int64
	Terms   subscription.Terms
	Key     actors.Key
	Author  ledger.Author
	Origin  tracing.Origin

	// Malformed is true if the request could not be parsed completely. Create then still checks the
	// terms, so that Refuse is called for every fault, and returns ErrTerms.
	Malformed bool
	// Refuse is called for each fault of the terms, with the name of the field.
	Refuse func(field, detail string)
}

// ErrTerms says that the terms are malformed, or that Create.Refuse was called with their faults.
var ErrTerms = errors.New("the terms are refused")

// Create creates a subscription. It returns ErrTerms if the terms are refused, and the *ledger.Refusal Conflict if
// the key was used for another request.
func (s *Service) Create(c Create) (Result, error) {
	if r, wasUsed, err := s.cachedReply(c.Org, &c.Key); wasUsed || err != nil {
		return r, err
	}
	credential, found, err := s.findCredential(&c)
	if err != nil {
		return Result{}, err
	}
	refused := c.Malformed
	c.Terms.Check(credential, found, func(field, detail string) {
		refused = true
		c.Refuse(field, detail)
	})
	if refused {
		return Result{}, ErrTerms
	}
	id := uuid.New()
	m := &createMessage{caller: &caller{key: &c.Key, author: c.Author, origin: c.Origin}, partner: c.Partner, terms: c.Terms, credential: credential}
	return s.ask(actors.RecordKey{Org: c.Org, ID: id}, m.caller, m)
}

// findCredential returns the stored credential of the initial payment. If the partner has no such payment, found is false.
func (s *Service) findCredential(c *Create) (credential subscription.Credential, found bool, err error) {
	r, found, err := s.payments.Payment(c.Org, c.Terms.InitialPayment)
	if err != nil || !found || r.Partner != c.Partner {
		return credential, false, err
	}
	isCharged := r.Type == payment.Payment && r.Status == payment.Charged
	return subscription.Credential{Terminal: r.Terminal, Asset: r.Asset, Charged: isCharged, HasToken: r.HasCredential()}, true, nil
}

// Command is a partner's request about one of its subscriptions.
type Command struct {
	Org     ledger.ID
	Partner int64
	ID      ledger.ID
	Key     actors.Key
	Author  ledger.Author
	Origin  tracing.Origin
}

// Pause stops renewals until Resume. It returns the *ledger.Refusal Conflict if the subscription is already paused or
// cancelled, and NotFound if the partner has no subscription with this id.
func (s *Service) Pause(c Command) (Result, error) { return s.execute(c, subscription.Pause) }

// Resume continues a paused subscription. It returns the *ledger.Refusal Conflict if the subscription is not
// paused, and NotFound if the partner has no subscription with this id.
func (s *Service) Resume(c Command) (Result, error) { return s.execute(c, subscription.Resume) }

// Cancel ends a subscription permanently. It returns the *ledger.Refusal Conflict if the subscription is already
// cancelled, and NotFound if the partner has no subscription with this id.
func (s *Service) Cancel(c Command) (Result, error) { return s.execute(c, subscription.Cancel) }

func (s *Service) execute(c Command, event subscription.Event) (Result, error) {
	if r, wasUsed, err := s.cachedReply(c.Org, &c.Key); wasUsed || err != nil {
		return r, err
	}
	if _, err := s.Read(c.Org, c.Partner, c.ID); err != nil {
		return Result{}, err // no actor is started for an unknown id, or for another partner's subscription
	}
	m := &commandMessage{caller: &caller{key: &c.Key, author: c.Author, origin: c.Origin}, event: event}
	return s.ask(actors.RecordKey{Org: c.Org, ID: c.ID}, m.caller, m)
}

// ask sends a message to the subscription's actor and waits for its reply.
func (s *Service) ask(key actors.RecordKey, c *caller, m actors.Refusable) (Result, error) {
	if err := s.registry.Command(key, m); err != nil {
		return Result{}, err
	}
	r, answered := c.Wait(time.Now().Add(commandWait))
	switch {
	case !answered:
		return Result{}, ledger.Refuse("subscription.Command", ledger.Unavailable, "no answer in time; the requested change may or may not be done")
	case ledger.IsRefusal(r.err, ledger.ClaimTaken): // another request with the same key was faster
		repeated, wasUsed, err := s.cachedReply(key.Org, c.key)
		if err == nil && !wasUsed {
			err = r.err
		}
		return repeated, err
	}
	return r.result, r.err
}

// cachedReply returns the stored reply to the first request with this key. If no request had the key, it
// returns false. If the stored reply is damaged, it returns the subscription's current state instead.
func (s *Service) cachedReply(org ledger.ID, key *actors.Key) (Result, bool, error) {
	if key.IsZero() {
		return Result{}, false, nil
	}
	view := s.runtime.Journal.View()
	defer view.Close()
	source, sealedReply, found, err := key.Find(view, org)
	if err != nil || !found {
		return Result{}, false, err
	}
	id, progress, err := s.claimedReply(org, key, sealedReply)
	if err != nil {
		id = source.ID
	}
	r, found, loadErr := load(view, org, id)
	if loadErr != nil || !found || key.Scope != actors.PartnerKeyScope(r.Record.Partner) {
		return Result{}, false, errors.Join(loadErr, notFoundError())
	}
	if r.Replay = true; err == nil {
		r.Record.Progress = progress
	}
	return r, true, nil
}

// claimedReply decrypts the reply that is stored with a key, and returns the subscription's id and progress in
// it. If the reply is damaged, claimedReply raises an alarm and returns an error.
func (s *Service) claimedReply(org ledger.ID, key *actors.Key, sealedReply []byte) (id ledger.ID, progress subscription.Progress, err error) {
	replyID := ReplyID(org, key.ClaimKey())
	plaintext, err := s.runtime.OpenReply(actors.SubscriptionReply, org, replyID, sealedReply)
	if err == nil {
		id, progress, err = readReply(plaintext)
	}
	if err != nil {
		s.runtime.LogUnreadableReply(org, replyID, err)
	}
	return id, progress, err
}

// Read returns the current state of a partner's subscription. It returns the *ledger.Refusal NotFound
// if the partner has no subscription with this id.
func (s *Service) Read(org ledger.ID, partner int64, id ledger.ID) (Result, error) {
	view := s.runtime.Journal.View()
	defer view.Close()
	r, found, err := load(view, org, id)
	if err == nil && (!found || r.Record.Partner != partner) {
		err = notFoundError()
	}
	if err != nil {
		return Result{}, err
	}
	return r, nil
}

func notFoundError() error {
	return ledger.Refuse("subscription.Read", ledger.NotFound, "no such subscription")
}

func load(view *posting.View, org, id ledger.ID) (Result, bool, error) {
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Subscription, ID: id})
	if err != nil || !found {
		return Result{}, false, err
	}
	r, err := Decode(id, stored.Payload)
	return Result{Record: r, Header: stored.Header}, err == nil, err
}

// mayRenew tells whether a partner's subscriptions may be renewed: the partner and its organization must be active.
func (s *Service) mayRenew(org ledger.ID, partner int64) bool {
	o, orgExists := s.directory.Organization(org)
	p, partnerExists := s.directory.Partner(org, partner)
	return orgExists && partnerExists && o.Active() && p.Active
}
