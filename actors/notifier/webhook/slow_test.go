package webhook

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestBoundsAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	if standardBounds.connect != 5*time.Second || standardBounds.answer != 15*time.Second || standardBounds.idle != 30*time.Second ||
		!strings.Contains(connectTimedOut, " 5 s") || !strings.Contains(attemptTimedOut, " 15 s") {
		t.Errorf("%+v", standardBounds)
	}
}

// startDeafListener listens with a full queue, so that connections are neither accepted nor refused. It returns
// the listener's address.
func startDeafListener(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	err = errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0))
	if err != nil {
		t.Fatal(err)
	}
	socketAddress, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: socketAddress.(*syscall.SockaddrInet4).Port}).String()
	queued, err := net.Dial("tcp", address) // takes the queue's only place
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = queued.Close() })
	return address
}

// A receiver has 5 s to accept the connection.
func TestAConnectionThatIsNotAcceptedFails(t *testing.T) {
	t.Parallel()
	sender := openSender(t, func(s *settings) { s.bounds.connect = shortBound })
	a := sender.Deliver(testDelivery("http://" + startDeafListener(t) + "/"))
	a.want(t, 0, "no connection within 5 s")
	if a.Duration < shortBound {
		t.Errorf("it took %v only", a.Duration)
	}
}

func TestHangingTLSHandshakeTimesOut(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, (*visit).waitForClose)
	sender := openSender(t, func(s *settings) { s.bounds.connect = shortBound })
	sender.Deliver(testDelivery(strings.Replace(r.url(), "http:", "https:", 1))).want(t, 0, "no connection within 5 s")
}

// A receiver has 15 s to answer, the time for the connection included.
func TestLateResponseTimesOut(t *testing.T) {
	t.Parallel()
	for name, answerText := range map[string]string{"nothing": "", "a start": "HTT", "a status": "HTTP/1.1 200", "half a header": "HTTP/1.1 200 OK\r\nContent-", "an interim answer": "HTTP/1.1 103 H\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startReceiver(t, func(v *visit) {
				if v.readRequest() && v.send(answerText) {
					v.waitForClose()
				}
			})
			sender := openSender(t, func(s *settings) { s.bounds.answer = shortBound })
			a := sender.Deliver(testDelivery(r.url()))
			a.want(t, 0, "no answer within 15 s")
			if a.Duration < shortBound {
				t.Errorf("it took %v only", a.Duration)
			}
		})
	}
}

func TestSlowHeaderTimesOut(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, func(v *visit) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		if v.readRequest() && v.send("HTTP/1.1 200 OK\r\nX: ") {
			for v.send("x") {
				<-tick.C
			}
		}
	})
	sender := openSender(t, func(s *settings) { s.bounds.answer = 2 * shortBound })
	sender.Deliver(testDelivery(r.url())).want(t, 0, "no answer within 15 s")
}

func TestReceiverThatDoesNotReadTimesOut(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	r := startReceiver(t, func(*visit) { <-release })
	t.Cleanup(func() { close(release) })
	sender := openSender(t, func(s *settings) { s.bounds.answer = 2 * shortBound })
	d := testDelivery(r.url())
	d.Data = []byte(`"` + strings.Repeat("x", 64<<20) + `"`)
	sender.Deliver(d).want(t, 0, "no answer within 15 s")
}

func TestLateResponseDoesNotAcknowledgeTheNextDelivery(t *testing.T) {
	t.Parallel()
	sendLate := make(chan struct{})
	receiver := startReceiver(t, func(v *visit) {
		for i := 0; v.readRequest(); i++ {
			if v.connection > 1 || i == 0 {
				v.send(acknowledged)
				continue
			}
			<-sendLate
			v.send("HTTP/1.1 500 Late\r\nContent-Length: 0\r\n\r\n")
		}
	})
	sender := openSender(t)
	sender.Deliver(testDelivery(receiver.url())).want(t, 200, "")
	sender.bounds.answer = shortBound
	sender.Deliver(testDelivery(receiver.url())).want(t, 0, "no answer within 15 s")
	close(sendLate)
	sender.bounds.answer = patience
	sender.Deliver(testDelivery(receiver.url())).want(t, 200, "")
}

func TestRefusedConnectionFailsWithItsReason(t *testing.T) {
	t.Parallel()
	sender := openSender(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hostPort := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	sender.Deliver(testDelivery("http://"+hostPort+"/")).want(t, 0, "connection refused")
	sender.Deliver(testDelivery("https://"+hostPort+"/")).want(t, 0, "connection refused")

	for answerText, failure := range map[string]string{
		"":                                    "connection closed without an answer",
		"HTTP/1.1 2":                          "connection closed in the middle of the answer",
		"HTTP/1.1 200 OK\r\n":                 "connection closed in the middle of the answer",
		"HTTP/1.1 200 OK\r\nContent-Length: ": "connection closed in the middle of the answer",
	} {
		r := startReceiver(t, answerOnce(answerText))
		sender.Deliver(testDelivery(r.url())).want(t, 0, failure)
		r.wantConnections(1) // a request on a new connection is never sent again
	}
	for _, answerText := range []string{"", "HTTP/1.1 200 OK\r\nX"} {
		r := startReceiver(t, func(v *visit) {
			if v.readRequest() && v.send(answerText) {
				if err := v.Conn.(*net.TCPConn).SetLinger(0); err != nil { // the connection ends with a reset
					t.Error(err)
				}
			}
		})
		sender.Deliver(testDelivery(r.url())).want(t, 0, "connection reset")
		r.wantConnections(1)
	}
}
