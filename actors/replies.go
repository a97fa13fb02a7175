package actors

import (
	"errors"
	"fmt"

	"mizan/ledger"
	"mizan/posting"
)

// Sealer keeps what must be neither read nor changed where it is stored;
// *secret.Keyring is one. A text opens with the context that it was sealed with only.
type Sealer interface {
	Seal(plaintext, context []byte) ([]byte, error)
	Open(sealed, context []byte) ([]byte, error)
}

// Form says whose words a reply is in. It is stored: none ever changes.
type Form byte

// The forms of replies.
const (
	PaymentReply      Form = 1 // how a transaction stood, in a record of its own
	ContractReply     Form = 2 // how a contract stood, in a record of its own
	SubscriptionReply Form = 3 // how a subscription stood, in the key's claim
)

// ErrReply says that what a request was answered with is stored, and nobody can vouch
// for it.
var ErrReply = errors.New("the stored reply can't be read")

var errNoReply = errors.New("it is no reply of this form")

// SealReply is what is stored of what a request with a key was answered with: the form,
// and the plaintext sealed for the one place that it is of: its form, organization and
// id, which is the key's (ReplyID of its service). The error is the sealer's.
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

// OpenReply is the plaintext of what SealReply made for the same place. The error is the
// sealer's, or says that the bytes are of another form.
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

// Has tells whether what is stored says that it is a reply of the form.
func (f Form) Has(stored []byte) bool { return len(stored) > 0 && stored[0] == byte(f) }

// replyContext binds a reply to the key that it answers. The words keep replies apart
// from whatever else is sealed for an organization and an id.
func replyContext(f Form, org, id ledger.ID) []byte {
	const words = "reply "
	context := append(make([]byte, 0, len(words)+1+2*len(id)), words...)
	return append(append(append(context, byte(f)), org[:]...), id[:]...)
}

// ReplyRecord is the record that keeps a reply; false: there is none. The error is
// ErrReply for one whose row is damaged, and else the store's.
func ReplyRecord(v *posting.View, org ledger.ID, reply ledger.Source) (posting.Record, bool, error) {
	r, found, err := v.Record(org, reply)
	if posting.IsDamage(err) {
		err = fmt.Errorf("%w: %w", ErrReply, err)
	}
	return r, found, err
}

// EventBehindWhich is the event directly before a reply's own, which is the last one of
// what the reply is about, and so has the times that it shows; last is the seq that the
// reply's row names. False: that is not the reply's own event, or the first one.
func EventBehindWhich(v *posting.View, org ledger.ID, reply ledger.Source, last uint64) (ledger.Event, bool, error) {
	own, _, found, err := v.Event(org, last)
	if err != nil || !found || own.Source != reply {
		return ledger.Event{}, false, err
	}
	then, _, found, err := v.Event(org, last-1)
	return then, found, err
}

// SealReply is the function of that name, with the runtime's sealer. An error is a
// *ledger.Refusal.
func (rt *Runtime) SealReply(f Form, org, id ledger.ID, plaintext []byte) ([]byte, error) {
	stored, err := SealReply(rt.sealer, f, org, id, plaintext)
	if err != nil {
		return nil, ledger.Refuse("actors.SealReply", ledger.Internal, "what a request is answered with can't be sealed: %v", err)
	}
	return stored, nil
}

// OpenReply is the function of that name, with the runtime's sealer. The error is
// ErrReply.
func (rt *Runtime) OpenReply(f Form, org, id ledger.ID, stored []byte) ([]byte, error) {
	plaintext, err := OpenReply(rt.sealer, f, org, id, stored)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReply, err)
	}
	return plaintext, nil
}

// ReplyUnreadable raises the alarm: what a key's request was answered with is there, and
// nobody can vouch for it. It was changed, or the key that it was sealed with is not in
// the keyring. It must not be shown; the caller is answered by what the records say.
func (rt *Runtime) ReplyUnreadable(org, id ledger.ID, why error) {
	rt.unreadable.Add(1)
	rt.Log.Error("a stored reply to an idempotency key does not open, and is not repeated: run mizan audit verify, and look whether the keyring is whole",
		"organization", org.String(), "reply", id.String(), "error", why)
}

// ReplyLost refuses to repeat a request whose answer can't be read, where nothing else can
// stand for it. It is no fault that passes by itself, so a program must not be asked to try
// again.
func ReplyLost(op string) error {
	return ledger.Refuse(op, ledger.Conflict,
		"the request with this idempotency key was carried out, and its answer can no longer be read: look at what it made before you send it with another key")
}

// RepliesUnreadable counts the alarms since the start.
func (rt *Runtime) RepliesUnreadable() uint64 { return rt.unreadable.Load() }
