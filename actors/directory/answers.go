package directory

import (
	"context"
	"errors"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// Sealer keeps answers, which may hold a key's value; *secret.Keyring is one.
// The context ties a sealed answer to its place.
type Sealer = actors.Sealer

var _ Sealer = (*secret.Keyring)(nil)

// Answer is what a write that came with a key was answered with.
type Answer struct {
	Status int
	Body   []byte // as the function that Once was given has made it

	// Booked and Seq are the booked time of the write's event and its place in the
	// journal. They are late, so that only Answered knows them: who makes the body
	// leaves room for them.
	Booked ledger.Micros
	Seq    uint64
}

// IssuedKey is a key together with its value.
type IssuedKey struct {
	*directory.APIKey
	Value secret.Text
}

// once is a key, and what makes the answer that is kept with it.
type once struct {
	key    actors.Key
	answer func(made any) Answer
}

type onceInContext struct{}

// Once has the write that the context is given to claim the key, and keep its
// answer, in its own Change. Answer is called with what the write returns
// (IssuedKey for CreateAPIKey) before that is durable: the times that the writer
// fills are zero. It runs on another goroutine, maybe after the write has timed
// out.
//
// A write that changes nothing claims nothing. One whose key is taken is refused,
// with whatever it meets first: after any error, ask Answered again.
func Once(ctx context.Context, key actors.Key, answer func(made any) Answer) context.Context {
	return context.WithValue(ctx, onceInContext{}, &once{key, answer})
}

// Answered is what the key's write was answered with; false if there was none.
// The error is a Conflict if that was another request, or if nobody can vouch for what is
// stored of the answer: it may have held a value that is nowhere else (an API key's), so
// nothing else can stand for it. Other errors are the store's.
func (s *Service) Answered(key actors.Key) (Answer, bool, error) {
	v := s.rt.Journal.View()
	defer v.Close()
	_, place, found, err := key.Find(v, directory.PlatformOrg)
	if err != nil || !found {
		return Answer{}, false, err
	}
	id := directory.AnswerID(key.ClaimKey())
	if len(place) != len(ledger.ID{}) {
		return Answer{}, false, s.unreadable(ledger.ID{}, id, errForm)
	}
	a, err := s.readAnswer(v, ledger.ID(place), id)
	return a, err == nil, err
}

func (s *Service) readAnswer(v *posting.View, org, id ledger.ID) (Answer, error) {
	source := ledger.Source{Kind: ledger.Answer, ID: id}
	r, found, err := actors.ReplyRecord(v, org, source)
	if errors.Is(err, actors.ErrReply) {
		return Answer{}, s.unreadable(org, id, err)
	}
	if err != nil {
		return Answer{}, err
	}
	if !found {
		return Answer{}, s.unreadable(org, id, errMissing)
	}
	a, err := OpenAnswer(s.sealer, org, id, r.Payload)
	if err != nil {
		return Answer{}, s.unreadable(org, id, err)
	}
	made, found, err := actors.EventBehindWhich(v, org, source, r.Stamp.LastSeq)
	if err != nil {
		return Answer{}, err
	}
	if !found {
		return Answer{}, s.unreadable(org, id, errMissing)
	}
	a.Booked, a.Seq = made.Booked, made.Seq
	return a, nil
}

// OpenAnswer reads the payload of a ledger.Answer, with the keys that it was sealed with;
// Booked and Seq are not in it. An error says that it is none, or was changed.
func OpenAnswer(keys Sealer, org, id ledger.ID, payload []byte) (Answer, error) {
	sealed, err := decodeSealed(payload)
	if err != nil {
		return Answer{}, err
	}
	plaintext, err := keys.Open(sealed, sealedFor(org, id))
	if err != nil {
		return Answer{}, err
	}
	return decodeAnswer(plaintext)
}

// unreadable raises the alarm, and is what whoever repeats the request is told.
func (s *Service) unreadable(org, id ledger.ID, why error) error {
	s.rt.ReplyUnreadable(org, id, why)
	return actors.ReplyLost("directory.Answered")
}

// write is run for what may come with a key. Decide also says what is made,
// which is what the caller is going to return. A rehearsal ends there.
func (s *Service) write(ctx context.Context, org ledger.ID, op string, decide func(now ledger.Micros) (*posting.Change, any, error), publish func([]posting.Stamp)) error {
	o, keyed := ctx.Value(onceInContext{}).(*once)
	return s.run(ctx, org, op, func(now ledger.Micros) (*posting.Change, error) {
		change, made, err := decide(now)
		switch {
		case rehearsed(ctx):
			return nil, err
		case err != nil || !keyed:
			return change, err
		case change == nil:
			return nil, s.fresh(op, &o.key)
		}
		about := &change.Steps[len(change.Steps)-1]
		return change, s.keep(op, o, change, about.Org, about.Source, made)
	}, publish)
}

// fresh refuses a write that changes nothing, where the key was used for one
// that did: the two were asked for at once, and the other came first.
func (s *Service) fresh(op string, key *actors.Key) error {
	v := s.rt.Journal.View()
	defer v.Close()
	_, _, found, err := key.Find(v, directory.PlatformOrg)
	if err == nil && found {
		err = ledger.Refuse(op, ledger.Conflict, "the idempotency key was used")
	}
	return err
}

// KeepAnswer has another actor's Change in an organization claim the key of a context
// that Once has made, and keep the answer to what was made; without a key it does
// nothing. An error says that the Change must not be submitted. One that the writer
// refuses has met the key: ask Answered again.
func (s *Service) KeepAnswer(ctx context.Context, org ledger.ID, change *posting.Change, made any) error {
	o, keyed := ctx.Value(onceInContext{}).(*once)
	if !keyed {
		return nil
	}
	answer := ledger.Source{Kind: ledger.Answer, ID: directory.AnswerID(o.key.ClaimKey())} // the key is used for nothing else that is a record
	return s.keep("directory.KeepAnswer", o, change, org, answer, made)
}

// keep adds the key's claim to a change and the answer, directly behind the event that
// the change is about, if it is about one: so the event before an answer's is the one
// whose booked time it shows.
func (s *Service) keep(op string, o *once, change *posting.Change, org ledger.ID, about ledger.Source, made any) error {
	id := directory.AnswerID(o.key.ClaimKey())
	answer := o.answer(made)
	plaintext := encodeAnswer(&answer)
	defer clear(plaintext)
	sealed, err := s.sealer.Seal(plaintext, sealedFor(org, id))
	if err != nil {
		return ledger.Refuse(op, ledger.Internal, "an answer can't be sealed: %v", err)
	}
	record := encodeSealed(sealed)
	if len(record) > posting.MaxRecord {
		return ledger.Refuse(op, ledger.Invalid, "the answer is too long to be kept for an idempotency key")
	}
	change.Claims = append([]ledger.Claim{o.key.Claim(directory.PlatformOrg, about, org[:])}, change.Claims...)
	change.Steps = append(change.Steps, step(org, 0, record, directory.NewAnswer(id)))
	return nil
}

// sealedFor ties a sealed answer to its record.
func sealedFor(org, id ledger.ID) []byte {
	return append(append(make([]byte, 0, 2*len(id)), org[:]...), id[:]...)
}
