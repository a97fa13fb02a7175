package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
)

// NotificationCounts counts the notifications that the sink of --notify has received.
type NotificationCounts struct {
	DuringRun    int     `json:"during"`        // received until the run's last response
	Unique       int     `json:"unique"`        // distinct event ids, after everything has arrived
	Repeated     int     `json:"repeated"`      // deliveries of an id that had arrived before
	Unsigned     int     `json:"unsigned"`      // notifications without the signature headers that the specification requires
	DrainSeconds float64 `json:"drain_seconds"` // seconds from the run's last response to the last notification
}

// maxDrainWait bounds the wait for the last notification after the run.
const maxDrainWait = 2 * time.Minute

// notificationSink is an HTTP server that receives notifications and acknowledges each immediately, like a merchant's server
// that only puts them into a queue.
type notificationSink struct {
	listener net.Listener

	mu         sync.Mutex
	arrivedIDs map[uuid.UUID]struct{} // guarded by mu; ids of events
	notices    NotificationCounts     // guarded by mu
	conns      map[net.Conn]struct{}  // guarded by mu
}

func newSink() (*notificationSink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &notificationSink{listener: l, arrivedIDs: make(map[uuid.UUID]struct{}), conns: make(map[net.Conn]struct{})}
	go s.accept()
	return s, nil
}

func (s *notificationSink) url() string {
	return "http://" + s.listener.Addr().String() + "/notifications"
}

func (s *notificationSink) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return // the listener was closed
		}
		s.mu.Lock()
		s.conns[c] = struct{}{}
		s.mu.Unlock()
		go s.serve(c)
	}
}

func (s *notificationSink) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

// serve handles the requests of one connection.
func (s *notificationSink) serve(c net.Conn) {
	defer func() {
		_ = c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	input := bufio.NewReaderSize(c, 16<<10)
	response := []byte("HTTP/1.1 204 No Content\r\n\r\n")
	for {
		id, signed, err := readNotice(input)
		if err != nil {
			return
		}
		s.record(id, signed)
		if _, err := c.Write(response); err != nil {
			return
		}
	}
}

// readNotice reads one request. It returns the event id in the request's header, and whether the request has a
// signature.
func readNotice(input *bufio.Reader) (id uuid.UUID, signed bool, err error) {
	length := 0
	for {
		line, err := input.ReadSlice('\n')
		if err != nil {
			return id, false, err
		}
		name, value, isHeader := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		if len(name) == 0 {
			break
		}
		if !isHeader {
			continue
		}
		switch string(name) {
		case "Content-Length":
			length, err = strconv.Atoi(string(value))
		case "x-webhook-event-id":
			id, err = uuid.ParseBytes(value)
		case "x-webhook-signature":
			signed = len(value) == 64
		}
		if err != nil {
			return id, false, err
		}
	}
	_, err = input.Discard(length)
	return id, signed, err
}

func (s *notificationSink) record(id uuid.UUID, signed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !signed {
		s.notices.Unsigned++
	}
	if _, ok := s.arrivedIDs[id]; ok {
		s.notices.Repeated++
		return
	}
	s.arrivedIDs[id] = struct{}{}
	s.notices.Unique++
}

func (s *notificationSink) counts() NotificationCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notices
}

// drain waits until notifications of the wanted number of different events have arrived. duringRun is the number of event ids
// that arrived during the run. drain copies this number into the result.
func (s *notificationSink) drain(ctx context.Context, want int, duringRun int) (NotificationCounts, error) {
	began := time.Now()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		got := s.counts()
		got.DuringRun, got.DrainSeconds = duringRun, time.Since(began).Seconds()
		switch {
		case got.Unsigned > 0:
			return got, fmt.Errorf("%d notifications are not signed", got.Unsigned)
		case got.Unique == want:
			return got, nil
		case got.Unique > want:
			return got, fmt.Errorf("%d notifications of %d payments", got.Unique, want)
		case time.Since(began) > maxDrainWait:
			return got, fmt.Errorf("%d notifications of %d payments have come after %v", got.Unique, want, maxDrainWait)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return got, context.Cause(ctx)
		}
	}
}

// setNotificationAddress sets the sink as the notification address of every partner that makes the run's payments.
func (r *serverRun) setNotificationAddress(ctx context.Context) (err error) {
	if r.sink, err = newSink(); err != nil {
		return err
	}
	o := &operator{client: r.auditor.client, sandbox: &r.sandbox}
	for _, partner := range r.partners() {
		o.do(ctx, http.MethodPatch, "/partners/"+strconv.FormatInt(partner, 10), r.sandbox.OrganizationID,
			map[string]any{"notify_url": r.sink.url(), "secret": "bench"}, nil)
	}
	if o.err != nil {
		return fmt.Errorf("bench: notify: %w", o.err)
	}
	return nil
}

// awaitNotifications waits for the notifications of all charged payments. duringRun is the number of notifications that
// arrived during the run.
func (r *serverRun) awaitNotifications(ctx context.Context, duringRun int) error {
	if r.sink == nil {
		return nil
	}
	got, err := r.sink.drain(ctx, int(r.report.Charged), duringRun)
	r.report.Notices = &got
	return err
}

// printNotices prints the counts for people.
func (r *serverRun) printNotices(out io.Writer) {
	if n := r.report.Notices; n != nil {
		printLine(out, "notified   %d while it ran, all %d after %.2f s more, %d twice", n.DuringRun, n.Unique, n.DrainSeconds, n.Repeated)
	}
}

var errNotifyWorkload = errors.New("--notify goes with the payments workload only")
