package payment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
)

// headerNumbers is the number of integers with which a reply stores its header (the record's version and times).
const headerNumbers = 9

// ReplyID returns the id of the record with the cached reply to a request, derived from the
// request's key.
func ReplyID(org ledger.ID, key string) ledger.ID {
	return ledger.DerivedID(org, "reply|"+key)
}

// storeCachedReply stores the reply to a request with a key before the reply is sent, so that a repeated request gets the
// same reply even if the transaction has changed. The Change that stores the request's decision also claims the key; the
// reply is stored by a later Change, because it is known only after the provider's first answer. storeCachedReply returns
// the reply, or the reply that another caller with the same key has stored first. The parameter author is the author of
// the request.
func (s *Service) storeCachedReply(org ledger.ID, key *actors.Key, author ledger.Author, r Result) (Result, error) {
	if key.IsZero() {
		return r, nil
	}
	source := ledger.Source{Kind: ledger.Reply, ID: ReplyID(org, key.ClaimKey())}
	sealed, err := s.rt.SealReply(actors.PaymentReply, org, source.ID, encodeReply(&r))
	if err != nil {
		return r, err
	}
	commitResult := make(chan error, 1)
	s.rt.Journal.Submit(&posting.Change{Author: author, MustRecord: true, Steps: []posting.Step{{
		Org: org, Source: source, Record: sealed, Events: []ledger.Event{directory.NewReply(source.ID)},
	}}}, func(receipt posting.Receipt) { commitResult <- receipt.Err })
	timer := time.NewTimer(s.createWait)
	defer timer.Stop()
	select {
	case err = <-commitResult:
	case <-timer.C:
		return r, ledger.Refuse("payment.keep", ledger.Unavailable, "the answer is not stored yet; ask again with the same key")
	}
	if ledger.IsRefusal(err, ledger.StaleVersion) {
		storedResult, state, err := s.cachedReply(org, key)
		if err == nil && state == replyReadable {
			storedResult.Replay = r.Replay
			return storedResult, nil
		}
		return r, err
	}
	return r, err
}

// replyState says whether a reply is stored and can be read.
type replyState uint8

const (
	replyAbsent     replyState = iota // no reply to the key's request is stored
	replyReadable                     // the stored reply was decrypted
	replyUnreadable                   // a reply is stored but cannot be decrypted
)

// cachedReply returns the stored reply to the request with the key. If the reply cannot be decrypted,
// cachedReply logs an error, and its caller replies with the transaction's current state.
func (s *Service) cachedReply(org ledger.ID, key *actors.Key) (Result, replyState, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	id := ReplyID(org, key.ClaimKey())
	r, found, err := s.readReply(view, org, id)
	switch {
	case errors.Is(err, actors.ErrReply):
		s.rt.LogUnreadableReply(org, id, err)
		return Result{}, replyUnreadable, nil
	case err != nil || !found:
		return Result{}, replyAbsent, err
	}
	return r, replyReadable, nil
}

// readReply reads a reply. If no reply is stored, it returns false. The error is actors.ErrReply if the
// stored reply cannot be decrypted or parsed; other errors come from the store.
func (s *Service) readReply(view *posting.View, org, id ledger.ID) (Result, bool, error) {
	record, found, err := actors.ReplyRecord(view, org, ledger.Source{Kind: ledger.Reply, ID: id})
	if err != nil || !found {
		return Result{}, false, err
	}
	plaintext, err := s.rt.OpenReply(actors.PaymentReply, org, id, record.Payload)
	if err != nil {
		return Result{}, false, err
	}
	r, err := decodeReply(plaintext)
	if err != nil {
		return Result{}, false, fmt.Errorf("%w: %w", actors.ErrReply, err)
	}
	return r, true, nil
}

// encodeReply returns the plaintext of a reply: the numbers of its header, and the encoded record of
// the transaction.
func encodeReply(r *Result) []byte {
	var payload []byte
	s := &r.Header
	for _, n := range [headerNumbers]uint64{
		s.Version, s.LastSeq, uint64(s.StartedAt), uint64(s.UpdatedAt), uint64(s.Due), s.HeldSeq, s.SettledSeq, uint64(s.FinishedAt), s.FirstSeq,
	} {
		payload = binary.AppendUvarint(payload, n)
	}
	return append(payload, paymentcodec.Encode(r.Record)...)
}

// OpenReply decrypts and parses the payload of a ledger.Reply about a transaction. keys must contain
// the key that sealed the payload. An error means that the payload is malformed or was changed.
func OpenReply(keys actors.Sealer, org, id ledger.ID, payload []byte) (Result, error) {
	plaintext, err := actors.OpenReply(keys, actors.PaymentReply, org, id, payload)
	if err != nil {
		return Result{}, err
	}
	return decodeReply(plaintext)
}

func decodeReply(plaintext []byte) (Result, error) {
	var numbers [headerNumbers]uint64
	for i := range numbers {
		v, size := binary.Uvarint(plaintext)
		if size <= 0 {
			return Result{}, errors.New("reply: a stamp that is cut off")
		}
		numbers[i], plaintext = v, plaintext[size:]
	}
	record, err := paymentcodec.Decode(plaintext)
	if err != nil {
		return Result{}, fmt.Errorf("reply: %w", err)
	}
	record.FinishedAt = ledger.Micros(numbers[7])
	return Result{Record: record, Header: posting.RecordHeader{
		Version: numbers[0], LastSeq: numbers[1], StartedAt: ledger.Micros(numbers[2]), UpdatedAt: ledger.Micros(numbers[3]), Due: ledger.Micros(numbers[4]),
		HeldSeq: numbers[5], SettledSeq: numbers[6], FinishedAt: ledger.Micros(numbers[7]), FirstSeq: numbers[8],
	}}, nil
}
