package webhook

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"mizan/internal/clock"
)

func TestConnectionIsReused(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, acknowledge)
	sender := openSender(t)
	for range 3 {
		sender.Deliver(testDelivery(r.url())).want(t, 200, "")
	}
	r.wantConnections(1, 1, 1)
}

// A server may close an idle connection at any time.
func TestConnectionClosedBetweenDeliveriesIsReplaced(t *testing.T) {
	t.Parallel()
	for _, answerText := range []string{
		acknowledged,
		acknowledged + "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", // some servers announce that they close the connection
		acknowledged + "\r\n",
	} {
		r := startReceiver(t, answerOnce(answerText))
		sender := openSender(t)
		for i := range 3 {
			sender.Deliver(testDelivery(r.url())).want(t, 200, "")
			if len(r.requests()) != i+1 {
				t.Errorf("delivery %d arrived %d times", i+1, len(r.requests())-i)
			}
		}
		r.wantConnections(1, 2, 3)
	}
}

// The server closes the connection while the request is on its way, so it is unknown whether the
// request was read. The request is sent once more, as part of the same attempt.
func TestRequestIsSentAgainIfAReusedConnectionEnds(t *testing.T) {
	t.Parallel()
	receiver := startReceiver(t, func(v *visit) {
		if v.readRequest() && v.send(acknowledged) && v.connection == 1 {
			v.readRequest() // the second request gets no response
			return
		}
		acknowledge(v)
	})
	sender := openSender(t)
	sender.Deliver(testDelivery(receiver.url())).want(t, 200, "")
	secondDelivery := testDelivery(receiver.url())
	secondDelivery.EventID = "e-2"
	sender.Deliver(secondDelivery).want(t, 200, "")
	sender.Deliver(testDelivery(receiver.url())).want(t, 200, "")
	receiver.wantConnections(1, 1, 2, 2)
	if all := receiver.requests(); all[1].body != all[2].body || all[1].header.Get("x-webhook-signature") != all[2].header.Get("x-webhook-signature") {
		t.Error("the second sending is of another attempt")
	}
}

func TestRequestIsSentAgainOnlyOnce(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, func(v *visit) {
		if v.readRequest() && v.connection == 1 && v.send(acknowledged) {
			v.readRequest()
		}
	})
	sender := openSender(t)
	sender.Deliver(testDelivery(r.url())).want(t, 200, "")
	sender.Deliver(testDelivery(r.url())).want(t, 0, "connection closed without an answer")
	r.wantConnections(1, 1, 2)
}

func TestRequestIsNotSentAgainAfterAPartialResponse(t *testing.T) {
	t.Parallel()
	for answerText, failure := range map[string]string{"HTTP/1.1 2": "connection closed in the middle of the answer", "nonsense": "answer is not HTTP"} {
		r := startReceiver(t, func(v *visit) {
			if v.readRequest() && v.send(acknowledged) && v.readRequest() {
				v.send(answerText)
			}
		})
		sender := openSender(t)
		sender.Deliver(testDelivery(r.url())).want(t, 200, "")
		sender.Deliver(testDelivery(r.url())).want(t, 0, failure)
		r.wantConnections(1, 1)
	}
}

func TestRequestIsNotSentAgainAfterATimeout(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, func(v *visit) {
		if v.readRequest() && v.send(acknowledged) && v.readRequest() {
			v.waitForClose()
		}
	})
	sender := openSender(t)
	sender.Deliver(testDelivery(r.url())).want(t, 200, "")
	sender.bounds.answer = shortBound
	sender.Deliver(testDelivery(r.url())).want(t, 0, "no answer within 15 s")
	if n := r.connections(); n != 1 {
		t.Errorf("%d connections came", n)
	}
}

// An unsolicited response must not acknowledge the next notification.
func TestLeftOverBytesAcknowledgeNothing(t *testing.T) {
	t.Parallel()
	sendMore := make(chan struct{})
	for name, respond := range map[string]func(*visit){
		"directly after the answer": func(v *visit) { v.send(acknowledged + acknowledged) },
		"after a moment": func(v *visit) {
			v.send(acknowledged)
			<-sendMore
			v.send(acknowledged)
			sendMore <- struct{}{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			receiver := startReceiver(t, func(v *visit) {
				if v.connection > 1 {
					if v.readRequest() {
						v.send("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
					}
					return
				}
				for v.readRequest() {
					respond(v)
				}
			})
			sender := openSender(t)
			sender.Deliver(testDelivery(receiver.url())).want(t, 200, "")
			if name == "after a moment" {
				sendMore <- struct{}{}
				<-sendMore
				waitFor(t, "the unsolicited response has arrived", sender.connections.oldestUnusable)
			}
			sender.Deliver(testDelivery(receiver.url())).want(t, 500, "status 500")
			receiver.wantConnections(1, 2)
		})
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 1)
	r := startReceiver(t, func(v *visit) {
		acknowledge(v)
		ended <- struct{}{}
	})
	sender := openSender(t, func(s *settings) { s.bounds.idle = shortBound })
	for range 2 { // the second time after all connections were closed
		sender.Deliver(testDelivery(r.url())).want(t, 200, "")
		receiveFrom(t, "the connection's end", ended)
		waitFor(t, "the connection is closed", func() bool { return sender.connections.count() == 0 })
	}
	r.wantConnections(1, 2)
}

func TestConnectionsHaveAMaximumAge(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, acknowledge)
	sender := openSender(t, func(s *settings) { s.bounds.maxAge = time.Nanosecond })
	for range 3 {
		sender.Deliver(testDelivery(r.url())).want(t, 200, "")
	}
	r.wantConnections(1, 2, 3)
}

// count returns how many connections are open.
func (s *connections) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openCount
}

// oldestUnusable tells whether the connection that has been idle longest has unread bytes or has ended.
func (s *connections) oldestUnusable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.oldest.isUsable()
}

// checkedCount checks that the fields of s agree with each other, and returns how many connections are open.
func (s *connections) checkedCount(t *testing.T) int {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	idle, byDestination := 0, 0
	for conn := s.oldest; conn != nil; conn = conn.newer {
		idle++
		if conn.newer == nil && conn != s.newest || conn.newer != nil && conn.newer.older != conn {
			t.Error("the list of idle connections is broken")
		}
	}
	for to, ofDestination := range s.idle {
		byDestination += len(ofDestination)
		if len(ofDestination) == 0 {
			t.Errorf("%s is kept without a connection", to.host)
		}
	}
	if idle != byDestination || len(s.open) != s.openCount || idle > s.openCount || s.openCount > s.maxOpen {
		t.Errorf("%d connections are open, %d of them known, %d idle, %d by destination, of at most %d", s.openCount, len(s.open), idle, byDestination, s.maxOpen)
	}
	return s.openCount
}

// At most MaxConns connections are open. A connection to a new destination replaces the connection that
// has been idle longest.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const maxConns, destinations = 4, 12
	sender := openSender(t, func(s *settings) { s.options.MaxConns = maxConns })
	var receivers []*receiver
	for range destinations {
		receivers = append(receivers, startReceiver(t, acknowledge))
	}
	for _, r := range receivers {
		sender.Deliver(testDelivery(r.url())).want(t, 200, "")
		if n := sender.connections.checkedCount(t); n > maxConns {
			t.Errorf("%d connections are open", n)
		}
	}
	for i := destinations - maxConns; i < destinations; i++ {
		sender.Deliver(testDelivery(receivers[i].url())).want(t, 200, "")
		receivers[i].wantConnections(1, 1)
	}
	sender.Deliver(testDelivery(receivers[0].url())).want(t, 200, "")
	receivers[0].wantConnections(1, 2)
	sender.Deliver(testDelivery(receivers[destinations-1].url())).want(t, 200, "")
	receivers[destinations-1].wantConnections(1, 1, 1)
	sender.Deliver(testDelivery(receivers[destinations-maxConns].url())).want(t, 200, "")
	receivers[destinations-maxConns].wantConnections(1, 1, 2)
	sender.connections.checkedCount(t)
}

func TestExcessDeliveryWaitsBeforeItsAttempt(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	slow := startReceiver(t, func(v *visit) {
		for v.readRequest() {
			<-release
			v.send(acknowledged)
		}
	})
	r := startReceiver(t, acknowledge)
	manualClock := clock.NewManual(startTime)
	sender := openSender(t, func(s *settings) { s.options.MaxConns, s.options.Clock = 2, manualClock })
	firstAttempt, secondAttempt := startDelivery(sender, testDelivery(slow.url())), startDelivery(sender, testDelivery(slow.url()))
	waitFor(t, "both requests have arrived", func() bool { return len(slow.requests()) == 2 })
	thirdAttempt := startDelivery(sender, testDelivery(r.url()))
	if len(sender.slots) != 2 || r.connections() != 0 {
		t.Error("a third is under way")
	}
	anHourLater := startTime.Add(time.Hour)
	if err := manualClock.Set(anHourLater); err != nil {
		t.Fatal(err)
	}
	close(release)
	for attempt, at := range map[<-chan Attempt]time.Time{firstAttempt: startTime, secondAttempt: startTime, thirdAttempt: anHourLater} {
		a := receiveFrom(t, "an attempt", attempt)
		if a.want(t, 200, ""); !a.At.Equal(at) {
			t.Errorf("an attempt was at %v, want %v", a.At, at)
		}
	}
	sender.connections.checkedCount(t)
}

func TestFailureReleasesItsPlace(t *testing.T) {
	t.Parallel()
	sender := openSender(t, func(s *settings) { s.options.MaxConns = 1 })
	hang := startReceiver(t, (*visit).waitForClose)
	sender.bounds.answer, sender.bounds.connect = shortBound, shortBound
	sender.Deliver(testDelivery(hang.url())).want(t, 0, "no answer within 15 s")
	sender.Deliver(testDelivery("http://"+startDeafListener(t)+"/")).want(t, 0, "no answer within 15 s")
	sender.Deliver(testDelivery("mailto:x")).want(t, 0, "address not usable")
	sender.bounds.answer, sender.bounds.connect = patience, patience
	sender.Deliver(testDelivery(startReceiver(t, answerOnce("")).url())).want(t, 0, "connection closed without an answer")
	r := startReceiver(t, acknowledge)
	sender.Deliver(testDelivery(r.url())).want(t, 200, "")
	if n := sender.connections.checkedCount(t); n != 1 {
		t.Errorf("%d connections are open", n)
	}
}

func TestDestinationsShareNoConnections(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, acknowledge)
	sender := openSender(t)
	sender.dialer.Resolver = newResolver(t, func(string) []string { return []string{"127.0.0.1"} })
	for _, host := range []string{"127.0.0.1", "a.test", "b.test"} {
		sender.Deliver(testDelivery(r.urlAt(host))).want(t, 200, "")
	}
	for _, path := range []string{"/a", "/b?c"} { // URLs that differ only in path and query have the same destination
		sender.Deliver(testDelivery("http://"+r.listener.Addr().String()+path)).want(t, 200, "")
	}
	r.wantConnections(1, 2, 3, 1, 1)
}

// Many deliveries are in progress at once. One server keeps its connections open, and the others close theirs at
// any time. Each delivery arrives, and each attempt succeeds.
func TestManyDeliveriesAtOnce(t *testing.T) {
	t.Parallel()
	const workers, deliveriesEach, destinations = 32, 40, 5
	var mu sync.Mutex
	arrived := make(map[string]int)
	countEvent := func(event string) {
		mu.Lock()
		defer mu.Unlock()
		arrived[event]++
	}
	netHTTPServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		countEvent(r.Header.Get("x-webhook-event-id"))
		_, _ = io.WriteString(w, strings.Repeat("x", 5000))
	}))
	t.Cleanup(netHTTPServer.Close)
	urls := []string{netHTTPServer.URL}
	for i := 1; i < destinations; i++ {
		urls = append(urls, startReceiver(t, func(v *visit) {
			for range 1 + v.connection%3 {
				if !v.readRequest() {
					return
				}
				requests := v.requests()
				for j := len(requests) - 1; j >= 0; j-- {
					if requests[j].connection == v.connection {
						countEvent(requests[j].header.Get("x-webhook-event-id"))
						break
					}
				}
				v.send(acknowledged)
			}
		}).url())
	}
	sender := openSender(t, func(s *settings) { s.options.MaxConns = workers / 2 })
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			for i := range deliveriesEach {
				d := testDelivery(urls[(w+i)%destinations])
				d.EventID = fmt.Sprintf("e-%d-%d", w, i)
				if a := sender.Deliver(d); a.Failure != "" {
					t.Errorf("%+v", a)
				}
			}
		})
	}
	running.Wait()
	sender.connections.checkedCount(t)
	mu.Lock()
	defer mu.Unlock()
	if len(arrived) != workers*deliveriesEach {
		t.Errorf("%d of %d arrived", len(arrived), workers*deliveriesEach)
	}
}

// Deliveries to fasthttp's server, which Fiber uses, are acknowledged over one connection.
func TestDeliveryToAFasthttpServer(t *testing.T) {
	t.Parallel()
	var bodies sync.Map
	receiver := startReceiver(t, func(v *visit) {
		server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			bodies.Store(string(ctx.Request.Body()), true)
			ctx.SetStatusCode(fasthttp.StatusAccepted)
		}}
		_ = server.ServeConn(v.Conn)
	})
	sender := openSender(t)
	for range 2 {
		sender.Deliver(signedDelivery(receiver.url())).want(t, 202, "")
	}
	if _, got := bodies.Load(expectedEnvelope); !got || receiver.connections() != 1 {
		t.Errorf("%d connections", receiver.connections())
	}
}
