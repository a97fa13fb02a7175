package actors

import (
	"errors"
	"fmt"

	"mizan/ledger"
	"mizan/posting"
)

// Sealer encrypts data, such as replies to requests with an idempotency key, so that it can be
// neither read nor changed unnoticed where it is stored; *secret.Keyring implements it. A
// ciphertext opens only with the context that it was sealed with.
type Sealer interface {
	Seal(plaintext, context []byte) ([]byte, error)
	Open(sealed, context []byte) ([]byte, error)
}

// Form is the kind of service that wrote a reply to a request with an idempotency key. Forms are stored with the
// replies, so their values never change.
type Form byte

// The forms of replies.
const (
	PaymentReply      Form = 1 // a transaction's state, in a record of its own
	ContractReply     Form = 2 // a contract's state, in a record of its own
	SubscriptionReply Form = 3 // a subscription's state, in the key's claim
)

// ErrReply says that a reply is stored but is damaged or cannot be decrypted.
var ErrReply = errors.New("the stored reply can't be read")

var errNoReply = errors.New("it is no reply of this form")

// SealReply returns the bytes to store for the reply to a request with an idempotency key: the Form, then the
// plaintext, which is sealed with the Form, the organization and the id as its context. The id is derived
// from the key (by ReplyID of the service that writes the reply). The error comes from the sealer.
func SealReply(s Sealer, f Form, org, id ledger.ID, plaintext []byte) ([]byte, error) {
	if s == nil {
		return nil, errNoSealer
	}
	sealed, err := s.Seal(plaintext, replyContext(f, org, id))
	if err != nil {
		return nil, err
	}
	return append([]byte{byte(f)}, sealed...), nil
}

// OpenReply returns the plaintext that SealReply sealed for the same form, organization and id. The
// error comes from the sealer, or says that the bytes have another form.
func OpenReply(s Sealer, f Form, org, id ledger.ID, stored []byte) ([]byte, error) {
	if s == nil {
		return nil, errNoSealer
	}
	if !f.Has(stored) {
		return nil, errNoReply
	}
	return s.Open(stored[1:], replyContext(f, org, id))
}

var errNoSealer = errors.New("there are no keys for replies")

// Has tells whether the stored bytes begin with this form.
func (f Form) Has(stored []byte) bool { return len(stored) > 0 && stored[0] == byte(f) }

// replyContext binds a reply to the idempotency key of its request. The prefix keeps replies apart from
// other ciphertexts of the same organization and id.
func replyContext(f Form, org, id ledger.ID) []byte {
	const prefix = "reply "
	context := append(make([]byte, 0, len(prefix)+1+2*len(id)), prefix...)
	return append(append(append(context, byte(f)), org[:]...), id[:]...)
}

// ReplyRecord returns the record that stores a reply; false if there is none. The error is ErrReply
// if the row is damaged; other errors come from the store.
func ReplyRecord(v *posting.View, org ledger.ID, reply ledger.Source) (posting.Record, bool, error) {
	r, found, err := v.Record(org, reply)
	if posting.IsDamage(err) {
		err = fmt.Errorf("%w: %w", ErrReply, err)
	}
	return r, found, err
}

// EventBeforeReply returns the event directly before the reply's own event. replySeq is the number of the
// reply's own event; the reply's row has it. The event returned is the last one of the record that the reply
// shows, so it has the times that the reply shows. The result is false if the event at replySeq is not the
// reply's own, or is the first event.
func EventBeforeReply(v *posting.View, org ledger.ID, reply ledger.Source, replySeq uint64) (ledger.Event, bool, error) {
	replyEvent, _, found, err := v.Event(org, replySeq)
	if err != nil || !found || replyEvent.Source != reply {
		return ledger.Event{}, false, err
	}
	previous, _, found, err := v.Event(org, replySeq-1)
	return previous, found, err
}

// SealReply calls the function SealReply with the runtime's sealer. The error is a *ledger.Refusal.
func (rt *Runtime) SealReply(f Form, org, id ledger.ID, plaintext []byte) ([]byte, error) {
	stored, err := SealReply(rt.sealer, f, org, id, plaintext)
	if err != nil {
		return nil, ledger.Refuse("actors.SealReply", ledger.Internal, "what a request is answered with can't be sealed: %v", err)
	}
	return stored, nil
}

// OpenReply calls the function OpenReply with the runtime's sealer. The error is ErrReply.
func (rt *Runtime) OpenReply(f Form, org, id ledger.ID, stored []byte) ([]byte, error) {
	plaintext, err := OpenReply(rt.sealer, f, org, id, stored)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReply, err)
	}
	return plaintext, nil
}

// AlarmUnreadableReply raises an alarm: a stored reply was changed, or the keyring lacks the key that
// it was sealed with. The reply must not be shown; the caller answers from the records instead.
func (rt *Runtime) AlarmUnreadableReply(org, id ledger.ID, why error) {
	rt.unreadableReplies.Add(1)
	rt.Log.Error("a stored reply to an idempotency key does not open, and is not repeated: run mizan audit verify, and look whether the keyring is whole",
		"organization", org.String(), "reply", id.String(), "error", why)
}

// ReplyLost returns the refusal of a repeated request whose reply cannot be read and cannot be replaced
// by another reply. The fault is permanent, so a client must not be asked to try again.
func ReplyLost(op string) error {
	return ledger.Refuse(op, ledger.Conflict,
		"the request with this idempotency key was carried out, and its answer can no longer be read: look at what it made before you send it with another key")
}

// RepliesUnreadable returns the number of calls of AlarmUnreadableReply since the start.
func (rt *Runtime) RepliesUnreadable() uint64 { return rt.unreadableReplies.Load() }
