package subscription

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/internal/msgpackcheck"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/subscription"
)

// recordVersion is the first byte of a subscription's stored form. A msgpack map follows.
const recordVersion = 1

// storedRecord lists the fields of the stored msgpack map, and their names there. The meaning of a name never changes.
type storedRecord struct {
	Partner    int64  `msgpack:"partner"`
	Initial    []byte `msgpack:"initial"`
	Amount     []byte `msgpack:"amount"`
	Days       int    `msgpack:"days"`
	Metadata   []byte `msgpack:"metadata,omitempty"`
	Terminal   []byte `msgpack:"terminal"`
	Asset      []byte `msgpack:"asset"`
	Progress   []byte `msgpack:"standing"`
	Notified   uint64 `msgpack:"told,omitempty"`
	Unnotified uint64 `msgpack:"untold,omitempty"`
}

var errUnknownForm = errors.New("subscription: unknown form")

// Encode returns the stored form of a subscription.
func Encode(r *subscription.Record) []byte {
	var encoded bytes.Buffer
	encoded.WriteByte(recordVersion)
	assert.NoError(msgpack.NewEncoder(&encoded).Encode(&storedRecord{
		Partner: r.Partner, Initial: r.InitialPayment[:], Amount: r.Amount.AppendBinary(nil), Days: r.PeriodDays, Metadata: r.Metadata,
		Terminal: r.Terminal[:], Asset: r.Asset.AppendBinary(nil), Progress: appendProgress(nil, &r.Progress),
		Notified: r.NotifiedEvents, Unnotified: r.UnnotifiedEvents,
	}))
	return encoded.Bytes()
}

// Decode parses the stored form of a subscription. The id is not part of it.
func Decode(id ledger.ID, payload []byte) (*subscription.Record, error) {
	if len(payload) == 0 || payload[0] != recordVersion || !msgpackcheck.WellFormed(payload[1:]) {
		return nil, errUnknownForm
	}
	var stored storedRecord
	if err := msgpack.Unmarshal(payload[1:], &stored); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnknownForm, err)
	}
	r := &subscription.Record{ID: id, Partner: stored.Partner, NotifiedEvents: stored.Notified, UnnotifiedEvents: stored.Unnotified}
	r.PeriodDays = stored.Days
	if len(stored.Metadata) > 0 {
		r.Metadata = stored.Metadata
	}
	if len(stored.Initial) != len(r.InitialPayment) || len(stored.Terminal) != len(r.Terminal) || r.PeriodDays < 1 || r.Partner < 1 {
		return nil, errUnknownForm
	}
	copy(r.InitialPayment[:], stored.Initial)
	copy(r.Terminal[:], stored.Terminal)
	var rest []byte
	var err error
	if r.Amount, rest, err = money.ReadAmount(stored.Amount); err != nil || len(rest) != 0 {
		return nil, errUnknownForm
	}
	if r.Asset, rest, err = money.ReadAsset(stored.Asset); err != nil || len(rest) != 0 {
		return nil, errUnknownForm
	}
	if r.Progress, rest, err = readProgress(stored.Progress); err != nil || len(rest) != 0 {
		return nil, errUnknownForm
	}
	return r, nil
}

// states maps the stored number of a state to the state. The numbers must never change.
var states = [...]subscription.State{
	1: subscription.Active, 2: subscription.Renewing, 3: subscription.PastDue, 4: subscription.Paused,
	5: subscription.PausedRenewing, 6: subscription.Cancelled, 7: subscription.CancelledRenewing,
}

// appendProgress writes those fields of a subscription that change in the course of time. They are stored in the
// subscription's record, in each notification and (encrypted) in the reply to a request with an idempotency key.
func appendProgress(dst []byte, s *subscription.Progress) []byte {
	state := slices.Index(states[:], s.State)
	assert.That(state > 0, "subscription: state %q is not stored", s.State)
	dst = append(dst, byte(state), s.Failures, s.Inquiries)
	for _, n := range [...]uint64{uint64(s.Anchor), uint64(s.NextCharge), s.Renewals, s.RenewalsBegun} {
		dst = binary.AppendUvarint(dst, n)
	}
	return append(dst, s.LastTransaction[:]...)
}

// ReplyID returns an id that is derived from a request's idempotency key. The reply to the request is sealed
// (encrypted) with this id, so that it can be opened only for the same key.
func ReplyID(org ledger.ID, key string) ledger.ID {
	return ledger.DerivedID(org, "subscription reply|"+key)
}

// appendReply writes the reply that is stored with an idempotency key. It consists of the subscription's id and progress.
func appendReply(r *subscription.Record) []byte {
	return appendProgress(r.ID[:len(r.ID):len(r.ID)], &r.Progress)
}

func readReply(plaintext []byte) (id ledger.ID, s subscription.Progress, err error) {
	if len(plaintext) < len(id) {
		return id, s, errUnknownForm
	}
	s, rest, err := readProgress(plaintext[copy(id[:], plaintext):])
	if err == nil && len(rest) != 0 {
		err = errUnknownForm
	}
	return id, s, err
}

// CheckReply opens the sealed reply that is stored with an idempotency key (actors.Key.ReadClaim), and returns the
// id of the subscription in the reply. keyring contains the encryption keys. The error says that the bytes were
// changed, or are not the reply to a request with this key.
func CheckReply(keyring actors.Sealer, org ledger.ID, key string, sealedReply []byte) (ledger.ID, error) {
	plaintext, err := actors.OpenReply(keyring, actors.SubscriptionReply, org, ReplyID(org, key), sealedReply)
	if err != nil {
		return ledger.ID{}, err
	}
	id, _, err := readReply(plaintext)
	return id, err
}

func readProgress(b []byte) (s subscription.Progress, rest []byte, err error) {
	const headSize = 3
	if len(b) < headSize || b[0] == 0 || int(b[0]) >= len(states) {
		return s, nil, errUnknownForm
	}
	s.State, s.Failures, s.Inquiries = states[b[0]], b[1], b[2]
	b = b[headSize:]
	var values [4]uint64
	for i := range values {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return s, nil, errUnknownForm
		}
		values[i], b = n, b[size:]
	}
	s.Anchor, s.NextCharge, s.Renewals, s.RenewalsBegun = ledger.Micros(values[0]), ledger.Micros(values[1]), values[2], values[3]
	if len(b) < len(s.LastTransaction) {
		return s, nil, errUnknownForm
	}
	copy(s.LastTransaction[:], b)
	return s, b[len(s.LastTransaction):], nil
}

// noticeVersion is the first byte of a stored notice. The event's number and the subscription's progress just after
// the event follow.
const noticeVersion = 1

// notifiedEvents maps the stored number of an event to the event. The numbers must never change.
var notifiedEvents = [...]subscription.Event{
	1: subscription.Renewed, 2: subscription.Unpaid, 3: subscription.Pause, 4: subscription.Resume, 5: subscription.Cancel,
}

func encodeNotice(t *subscription.Notification) []byte {
	event := slices.Index(notifiedEvents[:], t.Event)
	assert.That(event > 0, "subscription: no notification of %q", t.Event)
	return appendProgress([]byte{noticeVersion, byte(event)}, &t.Progress)
}

// DecodeNotice parses the body of a subscription's posting.Notice. It returns the event, and the
// subscription's progress just after the event.
func DecodeNotice(body []byte) (subscription.Event, subscription.Progress, error) {
	const headSize = 2
	if len(body) < headSize || body[0] != noticeVersion || body[1] == 0 || int(body[1]) >= len(notifiedEvents) {
		return "", subscription.Progress{}, errUnknownForm
	}
	s, rest, err := readProgress(body[headSize:])
	if err != nil || len(rest) != 0 {
		return "", subscription.Progress{}, errUnknownForm
	}
	return notifiedEvents[body[1]], s, nil
}
