package admin

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"mizan/actors/notifier"
	"mizan/api/web"
	"mizan/api/web/conn"
	"mizan/ledger"
	"mizan/posting"
)

// Time limits of a notification stream. They use real time, not the sandbox's clock.
const (
	streamTime          = time.Hour        // a stream ends after this time, so that its caller must authenticate again
	keepaliveInterval   = 15 * time.Second // after this time without a notification, a comment is sent to keep the connection open
	callerCheckInterval = time.Second      // how often a quiet stream checks whether its caller is still connected
)

// secretLabel begins the text that is hashed to a stream's secret, so that the secret never equals another hash made with the
// same key.
const secretLabel = "mizan notification stream: "

// streamNotifications is GET /notifications/stream?stream_id: it sends the organization's signed notifications from now on, as
// server-sent events. If a stream breaks off, the client sends that stream's id as stream_id, and the new stream has the same
// secret.
func (h *Handlers) streamNotifications(req *web.Request) error {
	if err := req.RequireChunks(); err != nil {
		return err
	}
	org, err := req.Organization(h.cfg.Directory)
	if err != nil {
		return err
	}
	q := web.QueryOf(req.RequestCtx, "stream_id")
	id, isContinued := q.ID("stream_id")
	if err := q.Problems.Err(); err != nil {
		return err
	}
	if !isContinued {
		id = uuid.New()
	}
	// Streams are not stored, so the secret must be computable: it is a keyed hash of the organization and the stream's id.
	// Both are public, but only the server has the key.
	secret := "whsec_" + h.cfg.Fingerprint(append([]byte(secretLabel), org.String()+" "+id.String()...))
	if req.IsHead() {
		req.SetStreamHeaders(eventStreamType)
		return nil
	}
	listener, err := h.cfg.Deliveries.Listen(org, secret)
	if err != nil {
		return err
	}
	caller := req.Conn()
	stream := &notificationStream{
		listener: listener, serving: h.cfg.Serving, isCallerGone: func() bool { return conn.IsClosedByPeer(caller) },
		lookup: callerCheckInterval, keepalive: keepaliveInterval, endsAt: time.Now().Add(streamTime), lastSent: time.Now(),
	}
	stream.send("ready", web.Marshal(streamReadyJSON{Stream: id, Organization: org, Secret: secret}))
	req.SetStreamHeaders(eventStreamType)
	req.Stream(stream)
	return nil
}

const eventStreamType = "text/event-stream; charset=utf-8"

// streamReadyJSON is the first event of a stream.
type streamReadyJSON struct {
	Stream       ledger.ID `json:"stream_id"`
	Organization ledger.ID `json:"organization_id"`
	Secret       string    `json:"secret"` // signs notifications to terminals and partners that have no secret of their own
}

// streamEndJSON is the last event of a stream.
type streamEndJSON struct {
	Reason  string `json:"reason"` // too_slow, stopping or time
	Message string `json:"message"`
}

// streamedJSON is a notification in a stream. The signature in Headers covers Body.
type streamedJSON struct {
	Event        *ledger.ID        `json:"event_id"`
	Transaction  *ledger.ID        `json:"transaction_id"`
	Subscription *ledger.ID        `json:"subscription_id,omitempty"`
	Terminal     ledger.ID         `json:"terminal_id"`
	Channel      string            `json:"channel"`
	Type         string            `json:"type"`
	Booked       web.Instant       `json:"booked_at"`
	Delivered    bool              `json:"delivered"`
	SignedWith   *string           `json:"signed_with"`
	Headers      map[string]string `json:"headers"`
	Body         string            `json:"body"`
}

func newStreamedJSON(n *notifier.Notification) *streamedJSON {
	r := &streamedJSON{
		Terminal: n.To, Channel: n.Channel.String(), Type: n.Type, Booked: web.Instant(n.Booked), Delivered: n.HasDelivery,
		Headers: make(map[string]string, len(n.Message.Headers)), Body: string(n.Message.Body),
	}
	if n.Channel == posting.Webhook {
		r.Event = &n.Event
		r.SignedWith = web.NilIfEmpty("own")
		if n.SignedByListener {
			r.SignedWith = web.NilIfEmpty("stream")
		}
	}
	switch n.Source.Kind {
	case ledger.Transaction:
		r.Transaction = &n.Source.ID
	case ledger.Subscription:
		r.Subscription = &n.Source.ID
	}
	for _, header := range n.Message.Headers {
		r.Headers[header[0]] = header[1]
	}
	return r
}

// follower contains the methods of *notifier.Listener that a stream calls.
type follower interface {
	Next(context.Context) (*notifier.Notification, error)
	Close()
}

// notificationStream is the body of the response: server-sent events. Each event is encoded when fasthttp reads it.
type notificationStream struct {
	listener     follower
	serving      context.Context // cancelled when the server begins to stop
	isCallerGone func() bool

	lookup, keepalive time.Duration
	endsAt, lastSent  time.Time

	unread  []byte // encoded events that fasthttp has not read yet
	isEnded bool   // nothing follows unread
}

// errCallerGone ends a stream whose caller has closed the connection.
var errCallerGone = errors.New("the caller is gone")

// Read implements io.Reader. If all encoded events were read, Read waits for the next notification.
func (s *notificationStream) Read(p []byte) (int, error) {
	for len(s.unread) == 0 {
		if s.isEnded {
			return 0, io.EOF
		}
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

// Close implements io.Closer.
func (s *notificationStream) Close() error {
	s.listener.Close()
	return nil
}

// next waits for a notification, but only until the caller's connection must be checked again. Before it waits, next checks
// whether the stream's time is up, so that a stream ends after streamTime even if notifications arrive all the time.
func (s *notificationStream) next() error {
	if time.Now().After(s.endsAt) {
		s.end("time", "the stream has lasted "+streamTime.String()+": connect again")
		return nil
	}
	ctx, cancel := context.WithTimeout(s.serving, s.lookup)
	defer cancel()
	n, err := s.listener.Next(ctx)
	switch {
	case err == nil:
		s.send("notification", web.Marshal(newStreamedJSON(n)))
	case errors.Is(err, notifier.ErrSlowListener):
		s.end("too_slow", "the stream is read too slowly: "+err.Error()+"; connect again, what was notified in the meantime is among the deliveries if it has an address")
	case s.serving.Err() != nil, errors.Is(err, notifier.ErrListeningEnded):
		s.end("stopping", "the server is stopping")
	case s.isCallerGone():
		return errCallerGone
	case time.Since(s.lastSent) >= s.keepalive:
		s.unread, s.lastSent = []byte(": still here\n\n"), time.Now()
	}
	return nil
}

// send encodes an event.
func (s *notificationStream) send(event string, data []byte) {
	s.unread = append(s.unread, "event: "+event+"\ndata: "...)
	s.unread = append(append(s.unread, data...), "\n\n"...)
	s.lastSent = time.Now()
}

// end encodes the last event.
func (s *notificationStream) end(reason, message string) {
	s.send("end", web.Marshal(streamEndJSON{reason, message}))
	s.isEnded = true
}
