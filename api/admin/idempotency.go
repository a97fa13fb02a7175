package admin

import (
	"bytes"
	"context"
	"strconv"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/ledger/schema"
)

// writeReply describes the response to one kind of write. A repeated request gets the same response.
type writeReply[T any] struct {
	status int
	bare   bool                     // the record's fields are at the top level too
	append func(*schema.Encoder, T) // writes the fields of a record
	show   func(T) any              // if append is nil: a struct with json tags
	warn   func(T) []string         // warnings for the caller about the result; nil: none
}

// run makes a change once. A request whose Idempotency-Key was used before gets the cached
// reply. change must copy what it needs of the request, because it may still run after the request
// has ended.
func (reply writeReply[T]) run(h *Handlers, req *web.Request, change func(context.Context) (T, error)) error {
	key, err := h.keys.Admin(req)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandWait)
	defer cancel()
	if !key.IsZero() {
		if answered, err := h.replay(req, key); answered || err != nil {
			return err
		}
		ctx = directoryactor.Once(ctx, key, reply.cached)
	}
	result, err := change(ctx)
	if err != nil {
		return h.replayOr(req, key, err)
	}
	web.WriteJSON(req.RequestCtx, reply.status, reply.body(result))
	return nil
}

// body is the response's body, with warnings if there are any.
func (reply writeReply[T]) body(result T) []byte {
	if reply.append == nil {
		return web.DataBody(reply.show(result))
	}
	body := web.OneBody(reply.bare, result, reply.append)
	if reply.warn == nil {
		return body
	}
	warnings := reply.warn(result)
	if len(warnings) == 0 {
		return body
	}
	e := schema.Encoder{Buf: body[:len(body)-1]} // the object is still open
	e.Texts("warnings", warnings)
	e.Close('}')
	return e.Buf
}

// cached returns the reply to store with the key, with gaps for values that are not known
// before the change is booked.
func (reply writeReply[T]) cached(result any) directoryactor.Answer {
	return directoryactor.Answer{Status: reply.status, Body: reply.body(result.(T))}
}

// replayOr handles a refused write. If a concurrent request has used the key meanwhile, it
// responds with that request's reply; otherwise it returns the refusal.
func (h *Handlers) replayOr(req *web.Request, key actors.Key, refusal error) error {
	if key.IsZero() {
		return refusal
	}
	if answered, err := h.replay(req, key); answered || err != nil {
		return err
	}
	return refusal
}

// replay responds with the cached reply for the key. answered is false if the key is free. The error is a
// Conflict if the key was used for another request.
func (h *Handlers) replay(req *web.Request, key actors.Key) (answered bool, err error) {
	a, found, err := h.cfg.Directory.Answered(key)
	if err != nil || !found {
		return false, err
	}
	web.MarkReplayed(req)
	web.WriteJSON(req.RequestCtx, a.Status, fillGaps(a.Body, &a))
	return true, nil
}

// Gaps in a reply that is stored before its change is booked: for the booked time and for the
// seq in the journal. JSON never contains such bytes.
var (
	instantGap = bytes.Repeat([]byte{0}, len(schema.InstantLayout))
	seqGap     = []byte{1}
)

// fillGaps fills in the values that were not known when the reply was stored.
func fillGaps(body []byte, a *directoryactor.Answer) []byte {
	body = bytes.ReplaceAll(body, instantGap, a.Booked.Time().AppendFormat(nil, schema.InstantLayout))
	return bytes.ReplaceAll(body, seqGap, strconv.AppendUint(nil, a.Seq, 10))
}
