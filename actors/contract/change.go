package contract

import (
	"errors"
	"fmt"
	"slices"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// changeOf returns the Change that makes a decision durable. The first step of the Change stores the contract.
func changeOf(org ledger.ID, decision *contract.Decision, version uint64, author ledger.Author) *posting.Change {
	record := decision.Record
	source := ledger.Source{Kind: ledger.Contract, ID: record.ID}
	step := posting.Step{
		Org: org, Source: source, Expect: version, Record: contract.AppendRecord(nil, record),
		Due: decision.Due, Finish: decision.Finish, Events: decision.Events,
	}
	if version == 0 {
		step.List = ListOf(record.Product, record.Reading)
		step.FurtherLists = append(step.FurtherLists, ListOfEnv(record.Product, record.Reading, record.Asset.Env))
		step.Sequence = record.Product.Variants[record.Reading].Prefix
		if customer := record.Customer(); customer != (ledger.ID{}) {
			step.FurtherLists = append(step.FurtherLists, ListOfPerson(record.Product, record.Reading, customer))
		}
	}
	if decision.NewParty != (ledger.ID{}) {
		step.FurtherLists = append(step.FurtherLists, ListOfPerson(record.Product, record.Reading, decision.NewParty))
	}
	change := &posting.Change{Author: author, MustRecord: decision.MustRecord, Steps: []posting.Step{step}, KVs: registerRows(org, decision)}
	if version == 0 {
		change.Counters = []ledger.CounterGuard{{
			Org: org, Key: CountKey(record.Product, record.Reading), Window: record.Asset.Env.String(),
			Add: money.FromUint64(1), Max: money.Max, RefusalCode: ledger.OutOfRange,
		}}
	}
	for _, dated := range decision.Dates {
		change.Dates = append(change.Dates, posting.DateGuard{Org: org, Field: dated.Field, On: dated.On})
	}
	if !decision.Reserve.IsZero() {
		change.Counters = append(change.Counters, reservation(org, record.Asset, decision.Reserve))
	}
	switch decision.BatchPhase {
	case contract.BatchBegins:
		change.Counters = append(change.Counters, ledger.CountBatchedAction(org))
	case contract.BatchEnds:
		change.Counters = append(change.Counters, ledger.UncountBatchedAction(org))
	}
	return change
}

// addReply adds to a contract's Change the claim of the request's idempotency key, and the cached reply as a step
// directly after the contract's step. If the request has no key, it does nothing. The error is a *ledger.Refusal.
func (s *Service) addReply(change *posting.Change, key *actors.Key) error {
	if key.IsZero() {
		return nil
	}
	step := &change.Steps[0]
	id := ReplyID(step.Org, key.ClaimKey())
	sealed, err := s.rt.SealReply(actors.ContractReply, step.Org, id, slices.Concat(step.Source.ID[:], step.Record))
	if err != nil {
		return err
	}
	change.Claims = []ledger.Claim{key.Claim(step.Org, step.Source, nil)}
	change.Steps = append(change.Steps, posting.Step{
		Org: step.Org, Source: ledger.Source{Kind: ledger.Reply, ID: id}, Record: sealed, Events: []ledger.Event{directory.NewReply(id)},
	})
	return nil
}

// maxReserved is half of the largest amount. All bookings on due dates together may reserve at most maxReserved of an
// asset. Package posting refuses commands that would bring an account's total above half of the largest amount, so the
// other half is left for bookings on due dates, which are never refused.
var maxReserved = func() money.Amount {
	half, err := money.Max.DivFloor(money.FromUint64(2))
	assert.NoError(err)
	return half
}()

// reservation returns a guard that adds an amount to the counter of amounts reserved for bookings on due dates. The
// reservation is never released, because maxReserved is far larger than all amounts that occur.
func reservation(org ledger.ID, asset money.Asset, amount money.Amount) ledger.CounterGuard {
	return ledger.CounterGuard{Org: org, Key: "timed/" + asset.String(), Add: amount, Max: maxReserved, RefusalCode: ledger.OutOfRange}
}

// CountKey returns the key of the counters that count a product's contracts in a reading (secular or religious). Each
// environment has its own counter, whose window is the environment's name.
func CountKey(p *contract.Product, reading *contract.Reading) string {
	return "contracts/" + p.Variants[reading].Prefix
}

// Count returns how many contracts of a product exist in a reading, in the given environments.
func Count(view *posting.View, org ledger.ID, p *contract.Product, reading *contract.Reading, envs ...money.Env) (n uint64, err error) {
	for _, env := range envs {
		counter, err := view.Counter(org, CountKey(p, reading), env.String())
		if err != nil {
			return 0, err
		}
		inEnv, _ := counter.Uint64()
		n += inEnv
	}
	return n, nil
}

// ReplyID returns the id of the record that stores the cached reply to a request. The id is derived from the request's
// idempotency key.
func ReplyID(org ledger.ID, key string) ledger.ID {
	return ledger.DerivedID(org, "contract reply|"+key)
}

// cachedReply returns the cached reply to an earlier request with the key. If there was no request with the key, it
// returns false. If the key was used for a different request, the error is a Conflict. If the stored reply is damaged,
// cachedReply returns the contract's current state instead.
func (s *Service) cachedReply(org ledger.ID, key *actors.Key) (Result, bool, error) {
	if key.IsZero() {
		return Result{}, false, nil
	}
	view := s.rt.Journal.View()
	defer view.Close()
	source, _, found, err := key.Find(view, org)
	if err != nil || !found {
		return Result{}, false, err
	}
	reply := ReplyID(org, key.ClaimKey())
	r, err := s.readReply(view, org, reply)
	if errors.Is(err, actors.ErrReply) {
		s.rt.LogUnreadableReply(org, reply, err)
		r, err = currentState(view, org, source.ID)
	}
	r.Replay = true
	return r, err == nil, err
}

// currentState returns the current state of a contract.
func currentState(view *posting.View, org, id ledger.ID) (Result, error) {
	r, found, err := Load(view, org, id)
	if err != nil || !found {
		return Result{}, errors.Join(err, unknownContract())
	}
	return r, LoadSubscriptions(view, org, r.Record)
}

// OpenReply decrypts the payload of a ledger.Reply about a contract; keys must contain the key that sealed the
// payload. It returns the contract's id and the contract's record as stored at the time of the reply. It returns an
// error if the payload has another form or was changed.
func OpenReply(keys actors.Sealer, org, reply ledger.ID, payload []byte) (id ledger.ID, record []byte, err error) {
	return splitReply(actors.OpenReply(keys, actors.ContractReply, org, reply, payload))
}

// splitReply splits a decrypted reply into the contract's id and record; decryptErr is the error of the decryption.
func splitReply(plaintext []byte, decryptErr error) (id ledger.ID, record []byte, err error) {
	if decryptErr == nil && len(plaintext) < len(id) {
		decryptErr = fmt.Errorf("%w: it is cut off", actors.ErrReply)
	}
	if decryptErr != nil {
		return id, nil, decryptErr
	}
	return ledger.ID(plaintext[:len(id)]), plaintext[len(id):], nil
}

// readReply reads a cached reply, which is the contract at the time of the reply. The contract's times come from the
// event that directly precedes the reply's event. The error is actors.ErrReply, or comes from the store.
func (s *Service) readReply(view *posting.View, org, reply ledger.ID) (Result, error) {
	source := ledger.Source{Kind: ledger.Reply, ID: reply}
	stored, found, err := actors.ReplyRecord(view, org, source)
	if err != nil {
		return Result{}, err
	}
	if !found {
		return Result{}, fmt.Errorf("%w: it does not exist", actors.ErrReply)
	}
	id, storedRecord, err := splitReply(s.rt.OpenReply(actors.ContractReply, org, reply, stored.Payload))
	if err != nil {
		return Result{}, err
	}
	record, err := contract.ReadRecord(id, storedRecord)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", actors.ErrReply, err)
	}
	current, found, err := Load(view, org, id)
	if err != nil || !found {
		return Result{}, errors.Join(err, unknownContract())
	}
	contractEvent, found, err := actors.EventBeforeReply(view, org, source, stored.Header.LastSeq)
	if err != nil {
		return Result{}, err
	}
	if !found || contractEvent.Source.ID != id {
		return Result{}, fmt.Errorf("%w: no event of its contract precedes it", actors.ErrReply)
	}
	header := current.Header
	header.Version, header.LastSeq, header.UpdatedAt = contractEvent.Version, contractEvent.Seq, contractEvent.Booked
	r := resultAt(record, header, header.UpdatedAt)
	return r, LoadSubscriptions(view, org, r.Record)
}

// cachedReplyOr returns the cached reply if another request has used the key in the meantime, and otherwise the
// refusal.
func (s *Service) cachedReplyOr(org ledger.ID, key *actors.Key, refusal error) (Result, error) {
	if r, found, err := s.cachedReply(org, key); found || err != nil {
		return r, err
	}
	return Result{}, refusal
}
