package webhook

import (
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestCloseInterruptsDeliveriesInProgress(t *testing.T) {
	t.Parallel()
	answering := startReceiver(t, acknowledge)
	silent := startReceiver(t, func(v *visit) {
		if v.readRequest() {
			v.waitForClose()
		}
	})
	sender := openSender(t)
	sender.Deliver(testDelivery(answering.url())).want(t, 200, "")
	silentAddress := startDeafListener(t)
	attempts := []<-chan Attempt{startDelivery(sender, testDelivery(silent.url())), startDelivery(sender, testDelivery("http://"+silentAddress+"/"))}
	waitFor(t, "all are under way", func() bool {
		return len(silent.requests()) == 1 && len(sender.slots) == 2 && sender.connections.count() == 3
	})
	sender.Close()
	for _, attempt := range attempts {
		receiveFrom(t, "an attempt", attempt).want(t, 0, Interrupted)
	}
	sender.Deliver(testDelivery(answering.url())).want(t, 0, Interrupted)
	sender.Close() // a second call changes nothing
	answering.wantConnections(1)
	if n := sender.connections.checkedCount(t); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// trackedConn sends a value to its channel (reads) before each call of Read.
type trackedConn struct {
	net.Conn
	reads chan struct{}
}

// Read implements net.Conn.
func (c *trackedConn) Read(b []byte) (int, error) {
	c.reads <- struct{}{}
	return c.Conn.Read(b)
}

func TestResultKnownAtCloseIsReturned(t *testing.T) {
	t.Parallel()
	receiver := startReceiver(t, func(v *visit) { // the response's body does not end
		if v.readRequest() && v.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n") {
			v.waitForClose()
		}
	})
	sender := openSender(t)
	to, _ := parseURL(receiver.url())
	conn, failure := sender.open(to.destination, time.Now().Add(patience))
	if conn == nil {
		t.Fatal(failure)
	}
	tracked := &trackedConn{conn.conn, make(chan struct{})}
	conn.conn = tracked
	sender.connections.addIdle(conn)
	// Without TLS the check of an idle connection does not call Read, so the first Read is for the response's header.
	attempts := startDelivery(sender, testDelivery(receiver.url()))
	receiveFrom(t, "the header", tracked.reads)
	receiveFrom(t, "the body", tracked.reads)
	sender.Close()
	receiveFrom(t, "the attempt", attempts).want(t, 200, "")
}

func TestCloseInterruptsWaitingDeliveries(t *testing.T) {
	t.Parallel()
	hang := startReceiver(t, (*visit).waitForClose)
	sender := openSender(t, func(s *settings) { s.options.MaxConns = 1 })
	inProgress := startDelivery(sender, testDelivery(hang.url()))
	waitFor(t, "it is under way", func() bool { return hang.connections() == 1 })
	waiting := startDelivery(sender, testDelivery(hang.url()))
	sender.Close()
	receiveFrom(t, "the first", inProgress).want(t, 0, Interrupted)
	receiveFrom(t, "the second", waiting).want(t, 0, Interrupted)
}

func TestClosedSenderLeavesNoGoroutines(t *testing.T) {
	before := goleak.IgnoreCurrent()
	r := startReceiver(t, acknowledge)
	sender := openSender(t)
	for range 3 {
		sender.Deliver(testDelivery(r.url())).want(t, 200, "")
	}
	sender.Close()
	_ = r.listener.Close()
	r.visits.Wait()
	goleak.VerifyNone(t, before)
}
