package directory

import (
	"context"
	"errors"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Sealer seals cached replies, which may contain a key's value; *secret.Keyring implements it. The
// context argument binds a ciphertext to its record.
type Sealer = actors.Sealer

var _ Sealer = (*secret.Keyring)(nil)

// Answer is the reply to a write that came with an idempotency key.
type Answer struct {
	Status int
	Body   []byte // as the function given to Once has made it

	// Booked is the time at which the write's event was booked, and Seq is the event's place in the
	// journal. Only the writer knows them, so Answered fills them. The function that makes the body
	// leaves room for them.
	Booked ledger.Micros
	Seq    uint64
}

// replyType has the columns of stored replies. Only replies to successful writes are stored.
var replyType = schema.NewType[Answer]("answer",
	schema.NumberField(schema.Derived(1, "status", schema.NotShown, schema.Needed), func(a *Answer) *int { return &a.Status }),
	schema.Field(schema.Object(2, "body", schema.NotShown), func(a *Answer) *[]byte { return &a.Body }),
).Invariant(func(a *Answer) string {
	if a.Status < 200 || a.Status > 299 {
		return "has the status of a refusal"
	}
	return ""
})

// idempotentReply is an idempotency key and the function that makes the reply that is stored with it.
type idempotentReply struct {
	key    actors.Key
	answer func(made any) Answer
}

// withShown returns a context for a write that may have an idempotency key. The write's stored reply is then
// made from the result of toShown, and not from the record that the write makes durable.
func withShown(ctx context.Context, toShown func(made any) any) context.Context {
	o, keyed := ctx.Value(onceInContext{}).(*idempotentReply)
	if !keyed {
		return ctx
	}
	return Once(ctx, o.key, func(made any) Answer { return o.answer(toShown(made)) })
}

type onceInContext struct{}

// Once returns a context with which a write claims the idempotency key and stores its reply, both
// in the write's own Change. The write calls answer with its own result before the Change is
// durable, so the times that the writer fills are zero. answer runs on another goroutine, possibly
// after the write has timed out.
//
// A write that changes nothing claims nothing. If the key is already claimed, the write is refused,
// with the claim's error or with another refusal that applies earlier: after any error, call Answered
// again.
func Once(ctx context.Context, key actors.Key, answer func(made any) Answer) context.Context {
	return context.WithValue(ctx, onceInContext{}, &idempotentReply{key, answer})
}

// Answered returns the reply of the write that claimed the key; false if no write claimed it. The error
// is a Conflict if the key was used for another request, or if the stored reply is damaged. A damaged
// reply cannot be replaced by another one, because it may have contained a value that is stored nowhere
// else (an API key's). Other errors are the store's.
func (s *Service) Answered(key actors.Key) (Answer, bool, error) {
	v := s.rt.Journal.View()
	defer v.Close()
	_, place, found, err := key.Find(v, directory.PlatformOrg)
	if err != nil || !found {
		return Answer{}, false, err
	}
	id := directory.CachedReplyID(key.ClaimKey())
	if len(place) != len(ledger.ID{}) {
		return Answer{}, false, s.unreadableReply(ledger.ID{}, id, errForm)
	}
	a, err := s.readAnswer(v, ledger.ID(place), id)
	return a, err == nil, err
}

func (s *Service) readAnswer(v *posting.View, org, id ledger.ID) (Answer, error) {
	source := ledger.Source{Kind: ledger.Answer, ID: id}
	r, found, err := actors.ReplyRecord(v, org, source)
	if errors.Is(err, actors.ErrReply) {
		return Answer{}, s.unreadableReply(org, id, err)
	}
	if err != nil {
		return Answer{}, err
	}
	if !found {
		return Answer{}, s.unreadableReply(org, id, errMissing)
	}
	a, err := OpenAnswer(s.sealer, org, id, r.Payload)
	if err != nil {
		return Answer{}, s.unreadableReply(org, id, err)
	}
	recordEvent, found, err := actors.EventBeforeReply(v, org, source, r.Stamp.LastSeq)
	if err != nil {
		return Answer{}, err
	}
	if !found {
		return Answer{}, s.unreadableReply(org, id, errMissing)
	}
	a.Booked, a.Seq = recordEvent.Booked, recordEvent.Seq
	return a, nil
}

// OpenAnswer reads the payload of a ledger.Answer record with the keys that it was sealed with. The
// payload has no Booked and Seq. The error says that the payload is malformed or was changed.
func OpenAnswer(keys Sealer, org, id ledger.ID, payload []byte) (Answer, error) {
	plaintext, err := keys.Open(payload, sealedFor(org, id))
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	return a, replyType.ReadStored(plaintext, &a, nil)
}

// unreadableReply raises an alarm and returns the refusal for a repeated request whose reply is damaged.
func (s *Service) unreadableReply(org, id ledger.ID, why error) error {
	s.rt.ReplyUnreadable(org, id, why)
	return actors.ReplyLost("directory.Answered")
}

// write does what run does, for a write that may have an idempotency key. decide also returns the result of
// the write, from which the reply is made. A dry run ends after decide.
func (s *Service) write(ctx context.Context, org ledger.ID, op string, decide func(now ledger.Micros) (*posting.Change, any, error), publish func([]posting.Stamp)) error {
	o, keyed := ctx.Value(onceInContext{}).(*idempotentReply)
	return s.run(ctx, org, op, func(now ledger.Micros) (*posting.Change, error) {
		change, result, err := decide(now)
		switch {
		case isDryRun(ctx):
			return nil, err
		case err != nil || !keyed:
			return change, err
		case change == nil:
			return nil, s.checkUnclaimed(op, &o.key)
		}
		about := &change.Steps[len(change.Steps)-1]
		return change, s.addReply(op, o, change, about.Org, about.Source, result)
	}, publish)
}

// checkUnclaimed refuses a write that changes nothing if its key is already claimed. In that case two
// concurrent requests used the same key, and the other request has changed the record.
func (s *Service) checkUnclaimed(op string, key *actors.Key) error {
	v := s.rt.Journal.View()
	defer v.Close()
	_, _, found, err := key.Find(v, directory.PlatformOrg)
	if err == nil && found {
		err = ledger.Refuse(op, ledger.Conflict, "the idempotency key was used")
	}
	return err
}

// KeepAnswer adds to the Change of another package's actor, in an organization, the claim of the key in ctx
// (see Once) and the reply, which is made from the write's result. Without a key it does nothing. If it returns
// an error, the Change must not be submitted. If the writer refuses the Change, the key may have been
// claimed before: call Answered again.
func (s *Service) KeepAnswer(ctx context.Context, org ledger.ID, change *posting.Change, result any) error {
	o, keyed := ctx.Value(onceInContext{}).(*idempotentReply)
	if !keyed {
		return nil
	}
	answer := ledger.Source{Kind: ledger.Answer, ID: directory.CachedReplyID(o.key.ClaimKey())} // no other record is stored under the key's id
	return s.addReply("directory.KeepAnswer", o, change, org, answer, result)
}

// addReply adds the key's claim and the sealed reply to a change; about is the record that the reply is about.
// The reply comes last, so if the change's last event is that record's, the reply directly follows it:
// Answered takes the booked time from the event before the reply.
func (s *Service) addReply(op string, o *idempotentReply, change *posting.Change, org ledger.ID, about ledger.Source, made any) error {
	id := directory.CachedReplyID(o.key.ClaimKey())
	answer := o.answer(made)
	plaintext, err := replyType.AppendStored(nil, &answer, nil)
	defer clear(plaintext)
	assert.NoError(err) // a reply has no secret columns, because it is sealed as a whole
	record, err := s.sealer.Seal(plaintext, sealedFor(org, id))
	if err != nil {
		return ledger.Refuse(op, ledger.Internal, "an answer can't be sealed: %v", err)
	}
	if len(record) > posting.MaxRecord {
		return ledger.Refuse(op, ledger.Invalid, "the answer is too long to be kept for an idempotency key")
	}
	change.Claims = append([]ledger.Claim{o.key.Claim(directory.PlatformOrg, about, org[:])}, change.Claims...)
	change.Steps = append(change.Steps, step(org, 0, record, directory.NewAnswer(id)))
	return nil
}

// sealedFor binds a sealed reply to its record.
func sealedFor(org, id ledger.ID) []byte {
	return append(append(make([]byte, 0, 2*len(id)), org[:]...), id[:]...)
}
