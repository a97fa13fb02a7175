package admin

import (
	"bytes"
	"context"
	"strconv"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/schema"
)

// change describes how a kind of write is answered, which is all that a repetition needs.
type change[T any] struct {
	status int
	bare   bool // the fields are at the top level too
	append func(*web.Encoder, T)
	warn   func(T) []string // what the caller should know of it besides; nil: nothing
}

// run makes a change once: a request with an Idempotency-Key that was used before gets the
// answer of then. do copies what it needs of the request: it may still run when the
// request is over.
func (how change[T]) run(h *Handlers, req *web.Request, do func(context.Context) (T, error)) error {
	key, err := h.keys.Admin(req)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandWait)
	defer cancel()
	if !key.IsZero() {
		if answered, err := h.repeat(req, key); answered || err != nil {
			return err
		}
		ctx = directoryactor.Once(ctx, key, how.answer)
	}
	made, err := do(ctx)
	if err != nil {
		return h.orRepeat(req, key, err)
	}
	web.WriteJSON(req.RequestCtx, how.status, how.body(made))
	return nil
}

// body is the answer's body, with warnings if there are any.
func (how change[T]) body(made T) []byte {
	body := web.OneBody(how.bare, made, how.append)
	if how.warn == nil {
		return body
	}
	warnings := how.warn(made)
	if len(warnings) == 0 {
		return body
	}
	e := web.Encoder{Buf: body[:len(body)-1]} // the object goes on
	e.Texts("warnings", warnings)
	e.Close('}')
	return e.Buf
}

// answer is what is kept with the key: the answer as the caller gets it, with gaps for
// what is not known before the change is booked.
func (how change[T]) answer(made any) directoryactor.Answer {
	return directoryactor.Answer{Status: how.status, Body: how.body(made.(T))}
}

// orRepeat answers a refused write whose key has been used meanwhile with the answer of
// the faster one. Otherwise the refusal holds.
func (h *Handlers) orRepeat(req *web.Request, key actors.Key, refusal error) error {
	if key.IsZero() {
		return refusal
	}
	if answered, err := h.repeat(req, key); answered || err != nil {
		return err
	}
	return refusal
}

// repeat gives the answer that the key's request was given; false if the key is free. The
// error is a Conflict if the key was used for another request.
func (h *Handlers) repeat(req *web.Request, key actors.Key) (answered bool, err error) {
	a, found, err := h.cfg.Directory.Answered(key)
	if err != nil || !found {
		return false, err
	}
	web.MarkReplayed(req)
	web.WriteJSON(req.RequestCtx, a.Status, fillGaps(a.Body, &a))
	return true, nil
}

// Gaps in an answer that is kept before its change is booked: for the instant of booking
// and for the seq in the journal. JSON never has such bytes.
var (
	instantGap = bytes.Repeat([]byte{0}, len(schema.InstantLayout))
	seqGap     = []byte{1}
)

// appendBooked writes the time at which something was booked. It is zero only in an answer
// that is kept before.
func appendBooked(e *web.Encoder, name string, at ledger.Micros) {
	if at != 0 {
		e.Instant(name, at)
		return
	}
	e.Key(name)
	e.Buf = append(e.Buf, '"')
	e.Buf = append(e.Buf, instantGap...)
	e.Buf = append(e.Buf, '"')
}

// appendNumbered writes the seq of the event that made a record. It is zero only in an
// answer that is kept before.
func appendNumbered(e *web.Encoder, name string, seq uint64) {
	e.Key(name)
	if seq == 0 {
		e.Buf = append(e.Buf, seqGap...)
		return
	}
	e.Buf = strconv.AppendUint(e.Buf, seq, 10)
}

// fillGaps fills in what was not known when the answer was kept.
func fillGaps(body []byte, a *directoryactor.Answer) []byte {
	body = bytes.ReplaceAll(body, instantGap, a.Booked.Time().AppendFormat(nil, schema.InstantLayout))
	return bytes.ReplaceAll(body, seqGap, strconv.AppendUint(nil, a.Seq, 10))
}
