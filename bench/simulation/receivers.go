package simulation

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"

	"mizan/actors/notifier/webhook"
)

// receivers are the merchants' servers. They outlive every process of the service.
type receivers struct {
	world *world

	mu       sync.Mutex
	conns    map[net.Conn]*engine    // the merchants' ends of open connections, and the engines at the other ends; guarded by mu
	accepted []notification          // notifications that were acknowledged with status 200
	data     map[string]string       // event id → data of the notifications about the event
	events   map[string]notification // event id → last notification about the event
}

// notification is the body of a notification.
type notification struct {
	EventID string `json:"event_id"` // empty if the notification is about a subscription
	Event   string `json:"event"`
	Data    struct {
		ID     string `json:"id"`
		TxID   string `json:"txid"`
		Status string `json:"status"`
		Amount string `json:"amount"`
	} `json:"data"`
}

func newReceivers(w *world) *receivers {
	return &receivers{world: w, conns: make(map[net.Conn]*engine), data: make(map[string]string), events: make(map[string]notification)}
}

// dialer returns the function with which an engine connects to the merchants' servers. s is the scheduler of its process.
func (r *receivers) dialer(e *engine, s *scheduler) webhook.Dial {
	return func(context.Context, string, string) (net.Conn, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if s.isKilled() || e.isCut {
			return nil, net.ErrClosed
		}
		ours, theirs := net.Pipe()
		r.conns[theirs] = e
		go r.serve(theirs, s)
		return ours, nil
	}
}

// areBusy returns whether a notification is under way.
func (r *receivers) areBusy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns) > 0
}

// cut closes the connections of an engine, and lets it open no others.
func (r *receivers) cut(e *engine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e != nil {
		e.isCut = true
	}
	for c, by := range r.conns {
		if by == e {
			_ = c.Close()
		}
	}
}

// serve answers one request.
func (r *receivers) serve(conn net.Conn, s *scheduler) {
	defer func() {
		r.mu.Lock()
		delete(r.conns, conn)
		r.mu.Unlock()
		_ = conn.Close()
	}()
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	var n notification
	if err := json.Unmarshal(body, &n); err != nil || n.EventID == "" && n.Event == "" {
		r.world.recordViolation("a request to a merchant's server is not a notification: %s", body)
		return
	}
	switch s.await(waitDelivery, n.Event+" "+n.Data.TxID+" "+n.Data.Amount+" "+n.Data.Status) {
	case verdictDead: // the notification never arrived
	case verdictFail:
		r.note(&n, body, false)
		_, _ = io.WriteString(conn, "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n") // the service may be gone
	case verdictFailPersisted: // the notification arrived, but the answer is lost
		r.note(&n, body, true)
	case verdictTwice: // for a notification, this verdict means that the server gets the request and never answers
		r.note(&n, body, false)
		_, _ = io.Copy(io.Discard, conn)
	default:
		r.note(&n, body, true)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
}

// note records a notification that arrived. It checks that all notifications about one event have the same data.
func (r *receivers) note(n *notification, body []byte, isAccepted bool) {
	var parts struct {
		Data json.RawMessage `json:"data"`
	}
	_ = json.Unmarshal(body, &parts) // no error is possible, because serve has already parsed the body
	data := string(parts.Data)
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.EventID == "" {
		return
	}
	if earlier, exists := r.data[n.EventID]; exists && earlier != data {
		r.world.recordViolation("event %s was sent with other data: %s, before %s", n.EventID, data, earlier)
	}
	r.data[n.EventID], r.events[n.EventID] = data, *n
	if isAccepted {
		r.accepted = append(r.accepted, *n)
	}
}
