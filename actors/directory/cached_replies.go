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

// Sealer seals (encrypts) cached replies, which may contain a key's value; *secret.Keyring
// implements it. The context argument binds a ciphertext to its record.
type Sealer = actors.Sealer

var _ Sealer = (*secret.Keyring)(nil)

// CachedReply is the reply to a write that came with an idempotency key.
type CachedReply struct {
	Status int
	Body   []byte // made by the function that was passed to WithCachedReply

	// Booked is the time at which the write's event was booked, and Seq is the event's number in the journal. Both values
	// are known only after Body was made, so Body leaves room for them. FindCachedReply sets both fields.
	Booked ledger.Micros
	Seq    uint64
}

// replyType defines the columns of stored replies. Only replies to successful writes are stored.
var replyType = schema.NewType[CachedReply]("answer",
	schema.NumberField(schema.DerivedInteger(1, "status", schema.NotShown, schema.RequiredInStore), func(a *CachedReply) *int { return &a.Status }),
	schema.Field(schema.Object(2, "body", schema.NotShown), func(a *CachedReply) *[]byte { return &a.Body }),
).Invariant(func(a *CachedReply) string {
	if a.Status < 200 || a.Status > 299 {
		return "has the status of a refusal"
	}
	return ""
})

// idempotentReply contains the idempotency key of a write, and the function that makes the write's stored reply.
type idempotentReply struct {
	key    actors.Key
	answer func(made any) CachedReply
}

// withCachedReplyOf returns a context for a write that may have an idempotency key. If the write has a key, the stored reply
// is made from the result of toShown, which is called with the record that becomes durable.
func withCachedReplyOf(ctx context.Context, toShown func(made any) any) context.Context {
	reply, hasKey := ctx.Value(replyContextKey{}).(*idempotentReply)
	if !hasKey {
		return ctx
	}
	return WithCachedReply(ctx, reply.key, func(made any) CachedReply { return reply.answer(toShown(made)) })
}

type replyContextKey struct{}

// WithCachedReply returns a context for a write with an idempotency key. With this context, the write's own Change (all
// that one decision stores) also claims the key and stores the write's reply. The write calls the function answer with its
// result before the Change is durable, so those times that the journal sets are still zero in the result. The function
// answer runs on another goroutine, possibly after the write has timed out.
//
// A write that changes nothing does not claim the key. If the key is already claimed, the write is refused. The refusal may
// give another reason than the claim, because other checks come first. So after any error, the caller must call
// FindCachedReply again.
func WithCachedReply(ctx context.Context, key actors.Key, answer func(made any) CachedReply) context.Context {
	return context.WithValue(ctx, replyContextKey{}, &idempotentReply{key, answer})
}

// FindCachedReply returns the stored reply to the write that claimed the key. If no write has claimed the key, it returns
// false. If the key was used for a different request, or if the stored reply is damaged, the error is a Conflict. In place
// of a damaged reply we cannot make a new one, because the reply may have contained a value that is stored nowhere else,
// such as the value of an API key. Other errors come from the store.
func (s *Service) FindCachedReply(key actors.Key) (CachedReply, bool, error) {
	v := s.rt.Journal.View()
	defer v.Close()
	_, orgBytes, found, err := key.Find(v, directory.PlatformOrg)
	if err != nil || !found {
		return CachedReply{}, false, err
	}
	id := directory.CachedReplyID(key.ClaimKey())
	if len(orgBytes) != len(ledger.ID{}) {
		return CachedReply{}, false, s.unreadableReply(ledger.ID{}, id, errMalformed)
	}
	a, err := s.readCachedReply(v, ledger.ID(orgBytes), id)
	return a, err == nil, err
}

func (s *Service) readCachedReply(v *posting.View, org, id ledger.ID) (CachedReply, error) {
	source := ledger.Source{Kind: ledger.AdminReply, ID: id}
	r, found, err := actors.ReplyRecord(v, org, source)
	if errors.Is(err, actors.ErrReply) {
		return CachedReply{}, s.unreadableReply(org, id, err)
	}
	if err != nil {
		return CachedReply{}, err
	}
	if !found {
		return CachedReply{}, s.unreadableReply(org, id, errNoReply)
	}
	a, err := OpenCachedReply(s.sealer, org, id, r.Payload)
	if err != nil {
		return CachedReply{}, s.unreadableReply(org, id, err)
	}
	recordEvent, found, err := actors.EventBeforeReply(v, org, source, r.Header.LastSeq)
	if err != nil {
		return CachedReply{}, err
	}
	if !found {
		return CachedReply{}, s.unreadableReply(org, id, errNoEvent)
	}
	a.Booked, a.Seq = recordEvent.Booked, recordEvent.Seq
	return a, nil
}

// OpenCachedReply decrypts the payload of a ledger.AdminReply record; keys must contain the key that sealed the payload.
// OpenCachedReply does not set Booked and Seq, because the payload does not contain them. If the payload is malformed or
// was changed, it returns an error.
func OpenCachedReply(keys Sealer, org, id ledger.ID, payload []byte) (CachedReply, error) {
	plaintext, err := keys.Open(payload, replyContext(org, id))
	if err != nil {
		return CachedReply{}, err
	}
	var a CachedReply
	return a, replyType.ReadStored(plaintext, &a, nil)
}

// unreadableReply raises an alarm and returns the refusal for a repeated request whose reply is damaged.
func (s *Service) unreadableReply(org, id ledger.ID, why error) error {
	s.rt.LogUnreadableReply(org, id, why)
	return actors.ReplyLost("directory.StoredReply")
}

// Write does the same as the method write, but for records of another package. In an archived organization, it refuses to
// write.
func (s *Service) Write(ctx context.Context, org ledger.ID, op string, decide func(now ledger.Micros) (*posting.Change, any, error), publish func([]posting.RecordHeader)) error {
	if _, err := s.writable(op, org); err != nil {
		return err
	}
	return s.write(ctx, org, op, func(now ledger.Micros) (*posting.Change, any, error) {
		if _, err := s.writable(op, org); err != nil {
			return nil, nil, err
		}
		return decide(now)
	}, publish)
}

// write calls run (service.go) to carry out a command. If ctx has an idempotency key, write also claims the key and adds
// the reply. decide returns the Change and the write's result, from which the reply is made. A dry run ends after decide.
func (s *Service) write(ctx context.Context, org ledger.ID, op string, decide func(now ledger.Micros) (*posting.Change, any, error), publish func([]posting.RecordHeader)) error {
	reply, hasKey := ctx.Value(replyContextKey{}).(*idempotentReply)
	return s.run(ctx, org, op, func(now ledger.Micros) (*posting.Change, error) {
		change, result, err := decide(now)
		switch {
		case isDryRun(ctx):
			return nil, err
		case err != nil || !hasKey:
			return change, err
		case change == nil:
			return nil, s.checkUnclaimed(op, &reply.key)
		}
		lastStep := &change.Steps[len(change.Steps)-1]
		return change, s.addReply(op, reply, change, lastStep.Org, lastStep.Source, result)
	}, publish)
}

// checkUnclaimed is called for a write that finds nothing to change. It refuses the write if the idempotency key is already
// claimed, because then a concurrent request with the same key has made the change.
func (s *Service) checkUnclaimed(op string, key *actors.Key) error {
	v := s.rt.Journal.View()
	defer v.Close()
	_, _, found, err := key.Find(v, directory.PlatformOrg)
	if err == nil && found {
		err = ledger.Refuse(op, ledger.Conflict, "the idempotency key was used")
	}
	return err
}

// StoreReply is for writes that actors of other packages make. If ctx has an idempotency key (see WithCachedReply),
// StoreReply makes the reply from result, and adds the claim of the key and the reply to the organization's Change. If ctx
// has no key, StoreReply does nothing. After an error, the Change must not be submitted. If the journal's writer refuses
// the Change, another request may have claimed the key before, so the caller must call FindCachedReply again.
func (s *Service) StoreReply(ctx context.Context, org ledger.ID, change *posting.Change, result any) error {
	reply, hasKey := ctx.Value(replyContextKey{}).(*idempotentReply)
	if !hasKey {
		return nil
	}
	change.Author = authorOf(ctx)
	// the claim names the stored reply itself as the record of the request
	answer := ledger.Source{Kind: ledger.AdminReply, ID: directory.CachedReplyID(reply.key.ClaimKey())}
	return s.addReply("directory.StoreReply", reply, change, org, answer, result)
}

// addReply adds the key's claim and the sealed reply to a change; subject is the record that the reply is about. The reply
// becomes the last step, so that its event directly follows the event that the reply is about. FindCachedReply takes the
// booked time from that preceding event.
func (s *Service) addReply(op string, reply *idempotentReply, change *posting.Change, org ledger.ID, subject ledger.Source, made any) error {
	id := directory.CachedReplyID(reply.key.ClaimKey())
	answer := reply.answer(made)
	plaintext, err := replyType.AppendStored(nil, &answer, nil)
	defer clear(plaintext)
	assert.NoError(err) // cannot fail, because a reply has no secret columns: it is sealed as a whole
	record, err := s.sealer.Seal(plaintext, replyContext(org, id))
	if err != nil {
		return ledger.Refuse(op, ledger.Internal, "a reply can't be encrypted: %v", err)
	}
	if len(record) > posting.MaxRecord {
		return ledger.Refuse(op, ledger.Invalid, "the reply is too long to be stored for an idempotency key")
	}
	change.Claims = append([]ledger.Claim{reply.key.Claim(directory.PlatformOrg, subject, org[:])}, change.Claims...)
	change.Steps = append(change.Steps, step(org, 0, record, directory.NewAdminReply(id)))
	return nil
}

// replyContext returns the encryption context that binds a sealed reply to its record.
func replyContext(org, id ledger.ID) []byte {
	return append(append(make([]byte, 0, 2*len(id)), org[:]...), id[:]...)
}
