package records

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/ledger/schema"
)

// Reply describes the response to one kind of write. A request that is repeated with the same
// Idempotency-Key gets the same response.
type Reply[T any] struct {
	Status     int
	AtTopLevel bool                     // the record's fields are both in data and at the top level
	Append     func(*schema.Encoder, T) // writes the fields of a record
	Show       func(T) any              // returns a struct with json tags; used if Append is nil
	Warn       func(T) []string         // returns warnings for the caller about the result; nil if there are none
}

// CachedReplies finds the cached replies to the requests of one family of routes.
type CachedReplies struct {
	Key   func(*web.Request) (actors.Key, error)                                     // the request's idempotency key
	Reply func(actors.Key) (reply directoryactor.CachedReply, found bool, err error) // the reply to the write that claimed the key
}

// CommandWait is how long a request waits, in real time, for a change. After that time the request fails, and the
// caller can't know whether the change was made.
const CommandWait = 15 * time.Second

// Run makes a change and responds. If the request's Idempotency-Key was used before, Run makes no change and responds with
// the cached reply. change must copy the data that it needs from the request, because it may still run after the request has
// ended.
func (reply Reply[T]) Run(c CachedReplies, req *web.Request, change func(context.Context) (T, error)) error {
	key, err := c.Key(req)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(directoryactor.WithAuthor(context.Background(), req.Author()), CommandWait)
	defer cancel()
	if !key.IsZero() {
		if answered, err := c.replay(req, key); answered || err != nil {
			return err
		}
		ctx = directoryactor.WithCachedReply(ctx, key, reply.replyToStore)
	}
	result, err := change(ctx)
	if err != nil {
		return c.replayOrRefuse(req, key, err)
	}
	writeBody(req, reply.Status, reply.body(result))
	return nil
}

// writeBody responds with a body, if the status allows one.
func writeBody(req *web.Request, status int, body []byte) {
	if status == fiber.StatusNoContent {
		req.Response.SetStatusCode(status)
		return
	}
	web.WriteJSON(req.RequestCtx, status, body)
}

// body returns the response's body, with warnings if there are any.
func (reply Reply[T]) body(result T) []byte {
	switch {
	case reply.Status == fiber.StatusNoContent:
		return nil
	case reply.Append == nil:
		return web.DataBody(reply.Show(result))
	}
	body := web.OneBody(reply.AtTopLevel, result, reply.Append)
	if reply.Warn == nil {
		return body
	}
	warnings := reply.Warn(result)
	if len(warnings) == 0 {
		return body
	}
	e := schema.Encoder{Buf: body[:len(body)-1]} // the body without its closing brace, so that a member can be added
	e.Texts("warnings", warnings)
	e.Close('}')
	return e.Buf
}

// replyToStore returns the reply that is stored with the key. It has gaps for values that are not known before the change is
// booked.
func (reply Reply[T]) replyToStore(result any) directoryactor.CachedReply {
	return directoryactor.CachedReply{Status: reply.Status, Body: reply.body(result.(T))}
}

// replayOrRefuse handles a refused write. If a concurrent request has used the key in the meantime, the
// response is that request's reply. Otherwise the refusal is returned.
func (c CachedReplies) replayOrRefuse(req *web.Request, key actors.Key, refusal error) error {
	if key.IsZero() {
		return refusal
	}
	if answered, err := c.replay(req, key); answered || err != nil {
		return err
	}
	return refusal
}

// replay responds with the cached reply for the key. If the key was not used before, answered is false. If the key was used
// for another request, the error is a Conflict.
func (c CachedReplies) replay(req *web.Request, key actors.Key) (answered bool, err error) {
	answer, found, err := c.Reply(key)
	if err != nil || !found {
		return false, err
	}
	web.MarkReplayed(req)
	writeBody(req, answer.Status, fillPlaceholders(answer.Body, &answer))
	return true, nil
}

// Placeholders for the booked time and for the sequence number in the journal, in a reply that is stored before its change is
// booked. JSON never contains such bytes.
var (
	instantPlaceholder = bytes.Repeat([]byte{0}, len(schema.InstantLayout))
	seqPlaceholder     = []byte{1}
)

// fillPlaceholders fills in the values that were not known when the reply was stored.
func fillPlaceholders(body []byte, answer *directoryactor.CachedReply) []byte {
	body = bytes.ReplaceAll(body, instantPlaceholder, answer.Booked.Time().AppendFormat(nil, schema.InstantLayout))
	return bytes.ReplaceAll(body, seqPlaceholder, strconv.AppendUint(nil, answer.Seq, 10))
}
