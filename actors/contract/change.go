package contract

import (
	"errors"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// changeOf is the Change of a decision. With a key it also keeps, directly behind the
// contract's events, what the request is answered with.
func changeOf(org ledger.ID, d *contract.Decision, version uint64, key *actors.Key) *posting.Change {
	r := d.Record
	source := ledger.Source{Kind: ledger.Contract, ID: r.ID}
	step := posting.Step{
		Org: org, Source: source, Expect: version, Record: contract.AppendRecord(nil, r),
		Due: d.Due, Finish: d.Finish, Events: d.Events,
	}
	if version == 0 {
		step.List = ListOf(r.Product, r.Reading)
		step.Also = append(step.Also, ListOfEnv(r.Product, r.Reading, r.Asset.Env))
		step.Number = r.Product.Faces[r.Reading].Prefix
		if who := r.Customer(); who != (ledger.ID{}) {
			step.Also = append(step.Also, ListOfPerson(r.Product, r.Reading, who))
		}
	}
	if d.Joined != (ledger.ID{}) {
		step.Also = append(step.Also, ListOfPerson(r.Product, r.Reading, d.Joined))
	}
	change := &posting.Change{Outcome: d.Outcome, Steps: []posting.Step{step}}
	if version == 0 {
		change.Counters = []ledger.CounterGuard{{
			Org: org, Key: CountKey(r.Product, r.Reading), Window: r.Asset.Env.String(),
			Add: money.FromUint64(1), Max: money.Max, Refuse: ledger.OutOfRange,
		}}
	}
	for _, said := range d.Dated {
		change.Dates = append(change.Dates, posting.DateGuard{Org: org, Field: said.Field, On: said.On})
	}
	if !d.Reserve.IsZero() {
		change.Counters = append(change.Counters, reserved(org, r.Asset, d.Reserve))
	}
	if key != nil && !key.IsZero() {
		id := ReplyID(org, key.ClaimKey())
		change.Claims = []ledger.Claim{key.Claim(org, source, nil)}
		change.Steps = append(change.Steps, posting.Step{
			Org: org, Source: ledger.Source{Kind: ledger.Reply, ID: id},
			Record: append([]byte{ReplyVersion}, step.Record...), Events: []ledger.Event{directory.NewReply(id)},
		})
	}
	return change
}

// maxReserved bounds what time may book in an asset: half of an amount's range. A
// command leaves no total of an account in the other half (posting), so what time
// books, which is never refused, fits there.
var maxReserved = func() money.Amount {
	half, err := money.Max.DivFloor(money.FromUint64(2))
	assert.NoError(err)
	return half
}()

// reserved takes room for what time may book. It is never given back: there is room
// for more money than there is.
func reserved(org ledger.ID, asset money.Asset, most money.Amount) ledger.CounterGuard {
	return ledger.CounterGuard{Org: org, Key: "timed/" + asset.String(), Add: most, Max: maxReserved, Refuse: ledger.OutOfRange}
}

// CountKey is the key of the counters that say how many contracts of a product there
// are in a reading: one for each environment, which is its window.
func CountKey(p *contract.Product, reading *contract.Reading) string {
	return "contracts/" + p.Faces[reading].Prefix
}

// Count is how many contracts of a product there are in a reading, in the
// environments.
func Count(view *posting.View, org ledger.ID, p *contract.Product, reading *contract.Reading, envs ...money.Env) (n uint64, err error) {
	for _, env := range envs {
		counted, err := view.Counter(org, CountKey(p, reading), env.String())
		if err != nil {
			return 0, err
		}
		some, _ := counted.Uint64()
		n += some
	}
	return n, nil
}

// ReplyVersion begins the payload of a ledger.Reply about a contract: its stored form
// follows.
const ReplyVersion = 2

// ReplyID is the id of the record that keeps what a request with the key was answered
// with: a UUID version 5 (RFC 9562, 5.5) in the organization's name space.
func ReplyID(org ledger.ID, key string) ledger.ID {
	return uuid.NewSHA1(org, []byte("contract reply|"+key))
}

// answered is what the key's request was answered with; false: the key is free. The
// error is Conflict if it was another request's.
func (s *Service) answered(org ledger.ID, key *actors.Key) (Result, bool, error) {
	if key.IsZero() {
		return Result{}, false, nil
	}
	view := s.rt.Journal.View()
	defer view.Close()
	source, _, found, err := key.Find(view, org)
	if err != nil || !found {
		return Result{}, false, err
	}
	r, err := replied(view, org, source.ID, ReplyID(org, key.ClaimKey()))
	return r, err == nil, err
}

var errReply = errors.New("contract: an answer that cannot be read")

// replied reads an answer: the contract as it was then. The times of that moment are
// those of the event directly before the answer's own.
func replied(view *posting.View, org, id, reply ledger.ID) (Result, error) {
	kept, found, err := view.Record(org, ledger.Source{Kind: ledger.Reply, ID: reply})
	if err != nil {
		return Result{}, err
	}
	if !found || len(kept.Payload) == 0 || kept.Payload[0] != ReplyVersion {
		return Result{}, errReply
	}
	record, err := contract.ReadRecord(id, kept.Payload[1:])
	if err != nil {
		return Result{}, err
	}
	now, found, err := Load(view, org, id)
	if err != nil || !found {
		return Result{}, errors.Join(err, errReply)
	}
	then, _, found, err := view.Event(org, kept.Stamp.LastSeq-1)
	if err != nil || !found {
		return Result{}, errors.Join(err, errReply)
	}
	stamp := now.Stamp
	stamp.Version, stamp.LastSeq, stamp.Updated = then.Version, then.Seq, then.Booked
	r := told(record, stamp, stamp.Updated)
	r.Replay = true
	return r, nil
}

// orAnswered is the answer of the request that took the key first, or else the refusal.
func (s *Service) orAnswered(org ledger.ID, key *actors.Key, refusal error) (Result, error) {
	if r, found, err := s.answered(org, key); found || err != nil {
		return r, err
	}
	return Result{}, refusal
}
