package payment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// replyVersion begins a reply's payload: the stamp's numbers and the
// transaction's payload follow.
const replyVersion = 1

// stampNumbers is how many numbers of a stamp a reply keeps.
const stampNumbers = 8

// ReplyID is the id of the record that keeps what a request with the key was
// answered with: a UUID version 5 (RFC 9562, 5.5) in the organization's name space.
func ReplyID(org ledger.ID, key string) ledger.ID {
	return uuid.NewSHA1(org, []byte("reply|"+key))
}

// keep makes durable what a request with a key is about to be answered with. So
// whoever was answered is answered the same when it asks again, whatever becomes
// of the transaction meanwhile. The claim of the key is in the request's own
// Change; this follows, because the answer is only known when the provider has
// given the first one. The reply that is kept is returned: another caller's, if
// it came first.
func (s *Service) keep(org ledger.ID, key *actors.Key, r Result) (Result, error) {
	if key.IsZero() {
		return r, nil
	}
	source := ledger.Source{Kind: ledger.Reply, ID: ReplyID(org, key.ClaimKey())}
	done := make(chan error, 1)
	s.rt.Journal.Submit(&posting.Change{Outcome: true, Steps: []posting.Step{{
		Org: org, Source: source, Record: encodeReply(&r), Events: []ledger.Event{directory.NewReply(source.ID)},
	}}}, func(receipt posting.Receipt) { done <- receipt.Err })
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	var err error
	select {
	case err = <-done:
	case <-timer.C:
		return r, ledger.Refuse("payment.keep", ledger.Unavailable, "the answer is not stored yet; ask again with the same key")
	}
	if ledger.IsRefusal(err, ledger.StaleVersion) {
		kept, found, err := s.kept(org, key)
		if err == nil && found {
			kept.Replay = r.Replay
			return kept, nil
		}
		return r, err
	}
	return r, err
}

// kept is what a request with the key was answered with; false if it was not
// answered, or nobody knows.
func (s *Service) kept(org ledger.ID, key *actors.Key) (Result, bool, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Reply, ID: ReplyID(org, key.ClaimKey())})
	if err != nil || !found {
		return Result{}, false, err
	}
	r, err := DecodeReply(stored.Payload)
	return r, err == nil, err
}

func encodeReply(r *Result) []byte {
	payload := []byte{replyVersion}
	s := &r.Stamp
	for _, n := range [stampNumbers]uint64{
		s.Version, s.LastSeq, uint64(s.Started), uint64(s.Updated), uint64(s.Due), s.Held, s.Settled, uint64(s.Finished),
	} {
		payload = binary.AppendUvarint(payload, n)
	}
	return append(payload, Encode(r.Record)...)
}

// DecodeReply reads the payload of a ledger.Reply.
func DecodeReply(payload []byte) (Result, error) {
	if len(payload) == 0 || payload[0] != replyVersion {
		return Result{}, errors.New("reply: unknown form")
	}
	rest := payload[1:]
	var n [stampNumbers]uint64
	for i := range n {
		v, size := binary.Uvarint(rest)
		if size <= 0 {
			return Result{}, errors.New("reply: a stamp that is cut off")
		}
		n[i], rest = v, rest[size:]
	}
	record, err := Decode(rest)
	if err != nil {
		return Result{}, fmt.Errorf("reply: %w", err)
	}
	record.Finished = ledger.Micros(n[7])
	return Result{Record: record, Stamp: posting.Stamp{
		Version: n[0], LastSeq: n[1], Started: ledger.Micros(n[2]), Updated: ledger.Micros(n[3]), Due: ledger.Micros(n[4]),
		Held: n[5], Settled: n[6], Finished: ledger.Micros(n[7]),
	}}, nil
}
