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

// changeOf returns the Change of a decision. Its first step is the contract's.
func changeOf(org ledger.ID, d *contract.Decision, version uint64) *posting.Change {
	r := d.Record
	source := ledger.Source{Kind: ledger.Contract, ID: r.ID}
	step := posting.Step{
		Org: org, Source: source, Expect: version, Record: contract.AppendRecord(nil, r),
		Due: d.Due, Finish: d.Finish, Events: d.Events,
	}
	if version == 0 {
		step.List = ListOf(r.Product, r.Reading)
		step.Also = append(step.Also, ListOfEnv(r.Product, r.Reading, r.Asset.Env))
		step.Number = r.Product.Variants[r.Reading].Prefix
		if who := r.Customer(); who != (ledger.ID{}) {
			step.Also = append(step.Also, ListOfPerson(r.Product, r.Reading, who))
		}
	}
	if d.Joined != (ledger.ID{}) {
		step.Also = append(step.Also, ListOfPerson(r.Product, r.Reading, d.Joined))
	}
	change := &posting.Change{MustRecord: d.MustRecord, Steps: []posting.Step{step}, KVs: registerRows(org, d)}
	if version == 0 {
		change.Counters = []ledger.CounterGuard{{
			Org: org, Key: CountKey(r.Product, r.Reading), Window: r.Asset.Env.String(),
			Add: money.FromUint64(1), Max: money.Max, Refuse: ledger.OutOfRange,
		}}
	}
	for _, dated := range d.Dated {
		change.Dates = append(change.Dates, posting.DateGuard{Org: org, Field: dated.Field, On: dated.On})
	}
	if !d.Reserve.IsZero() {
		change.Counters = append(change.Counters, reservation(org, r.Asset, d.Reserve))
	}
	switch d.UnderWay {
	case contract.Begins:
		change.Counters = append(change.Counters, ledger.BatchesBegin(org))
	case contract.Ends:
		change.Counters = append(change.Counters, ledger.BatchesEnd(org))
	}
	return change
}

// addReply adds the claim of the request's key and the cached reply to a contract's Change, directly behind
// the contract's events. Without a key it does nothing. The error is a *ledger.Refusal.
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

// maxReserved bounds the sum of all bookings on due dates in an asset: half of an amount's range. Package
// posting refuses commands that would bring an account's total into the upper half, so bookings on due
// dates, which are never refused, have room there.
var maxReserved = func() money.Amount {
	half, err := money.Max.DivFloor(money.FromUint64(2))
	assert.NoError(err)
	return half
}()

// reservation reserves room for bookings on due dates. The room is never released, because there is far
// more room than money.
func reservation(org ledger.ID, asset money.Asset, amount money.Amount) ledger.CounterGuard {
	return ledger.CounterGuard{Org: org, Key: "timed/" + asset.String(), Add: amount, Max: maxReserved, Refuse: ledger.OutOfRange}
}

// CountKey returns the key of the counters of a product's contracts in a reading. There is one counter
// per environment: the environment takes the place of a counter's window.
func CountKey(p *contract.Product, reading *contract.Reading) string {
	return "contracts/" + p.Variants[reading].Prefix
}

// Count returns how many contracts of a product exist in a reading, in the environments.
func Count(view *posting.View, org ledger.ID, p *contract.Product, reading *contract.Reading, envs ...money.Env) (n uint64, err error) {
	for _, env := range envs {
		counted, err := view.Counter(org, CountKey(p, reading), env.String())
		if err != nil {
			return 0, err
		}
		inEnv, _ := counted.Uint64()
		n += inEnv
	}
	return n, nil
}

// ReplyID returns the id of the record with the cached reply to a request, derived from the
// request's key.
func ReplyID(org ledger.ID, key string) ledger.ID {
	return ledger.DerivedID(org, "contract reply|"+key)
}

// cachedReply returns the cached reply for the key; false if the key is free. The error is a Conflict
// if the key was used for another request. If the stored reply is damaged, cachedReply returns the
// contract's current state instead.
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
		s.rt.ReplyUnreadable(org, reply, err)
		r, err = currentState(view, org, source.ID)
	}
	r.Replay = true
	return r, err == nil, err
}

// currentState returns the current state of a contract.
func currentState(view *posting.View, org, id ledger.ID) (Result, error) {
	r, found, err := Load(view, org, id)
	if err != nil || !found {
		return Result{}, errors.Join(err, unknown())
	}
	return r, Show(view, org, r.Record)
}

// OpenReply reads the payload of a ledger.Reply about a contract with the keys that it was sealed
// with. It returns the contract's id, and its stored form at the time of the reply. The error says
// that the payload has another form or was changed.
func OpenReply(keys actors.Sealer, org, reply ledger.ID, payload []byte) (id ledger.ID, form []byte, err error) {
	return openReply(actors.OpenReply(keys, actors.ContractReply, org, reply, payload))
}

func openReply(plaintext []byte, openErr error) (id ledger.ID, form []byte, err error) {
	if openErr == nil && len(plaintext) < len(id) {
		openErr = fmt.Errorf("%w: it is cut off", actors.ErrReply)
	}
	if openErr != nil {
		return id, nil, openErr
	}
	return ledger.ID(plaintext[:len(id)]), plaintext[len(id):], nil
}

// readReply reads a cached reply: the contract at the time of the reply. The contract's times come from
// the event directly before the reply's own event. The error is actors.ErrReply, or the store's.
func (s *Service) readReply(view *posting.View, org, reply ledger.ID) (Result, error) {
	source := ledger.Source{Kind: ledger.Reply, ID: reply}
	stored, found, err := actors.ReplyRecord(view, org, source)
	if err != nil {
		return Result{}, err
	}
	if !found {
		return Result{}, fmt.Errorf("%w: it is not there", actors.ErrReply)
	}
	id, form, err := openReply(s.rt.OpenReply(actors.ContractReply, org, reply, stored.Payload))
	if err != nil {
		return Result{}, err
	}
	record, err := contract.ReadRecord(id, form)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", actors.ErrReply, err)
	}
	current, found, err := Load(view, org, id)
	if err != nil || !found {
		return Result{}, errors.Join(err, unknown())
	}
	before, found, err := actors.EventBeforeReply(view, org, source, stored.Stamp.LastSeq)
	if err != nil {
		return Result{}, err
	}
	if !found || before.Source.ID != id {
		return Result{}, fmt.Errorf("%w: it is not behind its contract", actors.ErrReply)
	}
	stamp := current.Stamp
	stamp.Version, stamp.LastSeq, stamp.Updated = before.Version, before.Seq, before.Booked
	r := shownAt(record, stamp, stamp.Updated)
	return r, Show(view, org, r.Record)
}

// cachedReplyOr returns the reply to the request that was the first to claim the key; without one, the
// refusal.
func (s *Service) cachedReplyOr(org ledger.ID, key *actors.Key, refusal error) (Result, error) {
	if r, found, err := s.cachedReply(org, key); found || err != nil {
		return r, err
	}
	return Result{}, refusal
}
