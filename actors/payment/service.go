package payment

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// Terminals finds a partner's terminals; actors/directory implements it.
type Terminals interface {
	Terminals(org ledger.ID, partner int64) []*directory.Terminal
	Terminal(org, id ledger.ID) (*directory.Terminal, bool)
}

// Admission refuses early what an account surely can't bear; actors/account
// implements it. The answer is told, not returned: it may take a while.
type Admission interface {
	Admit(org ledger.ID, account ledger.Account, amount, overdraft money.Amount, answer func(admitted bool))
}

// Options configure the service.
type Options struct {
	Runtime         *actors.Runtime
	Terminals       Terminals
	Admission       Admission
	Providers       map[string]actors.Provider
	CreateWait      time.Duration // real time
	ProviderTimeout time.Duration // by the clock; the most, in real time, that one call may take

	// Observe, if set, hears of every durable change of a transaction's status,
	// on its actor's goroutine.
	Observe func(kind payment.Type, status payment.Status)
}

// Service creates and reads transactions.
type Service struct {
	rt        *actors.Runtime
	terminals Terminals
	admission Admission
	providers map[string]actors.Provider
	wait      time.Duration
	inquire   time.Duration
	registry  *actors.Registry[actors.RecordKey]
	observe   func(payment.Type, payment.Status)
}

// New registers the service with the runtime. Start the runtime afterwards.
func New(o Options) *Service {
	s := &Service{
		rt: o.Runtime, terminals: o.Terminals, admission: o.Admission, providers: o.Providers,
		wait: o.CreateWait, inquire: o.ProviderTimeout, observe: o.Observe,
	}
	s.registry = actors.NewRegistry(o.Runtime, "payment", 0, func(k actors.RecordKey) actors.Behaviour {
		return &transaction{service: s, key: k}
	})
	o.Runtime.Wake(ledger.Transaction, func(d actors.Due) { s.registry.Tell(d.Key, d) })
	for _, p := range o.Providers {
		s.poll(p)
	}
	return s
}

// Resumes tells which due work is taken up at start, whatever its time: every
// transaction that waits for a provider is inquired.
func Resumes(item posting.Item) bool { return item.Source.Kind == ledger.Transaction }

// Create makes a transaction and waits for its first outcome, or for the
// create-wait. An error is a *ledger.Refusal: nothing was stored, unless its
// code is Internal, or Unavailable after the create-wait.
func (s *Service) Create(c Create) (Result, error) {
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	id := uuid.New()
	m := &create{Create: c, id: id, caller: newCaller()}
	if err := s.registry.Command(actors.RecordKey{Org: c.Org, ID: id}, m); err != nil {
		c.Card.Wipe()
		return Result{}, err
	}
	r, answered := m.wait(timer)
	if !answered {
		return s.reached(c.Org, id)
	}
	if r.existing != (ledger.ID{}) {
		return s.replay(c, r.existing, timer)
	}
	return r.result, r.err
}

// replay answers a create whose txid has an owner: with what the owner's own
// create answers.
func (s *Service) replay(c Create, id ledger.ID, timer *time.Timer) (Result, error) {
	result, err := s.Read(c.Org, c.Partner.Number, id)
	if err == nil && !result.Record.Answered() {
		m := &await{caller: newCaller()}
		if err := s.registry.Command(actors.RecordKey{Org: c.Org, ID: id}, m); err != nil {
			return Result{}, err
		}
		if r, answered := m.wait(timer); answered {
			result, err = r.result, r.err
		} else {
			result, err = s.reached(c.Org, id)
		}
	}
	result.Replay = true
	return result, err
}

// reached is the state that a transaction has when its create-wait is over.
func (s *Service) reached(org, id ledger.ID) (Result, error) {
	result, found, err := s.load(org, id)
	if err != nil {
		return Result{}, err
	}
	if !found {
		return Result{}, ledger.Refuse("payment.Create", ledger.Unavailable, "the transaction is not stored yet; ask again with the same txid")
	}
	return result, nil
}

// Read is a partner's transaction as stored. A foreign id answers as an unknown one.
func (s *Service) Read(org ledger.ID, partner int64, id ledger.ID) (Result, error) {
	result, found, err := s.load(org, id)
	if err != nil {
		return Result{}, err
	}
	if !found || result.Record.Partner != partner {
		return Result{}, ledger.Refuse("payment.Read", ledger.NotFound, "no such transaction")
	}
	return result, nil
}

func (s *Service) load(org, id ledger.ID) (Result, bool, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Transaction, ID: id})
	if err != nil || !found {
		return Result{}, false, err
	}
	record, err := Decode(stored.Payload)
	if err != nil {
		return Result{}, false, fmt.Errorf("transaction %v: %w", id, err)
	}
	record.Finished = stored.Stamp.Finished
	return Result{Record: record, Stamp: stored.Stamp}, true, nil
}

// terms chooses the terminal for a request: the first of the partner's that
// serves it and whose provider takes the method.
func (s *Service) terms(c *Create) (payment.Terms, bool) {
	r := &c.Request
	kind, operation := directory.PaymentTerminal, actors.Pay
	if r.Type == payment.Payout {
		kind, operation = directory.PayoutTerminal, actors.PayOut
	}
	var chosen *directory.Terminal
	for _, t := range s.terminals.Terminals(c.Org, c.Partner.Number) {
		if p := s.providers[t.Provider]; p == nil || !p.Accepts(operation, r.Method) {
			continue
		}
		if t.Serves(kind, r.Asset, r.Method, r.Amount) && (chosen == nil || directory.ByPriority(t, chosen) < 0) {
			chosen = t
		}
	}
	if chosen == nil {
		return payment.Terms{}, false
	}
	set := &chosen.Settings
	asset := chosen.Resolve(r.Asset)
	return payment.Terms{
		Terminal: chosen.ID, Route: chosen.Provider, ShownText: set.Description,
		FeeBps: set.FeeBps, FeeFixed: set.FeeFixed, FeeOnTop: set.FeeOnTop,
		Overdraft: c.Partner.OverdraftOf(asset), Asset: asset,
	}, true
}

// TxIDKey is the claim key of a partner's txid.
func TxIDKey(partner int64, txid string) string {
	return strconv.FormatInt(partner, 10) + "/" + txid
}

// poll asks a provider for settled money that was taken back. It asks from
// where the last answer ended, and after a restart for all of it again: what is
// reversed already says nothing new.
func (s *Service) poll(p actors.Provider) {
	timed, ok := p.(interface {
		NextReversal(since time.Time) (time.Time, bool)
	})
	if !ok {
		return
	}
	var mu sync.Mutex // Run is called from the pool, Next by the clock
	var since time.Time
	from := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return since
	}
	s.rt.Poll(actors.Poll{
		Next: func() (time.Time, bool) { return timed.NextReversal(from()) },
		Run: func(now time.Time) error {
			found, err := p.Reversals(s.rt.Context(), from(), now)
			if err != nil {
				return fmt.Errorf("reversals of %s: %w", p.Name(), err)
			}
			for _, r := range found {
				s.registry.Tell(actors.RecordKey{Org: r.Org, ID: r.Reference}, reversed{reason: r.Reason})
			}
			mu.Lock()
			defer mu.Unlock()
			since = now
			return nil
		},
	})
}
