package subscription

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
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
	// Renew begins a renewal's payment, unless it exists. The request may be lost.
	Renew(actors.Renewal)
	// Charge returns the state of a renewal's payment.
	Charge(org, id ledger.ID) (actors.Charge, error)
	// OnRenewal registers a function that is called, at least once, when a renewal's payment has
	// ended.
	OnRenewal(fn func(org ledger.ID, r *payment.Renewal, transaction ledger.ID, paid bool))
}

// Directory tells who may be renewed and who is notified; actors/directory implements it.
type Directory interface {
	actors.Addresses
	Organization(org ledger.ID) (*directory.Organization, bool)
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
}

// commandWait is how long a partner's write may take, in real time; afterwards it is unknown
// whether it was carried out.
const commandWait = 15 * time.Second

// Options configure the service.
type Options struct {
	Runtime   *actors.Runtime
	Payments  Payments
	Directory Directory
}

// Service creates, reads, changes and renews subscriptions.
type Service struct {
	rt        *actors.Runtime
	payments  Payments
	directory Directory
	registry  *actors.Registry[actors.RecordKey]
}

// New registers the service with the runtime. Start the runtime afterwards.
func New(o Options) *Service {
	s := &Service{rt: o.Runtime, payments: o.Payments, directory: o.Directory}
	s.registry = actors.NewRegistry(o.Runtime, "subscription", 0, func(k actors.RecordKey) actors.Behaviour {
		return &subscriptionActor{service: s, key: k}
	})
	o.Runtime.Wake(ledger.Subscription, func(d actors.Due) { s.registry.Tell(d.Key, d) })
	o.Payments.OnRenewal(func(org ledger.ID, r *payment.Renewal, transaction ledger.ID, paid bool) {
		s.registry.Tell(actors.RecordKey{Org: org, ID: r.Subscription}, renewalEnded{transaction, paid})
	})
	return s
}

// Result is a subscription in its current state, or in the state of a cached reply.
type Result struct {
	Record *subscription.Record // read only
	Stamp  posting.Stamp        // Started is when it was created
	Replay bool                 // the idempotency key was used before
}

// Create is a request for a new subscription of a partner.
type Create struct {
	Org     ledger.ID
	Partner int64
	Terms   subscription.Terms
	Key     actors.Key

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
	if r, used, err := s.cachedReply(c.Org, &c.Key); used || err != nil {
		return r, err
	}
	credential, found, err := s.credential(&c)
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
	m := &create{caller: newCaller(&c.Key), partner: c.Partner, terms: c.Terms, credential: credential}
	return s.ask(actors.RecordKey{Org: c.Org, ID: id}, m.caller, m)
}

// credential returns the stored credential of the initial payment; found is false if the partner
// has no such payment.
func (s *Service) credential(c *Create) (stored subscription.Credential, found bool, err error) {
	r, found, err := s.payments.Payment(c.Org, c.Terms.Initial)
	if err != nil || !found || r.Partner != c.Partner {
		return stored, false, err
	}
	charged := r.Type == payment.Payment && r.Status == payment.Charged
	return subscription.Credential{Terminal: r.Terminal, Asset: r.Asset, Charged: charged, Stored: r.HasCredential()}, true, nil
}

// Command is a partner's request about one of its subscriptions.
type Command struct {
	Org     ledger.ID
	Partner int64
	ID      ledger.ID
	Key     actors.Key
}

// Pause stops renewals until Resume. Errors are *ledger.Refusal: Conflict for a subscription that
// is paused or cancelled, NotFound for an unknown id and for another partner's.
func (s *Service) Pause(c Command) (Result, error) { return s.command(c, subscription.Pause) }

// Resume continues a paused subscription. The errors are those of Pause, but Conflict is for a subscription
// that is not paused.
func (s *Service) Resume(c Command) (Result, error) { return s.command(c, subscription.Resume) }

// Cancel ends a subscription permanently. The errors are those of Pause, but Conflict is for a subscription
// that is cancelled already.
func (s *Service) Cancel(c Command) (Result, error) { return s.command(c, subscription.Cancel) }

func (s *Service) command(c Command, event subscription.Event) (Result, error) {
	if r, used, err := s.cachedReply(c.Org, &c.Key); used || err != nil {
		return r, err
	}
	if _, err := s.Read(c.Org, c.Partner, c.ID); err != nil {
		return Result{}, err // an unknown id, or that of another partner's subscription, starts no actor
	}
	m := &command{caller: newCaller(&c.Key), event: event}
	return s.ask(actors.RecordKey{Org: c.Org, ID: c.ID}, m.caller, m)
}

// ask sends a message to the subscription's actor and waits for its reply.
func (s *Service) ask(key actors.RecordKey, c *caller, m actors.Refusable) (Result, error) {
	if err := s.registry.Command(key, m); err != nil {
		return Result{}, err
	}
	timer := time.NewTimer(commandWait)
	defer timer.Stop()
	select {
	case r := <-c.reply:
		if ledger.IsRefusal(r.err, ledger.ClaimTaken) { // another request with the key was faster
			repeated, used, err := s.cachedReply(key.Org, c.key)
			if err == nil && !used {
				err = r.err
			}
			return repeated, err
		}
		return r.result, r.err
	case <-timer.C:
		return Result{}, ledger.Refuse("subscription.Command", ledger.Unavailable, "it took too long and may or may not be done")
	}
}

// cachedReply looks up whether a caller's key was used before, and returns the reply to the request that
// used it. If the stored reply is damaged, cachedReply returns the subscription's current state instead.
func (s *Service) cachedReply(org ledger.ID, key *actors.Key) (Result, bool, error) {
	if key.IsZero() {
		return Result{}, false, nil
	}
	view := s.rt.Journal.View()
	defer view.Close()
	source, extra, found, err := key.Find(view, org)
	if err != nil || !found {
		return Result{}, false, err
	}
	id, progress, err := s.claimedReply(org, key, extra)
	if err != nil {
		id = source.ID
	}
	r, found, loading := load(view, org, id)
	if loading != nil || !found || key.Scope != actors.PartnerKeyScope(r.Record.Partner) {
		return Result{}, false, errors.Join(loading, unknown())
	}
	if r.Replay = true; err == nil {
		r.Record.Progress = progress
	}
	return r, true, nil
}

// claimedReply returns the reply to the request with a key, read from the key's claim: the subscription's
// id, and its progress. If it returns an error, it has raised the alarm.
func (s *Service) claimedReply(org ledger.ID, key *actors.Key, extra []byte) (id ledger.ID, progress subscription.Progress, err error) {
	reply := ReplyID(org, key.ClaimKey())
	plaintext, err := s.rt.OpenReply(actors.SubscriptionReply, org, reply, extra)
	if err == nil {
		id, progress, err = readReply(plaintext)
	}
	if err != nil {
		s.rt.ReplyUnreadable(org, reply, err)
	}
	return id, progress, err
}

// Read returns a partner's subscription as stored. The id of another partner's subscription is refused
// like an unknown one.
func (s *Service) Read(org ledger.ID, partner int64, id ledger.ID) (Result, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	r, found, err := load(view, org, id)
	if err == nil && (!found || r.Record.Partner != partner) {
		err = unknown()
	}
	if err != nil {
		return Result{}, err
	}
	return r, nil
}

func unknown() error {
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

// active tells whether a partner may be renewed.
func (s *Service) active(org ledger.ID, partner int64) bool {
	o, exists := s.directory.Organization(org)
	p, known := s.directory.Partner(org, partner)
	return exists && known && o.Active() && p.Active
}
