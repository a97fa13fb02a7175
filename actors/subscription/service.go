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

// Payments charges stored credentials of earlier payments; actors/payment implements it.
type Payments interface {
	// Payment returns a stored transaction of any partner; false if it does not exist.
	Payment(org, id ledger.ID) (*payment.Record, bool, error)
	// Renew begins a renewal's payment, unless the payment exists. The request may be lost.
	Renew(actors.Renewal)
	// Charge returns the state of a renewal's payment.
	Charge(org, id ledger.ID) (actors.Charge, error)
	// OnRenewal registers a function that is called, at least once, when a renewal's payment has
	// ended.
	OnRenewal(fn func(org ledger.ID, r *payment.Renewal, transaction ledger.ID, paid bool))
}

// Directory tells which partners are active and where their notifications go; actors/directory implements it.
type Directory interface {
	actors.Addresses
	Organization(org ledger.ID) (*directory.Organization, bool)
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
}

// commandWait is how long a partner waits for a write, in real time; afterwards the error says that the write may
// or may not be done.
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

// Result is a subscription in its current state, or in the state of a cached reply.
type Result struct {
	Record *subscription.Record // read only
	Stamp  posting.Stamp        // Stamp.Started is when the subscription was created
	Replay bool                 // the idempotency key was used before
}

// Create is a partner's request for a new subscription.
type Create struct {
	Org     ledger.ID
	Partner int64
	Terms   subscription.Terms
	Key     actors.Key
	Author  ledger.Author
	Origin  tracing.Origin

	// Malformed says that the request could not be parsed completely. Create then checks the terms, so
	// that Refuse is called with all faults, and returns ErrTerms.
	Malformed bool
	// Refuse is called with each fault of the terms, by field.
	Refuse func(field, detail string)
}

// ErrTerms says that the terms are malformed, or that Create.Refuse was called with their faults.
var ErrTerms = errors.New("the terms are refused")

// Create creates a subscription. The error is ErrTerms, or a *ledger.Refusal: Conflict for a key
// that was used for another request.
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

// findCredential returns the stored credential of the initial payment; found is false if the partner
// has no such payment.
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

// Pause stops renewals until Resume. Errors are *ledger.Refusal: Conflict for a subscription that
// is paused or cancelled, NotFound for an unknown id and for the id of another partner's
// subscription.
func (s *Service) Pause(c Command) (Result, error) { return s.execute(c, subscription.Pause) }

// Resume continues a paused subscription. The errors are those of Pause, but Conflict means that the subscription
// is not paused.
func (s *Service) Resume(c Command) (Result, error) { return s.execute(c, subscription.Resume) }

// Cancel ends a subscription permanently. The errors are those of Pause, but Conflict means that the subscription
// is cancelled already.
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
	case ledger.IsRefusal(r.err, ledger.ClaimTaken): // another request with the key was faster
		repeated, wasUsed, err := s.cachedReply(key.Org, c.key)
		if err == nil && !wasUsed {
			err = r.err
		}
		return repeated, err
	}
	return r.result, r.err
}

// cachedReply looks up whether a caller's key was used before, and returns the reply to the request that
// used it. If the stored reply is damaged, cachedReply returns the subscription's current state instead.
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

// claimedReply decrypts the reply that is stored with a key and returns its content: the subscription's id and
// its progress. Before it returns an error, it raises an alarm.
func (s *Service) claimedReply(org ledger.ID, key *actors.Key, sealedReply []byte) (id ledger.ID, progress subscription.Progress, err error) {
	replyID := ReplyID(org, key.ClaimKey())
	plaintext, err := s.runtime.OpenReply(actors.SubscriptionReply, org, replyID, sealedReply)
	if err == nil {
		id, progress, err = readReply(plaintext)
	}
	if err != nil {
		s.runtime.AlarmUnreadableReply(org, replyID, err)
	}
	return id, progress, err
}

// Read returns a partner's subscription as stored. The id of another partner's subscription is refused
// like an unknown one.
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
	return Result{Record: r, Stamp: stored.Stamp}, err == nil, err
}

// mayRenew tells whether a partner's subscriptions may be renewed: the partner and its organization must be active.
func (s *Service) mayRenew(org ledger.ID, partner int64) bool {
	o, orgExists := s.directory.Organization(org)
	p, partnerExists := s.directory.Partner(org, partner)
	return orgExists && partnerExists && o.Active() && p.Active
}
