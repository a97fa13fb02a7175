package actors

import (
	"errors"
	"fmt"

	"mizan/ledger"
	"mizan/posting"
)

// Sealer encrypts and decrypts stored data, such as replies to requests with an idempotency key. Without the keys, nobody
// can read the stored data or change it unnoticed. Open succeeds only with the context that was passed to Seal.
// *secret.Keyring implements Sealer.
type Sealer interface {
	Seal(plaintext, context []byte) ([]byte, error)
	Open(sealed, context []byte) ([]byte, error)
}

// ReplyKind says which service wrote the stored reply to a request with an idempotency key. The values are stored with the
// replies, so they never change.
type ReplyKind byte

// The kinds of replies.
const (
	PaymentReply      ReplyKind = 1 // the state of a transaction; the reply is stored in a record of its own
	ContractReply     ReplyKind = 2 // the state of a contract; the reply is stored in a record of its own
	SubscriptionReply ReplyKind = 3 // the state of a subscription; the reply is stored in the claim of the idempotency key
)

// ErrReply says that a reply is stored but is damaged or cannot be decrypted.
var ErrReply = errors.New("the stored reply can't be read")

var errNoReply = errors.New("the bytes are no reply of this kind")

// SealReply returns the bytes to store for the reply to a request with an idempotency key: the ReplyKind and the encrypted
// plaintext. The ReplyKind, the organization and the id are the context of the encryption. The id is derived from the key
// (by ReplyID of the service that writes the reply). The error comes from the sealer, or says that there is no sealer.
func SealReply(s Sealer, f ReplyKind, org, id ledger.ID, plaintext []byte) ([]byte, error) {
	if s == nil {
		return nil, errNoSealer
	}
	sealed, err := s.Seal(plaintext, replyContext(f, org, id))
	if err != nil {
		return nil, err
	}
	return append([]byte{byte(f)}, sealed...), nil
}

// OpenReply returns the plaintext that SealReply sealed for the same kind, organization and id. It returns an error if
// there is no sealer, if the bytes are not a reply of this kind, or if the sealer cannot decrypt them.
func OpenReply(s Sealer, f ReplyKind, org, id ledger.ID, stored []byte) ([]byte, error) {
	if s == nil {
		return nil, errNoSealer
	}
	if !f.Has(stored) {
		return nil, errNoReply
	}
	return s.Open(stored[1:], replyContext(f, org, id))
}

var errNoSealer = errors.New("there are no keys for replies")

// Has tells whether the stored bytes are a reply of this kind.
func (f ReplyKind) Has(stored []byte) bool { return len(stored) > 0 && stored[0] == byte(f) }

// replyContext returns the encryption context that binds a reply to the idempotency key of its request. Because of the
// prefix, no other kind of ciphertext has the same context, even with the same organization and id.
func replyContext(f ReplyKind, org, id ledger.ID) []byte {
	const prefix = "reply "
	context := append(make([]byte, 0, len(prefix)+1+2*len(id)), prefix...)
	return append(append(append(context, byte(f)), org[:]...), id[:]...)
}

// ReplyRecord returns the record that stores a reply. If there is no such record, it returns false. If the record's row is
// damaged, the error is ErrReply; other errors come from the store.
func ReplyRecord(v *posting.View, org ledger.ID, reply ledger.Source) (posting.Record, bool, error) {
	r, found, err := v.Record(org, reply)
	if posting.IsDamage(err) {
		err = fmt.Errorf("%w: %w", ErrReply, err)
	}
	return r, found, err
}

// EventBeforeReply returns the event that directly precedes the event of a stored reply. replySeq is the number of the
// reply's event; it is stored in the reply's row. The preceding event is the last change of the record before the reply,
// so it contains the times that the reply shows. EventBeforeReply returns false if the event with the number replySeq does
// not belong to the reply, or is the first event.
func EventBeforeReply(v *posting.View, org ledger.ID, reply ledger.Source, replySeq uint64) (ledger.Event, bool, error) {
	replyEvent, _, found, err := v.Event(org, replySeq)
	if err != nil || !found || replyEvent.Source != reply {
		return ledger.Event{}, false, err
	}
	previous, _, found, err := v.Event(org, replySeq-1)
	return previous, found, err
}

// SealReply calls the function SealReply with the runtime's sealer. The error is a *ledger.Refusal.
func (rt *Runtime) SealReply(f ReplyKind, org, id ledger.ID, plaintext []byte) ([]byte, error) {
	stored, err := SealReply(rt.sealer, f, org, id, plaintext)
	if err != nil {
		return nil, ledger.Refuse("actors.SealReply", ledger.Internal, "the reply to a request can't be encrypted: %v", err)
	}
	return stored, nil
}

// OpenReply calls the function OpenReply with the runtime's sealer. Its errors wrap ErrReply.
func (rt *Runtime) OpenReply(f ReplyKind, org, id ledger.ID, stored []byte) ([]byte, error) {
	plaintext, err := OpenReply(rt.sealer, f, org, id, stored)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReply, err)
	}
	return plaintext, nil
}

// LogUnreadableReply logs an error: a stored reply was changed, or the keyring lacks the key that encrypted the reply.
// The reply must not be shown; the caller answers from the records instead.
func (rt *Runtime) LogUnreadableReply(org, id ledger.ID, why error) {
	rt.unreadableReplies.Add(1)
	rt.Log.Error("a stored reply to an idempotency key does not open, so the request's answer is not repeated: run mizan audit verify, and check that the keyring has all its keys",
		"organization", org.String(), "reply", id.String(), "error", why)
}

// ReplyLost returns the error for a repeated request if the stored reply cannot be read and no other reply can be made.
// The fault is permanent, so the error does not ask the client to try again.
func ReplyLost(op string) error {
	return ledger.Refuse(op, ledger.Conflict,
		"the request with this idempotency key was carried out, and its answer can no longer be read: look at what it made before you send it with another key")
}

// RepliesUnreadable returns the number of calls of LogUnreadableReply since the start.
func (rt *Runtime) RepliesUnreadable() uint64 { return rt.unreadableReplies.Load() }
