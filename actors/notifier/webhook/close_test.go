package webhook

import (
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestCloseInterruptsDeliveriesInProgress(t *testing.T) {
	t.Parallel()
	answering := receive(t, acknowledge)
	silent := receive(t, func(v *visit) {
		if v.request() {
			v.wait()
		}
	})
	sender := open(t)
	sender.Deliver(testDelivery(answering.url())).want(t, 200, "")
	silentAddress := deafListener(t)
	hung := []<-chan Attempt{deliver(sender, testDelivery(silent.url())), deliver(sender, testDelivery("http://"+silentAddress+"/"))}
	waitFor(t, "all are under way", func() bool {
		return len(silent.requests()) == 1 && len(sender.places) == 2 && sender.connections.count() == 3
	})
	sender.Close()
	for _, made := range hung {
		receiveFrom(t, "an attempt", made).want(t, 0, Interrupted)
	}
	sender.Deliver(testDelivery(answering.url())).want(t, 0, Interrupted)
	sender.Close() // a second call changes nothing
	answering.wantConnections(1)
	if n := sender.connections.checkedCount(t); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// trackedConn sends a message each time before it is read.
type trackedConn struct {
	net.Conn
	reads chan struct{}
}

// Read implements net.Conn.
func (w *trackedConn) Read(b []byte) (int, error) {
	w.reads <- struct{}{}
	return w.Conn.Read(b)
}

func TestResultKnownAtCloseIsReturned(t *testing.T) {
	t.Parallel()
	receiver := receive(t, func(v *visit) { // the response's body does not end
		if v.request() && v.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n") {
			v.wait()
		}
	})
	sender := open(t)
	to, _ := parse(receiver.url())
	l, failure := sender.open(to.destination, time.Now().Add(patience))
	if l == nil {
		t.Fatal(failure)
	}
	w := &trackedConn{l.conn, make(chan struct{})}
	l.conn = w
	sender.connections.addIdle(l)
	// Without TLS the check of an idle connection does not call Read, so the first Read is for the response's header.
	attempts := deliver(sender, testDelivery(receiver.url()))
	receiveFrom(t, "the header", w.reads)
	receiveFrom(t, "the body", w.reads)
	sender.Close()
	receiveFrom(t, "the attempt", attempts).want(t, 200, "")
}

func TestCloseInterruptsWaitingDeliveries(t *testing.T) {
	t.Parallel()
	hang := receive(t, (*visit).wait)
	c := open(t, func(s *settings) { s.options.MaxConns = 1 })
	first := deliver(c, testDelivery(hang.url()))
	waitFor(t, "it is under way", func() bool { return hang.connections() == 1 })
	second := deliver(c, testDelivery(hang.url()))
	c.Close()
	receiveFrom(t, "the first", first).want(t, 0, Interrupted)
	receiveFrom(t, "the second", second).want(t, 0, Interrupted)
}

func TestClosedSenderLeavesNoGoroutines(t *testing.T) {
	before := goleak.IgnoreCurrent()
	r := receive(t, acknowledge)
	c := open(t)
	for range 3 {
		c.Deliver(testDelivery(r.url())).want(t, 200, "")
	}
	c.Close()
	_ = r.l.Close()
	r.visits.Wait()
	goleak.VerifyNone(t, before)
}
