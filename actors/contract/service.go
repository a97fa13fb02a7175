package contract

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Service creates, changes and reads contracts.
type Service struct {
	rt       *actors.Runtime
	wait     time.Duration
	registry *actors.Registry[actors.RecordKey]
}

// commandWait is how long a caller waits, in real time, until its Change is durable.
const commandWait = 30 * time.Second

// New registers the service with the runtime. Start the runtime afterwards.
func New(rt *actors.Runtime) *Service {
	s := &Service{rt: rt, wait: commandWait}
	s.registry = actors.NewRegistry(rt, "contract", 0, func(k actors.RecordKey) actors.Behaviour {
		return &contractActor{service: s, key: k}
	})
	rt.HandleDue(ledger.Contract, func(d actors.Due) { s.registry.Tell(d.Key, d) })
	return s
}

// Create is a request to create a contract.
type Create struct {
	Org     ledger.ID
	Product *contract.Product
	Reading *contract.Reading // the secular or the religious form of the product
	Env     money.Env
	Input   schema.Input
	Allowed func(region string) bool // tells whether the organization works in a region
	Caller  contract.Caller
	Key     actors.Key
	Author  ledger.Author
	Origin  tracing.Origin
}

// ActionRequest is a request for an action on a contract.
type ActionRequest struct {
	Org     ledger.ID
	ID      ledger.ID
	Product *contract.Product
	Reading *contract.Reading
	Action  contract.Action
	Input   schema.Input
	Caller  contract.Caller
	Key     actors.Key
	Author  ledger.Author
	Origin  tracing.Origin
}

// Result is a contract in the response to a request.
type Result struct {
	Record *contract.Record
	Header posting.RecordHeader // the record's version, times and number
	Replay bool                 // the result is the cached reply to an earlier request with the same key
}

// Create creates a contract. The error is a *schema.Faults, a *ledger.Refusal or an error of the store. If there was an
// error, nothing was stored. The exception is Unavailable (the writer did not confirm in time): the contract may still be
// stored later.
func (s *Service) Create(c Create) (Result, error) {
	if r, found, err := s.cachedReply(c.Org, &c.Key); found || err != nil {
		return r, err
	}
	if err := s.checkScreening(c.Org, c.Input); err != nil {
		return Result{}, err
	}
	d, err := contract.Open(contract.Proposal{
		ID: uuid.New(), Product: c.Product, Reading: c.Reading, Env: c.Env, Input: c.Input,
		Now: ledger.MicrosOf(s.rt.Clock.Now()), Caller: c.Caller, Allowed: c.Allowed,
	})
	if err != nil {
		return Result{}, err
	}
	change := changeOf(c.Org, &d, 0, c.Author)
	change.Cause = &c.Origin
	if err := s.addReply(change, &c.Key); err != nil {
		return Result{}, err
	}
	receipts := make(chan posting.Receipt, 1)
	s.rt.Journal.Submit(change, func(r posting.Receipt) { receipts <- r })
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case r := <-receipts:
		if r.Err == nil {
			return resultAt(d.Record, r.Headers[0], r.Headers[0].UpdatedAt), nil
		}
		return s.cachedReplyOr(c.Org, &c.Key, translateRefusal(r))
	case <-timer.C:
		return Result{}, timedOut()
	}
}

func timedOut() error {
	return ledger.Refuse("contract", ledger.Unavailable, "the contract is not stored yet; send the request again, with the same key")
}

// translateRefusal turns the writer's refusal into an error about the client's request.
func translateRefusal(r posting.Receipt) error {
	if ledger.IsRefusal(r.Err, ledger.OutOfRange) {
		return &schema.Faults{List: []schema.Fault{{Field: "amount", Message: "takes a total out of range"}}}
	}
	var refusal *ledger.Refusal
	if errors.As(r.Err, &refusal) && refusal.Code == ledger.Invalid { // the refusal names a date in a closed month
		return &schema.Faults{List: []schema.Fault{{Field: refusal.Field, Message: refusal.Detail}}}
	}
	return r.Err
}

// Act carries out an action on a contract. It returns the same errors as Create, and NotFound if the product and reading
// (secular or religious form) have no such contract.
func (s *Service) Act(a ActionRequest) (Result, error) {
	if r, found, err := s.cachedReply(a.Org, &a.Key); found || err != nil {
		return r, err
	}
	m := &actionMessage{ActionRequest: a}
	if err := s.registry.Command(actors.RecordKey{Org: a.Org, ID: a.ID}, m); err != nil {
		return Result{}, err
	}
	r, answered := m.Wait(time.Now().Add(s.wait))
	switch {
	case !answered:
		return Result{}, timedOut()
	case r.err != nil:
		return s.cachedReplyOr(a.Org, &a.Key, r.err)
	}
	return s.withSubscriptions(a.Org, r.result)
}

// Read returns the current state of a contract. If the product and reading have no such contract, the error is NotFound.
func (s *Service) Read(org ledger.ID, p *contract.Product, reading *contract.Reading, id ledger.ID) (Result, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	r, found, err := Load(view, org, id)
	if err != nil {
		return Result{}, err
	}
	if !found || r.Record.Product != p || r.Record.Reading != reading {
		return Result{}, unknownContract()
	}
	return r, LoadSubscriptions(view, org, r.Record)
}

// withSubscriptions adds to a result the subscriptions that the contract's detail shows.
func (s *Service) withSubscriptions(org ledger.ID, r Result) (Result, error) {
	if _, _, hasRegister := r.Record.Registered(); !hasRegister {
		return r, nil
	}
	view := s.rt.Journal.View()
	defer view.Close()
	return r, LoadSubscriptions(view, org, r.Record)
}

// resultAt returns a contract with the values that it has on the day of the instant at.
func resultAt(r *contract.Record, header posting.RecordHeader, at ledger.Micros) Result {
	return Result{Record: r.AsOf(header.StartedAt, at.Date()), Header: header}
}

func unknownContract() error { return ledger.Refuse("contract", ledger.NotFound, "no such contract") }

// Load returns a contract with the values that it has today, whatever its product and reading. If the organization has no
// such contract, it returns false.
func Load(view *posting.View, org, id ledger.ID) (Result, bool, error) {
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Contract, ID: id})
	if err != nil || !found {
		return Result{}, false, err
	}
	r, err := contract.ReadRecord(id, stored.Payload)
	if err != nil {
		return Result{}, false, err
	}
	return resultAt(r, stored.Header, view.Now()), true, nil
}

// Numbers of the kinds of lists that contain contracts.
const (
	listOfProduct = 1 + iota
	listOfEnv
	listOfPerson
)

// ListOf returns the list of a product's contracts in a reading, in both environments.
func ListOf(p *contract.Product, reading *contract.Reading) ledger.List {
	return ledger.NewList(ledger.Contract, listOfProduct, p.Code, reading.Code)
}

// ListOfEnv returns the list of a product's contracts in a reading and one environment.
func ListOfEnv(p *contract.Product, reading *contract.Reading, env money.Env) ledger.List {
	return ledger.NewList(ledger.Contract, listOfEnv, p.Code, reading.Code, byte(env))
}

// ListOfPerson returns the list of a person's contracts of one product and reading. The list is identified by a short
// hash of the person's id, so it may contain other persons' contracts too.
func ListOfPerson(p *contract.Product, reading *contract.Reading, who ledger.ID) ledger.List {
	sum := sha256.Sum256(append([]byte{p.Code, reading.Code}, who[:]...))
	return ledger.NewList(ledger.Contract, listOfPerson, sum[:ledger.ListOwnerLength]...)
}

// IsProductList tells whether a list of contracts was made by ListOf. Every contract is in exactly one such list. It is
// also in a list of its environment, and in a list of each person who takes part.
func IsProductList(l ledger.List) bool { return l.Number() == listOfProduct }
