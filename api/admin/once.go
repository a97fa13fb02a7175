package admin

import (
	"bytes"
	"context"
	"strconv"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/ledger"
)

// change is one kind of write of the administration: how it is answered, which
// is all that its repetition needs.
type change[T any] struct {
	status int
	bare   bool // the fields are at the top level too
	append func(*web.Encoder, T)
	warn   func(T) []string // what the caller should know of it besides; nil: nothing
}

// run makes a change once: with an Idempotency-Key that was used already, its
// answer is given again. What do needs of the request it has to copy: it may
// still be at work when the request is over.
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

// body is the answer's. It has a list of warnings where there are any.
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

// answer is what is kept with the key. It sees the same thing as the caller, but
// for the instants that are not known yet.
func (how change[T]) answer(made any) directoryactor.Answer {
	return directoryactor.Answer{Status: how.status, Body: how.body(made.(T))}
}

// orRepeat answers a write that was refused, if its key is used by now, with the
// answer of the one that was faster; otherwise the refusal holds.
func (h *Handlers) orRepeat(req *web.Request, key actors.Key, refusal error) error {
	if key.IsZero() {
		return refusal
	}
	if answered, err := h.repeat(req, key); answered || err != nil {
		return err
	}
	return refusal
}

// repeat gives the answer that the key's request was given; false if the key is
// free. The error is a Conflict if it was used for another request.
func (h *Handlers) repeat(req *web.Request, key actors.Key) (answered bool, err error) {
	a, found, err := h.cfg.Directory.Answered(key)
	if err != nil || !found {
		return false, err
	}
	web.MarkReplayed(req)
	web.WriteJSON(req.RequestCtx, a.Status, fillBooked(a.Body, &a))
	return true, nil
}

// unbooked is the room for an instant in an answer that is kept before the
// instant is known, and unnumbered for a place in the journal. JSON never has such
// bytes.
var (
	unbooked   = bytes.Repeat([]byte{0}, len(web.InstantLayout))
	unnumbered = []byte{1}
)

// booked writes the time at which the ledger has something booked. It is zero
// only in what is answered before.
func appendBooked(e *web.Encoder, name string, at ledger.Micros) {
	if at != 0 {
		e.Instant(name, at)
		return
	}
	e.Key(name)
	e.Buf = append(e.Buf, '"')
	e.Buf = append(e.Buf, unbooked...)
	e.Buf = append(e.Buf, '"')
}

// numbered writes the place in the journal of what made the thing. It is zero
// only in what is answered before.
func appendNumbered(e *web.Encoder, name string, seq uint64) {
	e.Key(name)
	if seq == 0 {
		e.Buf = append(e.Buf, unnumbered...)
		return
	}
	e.Buf = strconv.AppendUint(e.Buf, seq, 10)
}

func fillBooked(body []byte, a *directoryactor.Answer) []byte {
	body = bytes.ReplaceAll(body, unbooked, a.Booked.Time().AppendFormat(nil, web.InstantLayout))
	return bytes.ReplaceAll(body, unnumbered, strconv.AppendUint(nil, a.Seq, 10))
}
