package crash

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// sinkSecret is the secret with which notifications to the sink are signed.
const sinkSecret = "whsec-crash"

// maxFailedAttempts is the number of attempts to deliver one event that the sink may leave unacknowledged. It acknowledges every
// further attempt.
const maxFailedAttempts = 3

// eventDeliveries records the notifications that have arrived about one event.
type eventDeliveries struct {
	transaction, status string
	data                string // must be the same at each attempt
	attempts            int
	acknowledged        bool
}

// sink is a merchant's server that keeps running through all kills. It alternately
// acknowledges, fails and, if allowed, never answers.
type sink struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	events   map[string]*eventDeliveries // event_id → its notifications; guarded by mu
	eventIDs map[[2]string]string        // transaction and status → event_id; guarded by mu
	arrivals int                         // number of requests; guarded by mu
	hangEnd  chan struct{}               // closed to end hanging requests; nil: no request may hang; guarded by mu
}

func newSink(t testing.TB) *sink {
	s := &sink{t: t, events: make(map[string]*eventDeliveries), eventIDs: make(map[[2]string]string)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.receive))
	t.Cleanup(func() {
		s.allowHanging(false)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// allowHanging sets whether the sink leaves some requests without a response. It also ends requests that hang now.
func (s *sink) allowHanging(allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hangEnd != nil {
		close(s.hangEnd)
		s.hangEnd = nil
	}
	if allowed {
		s.hangEnd = make(chan struct{})
	}
}

func (s *sink) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sending server was killed
	}
	status, hang := s.receiveNotification(r.Header, body)
	if hang == nil {
		w.WriteHeader(status)
		return
	}
	select {
	case <-hang:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// receiveNotification checks a notification, and compares it with the earlier ones about the same event. If the channel is nil,
// status is the status of the response. Otherwise the request must hang until the channel is closed.
func (s *sink) receiveNotification(header http.Header, body []byte) (status int, hang <-chan struct{}) {
	var n struct {
		EventID string          `json:"event_id"`
		Type    string          `json:"type"`
		Data    json.RawMessage `json:"data"`
	}
	var data struct{ ID, Status string }
	if json.Unmarshal(body, &n) != nil || json.Unmarshal(n.Data, &data) != nil || n.Type != "transaction."+data.Status {
		s.t.Errorf("not a notification: %s", body)
	}
	mac := hmac.New(sha256.New, []byte(sinkSecret))
	_, _ = mac.Write([]byte(header.Get("x-webhook-timestamp") + "." + string(body)))
	if header.Get("x-webhook-signature") != hex.EncodeToString(mac.Sum(nil)) || header.Get("x-webhook-event-id") != n.EventID {
		s.t.Errorf("not signed as promised: %v %s", header, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals++
	statusKey := [2]string{data.ID, data.Status}
	if id, ok := s.eventIDs[statusKey]; ok && id != n.EventID {
		s.t.Errorf("%v has two event ids, %s and %s", statusKey, id, n.EventID)
	}
	s.eventIDs[statusKey] = n.EventID
	e := s.events[n.EventID]
	if e == nil {
		e = &eventDeliveries{transaction: data.ID, status: data.Status, data: string(n.Data)}
		s.events[n.EventID] = e
	}
	if e.data != string(n.Data) {
		s.t.Errorf("event %s says first %s and then %s", n.EventID, e.data, n.Data)
	}
	e.attempts++
	switch {
	case e.attempts > maxFailedAttempts: // acknowledged at last, because the server would give up an event after too many failures
	case s.arrivals%3 == 0:
		return http.StatusInternalServerError, nil
	case s.arrivals%3 == 1 && s.hangEnd != nil:
		return 0, s.hangEnd
	}
	e.acknowledged = true
	return http.StatusOK, nil
}

// attemptsOf returns how many notifications about a status of a transaction have arrived, and whether the sink has acknowledged
// one of them.
func (s *sink) attemptsOf(transaction, status string) (attempts int, acknowledged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.events[s.eventIDs[[2]string{transaction, status}]]
	if e == nil {
		return 0, false
	}
	return e.attempts, e.acknowledged
}

// counts returns the number of notifications that have arrived, the number of events they were about, and the number of events
// about which more than one has arrived.
func (s *sink) counts() (arrived, events, repeated int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.attempts > 1 {
			repeated++
		}
	}
	return s.arrivals, len(s.events), repeated
}
