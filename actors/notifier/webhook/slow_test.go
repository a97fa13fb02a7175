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
	if standard.connect != 5*time.Second || standard.answer != 15*time.Second || standard.idle != 30*time.Second ||
		!strings.Contains(noConnection, " 5 s") || !strings.Contains(noAnswer, " 15 s") {
		t.Errorf("%+v", standard)
	}
}

// deafListener listens with a full queue: connections to it are neither accepted nor refused.
func deafListener(t *testing.T) string {
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
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*syscall.SockaddrInet4).Port}).String()
	first, err := net.Dial("tcp", at) // takes the queue's only place
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	return at
}

// A receiver has 5 s to accept the connection.
func TestAConnectionThatIsNotAcceptedFails(t *testing.T) {
	t.Parallel()
	c := open(t, func(s *settings) { s.bounds.connect = short })
	a := c.Deliver(testDelivery("http://" + deafListener(t) + "/"))
	a.want(t, 0, "no connection within 5 s")
	if a.Took < short {
		t.Errorf("it took %v only", a.Took)
	}
}

func TestHangingTLSHandshakeTimesOut(t *testing.T) {
	t.Parallel()
	r := receive(t, (*visit).wait)
	c := open(t, func(s *settings) { s.bounds.connect = short })
	c.Deliver(testDelivery(strings.Replace(r.url(), "http:", "https:", 1))).want(t, 0, "no connection within 5 s")
}

// A receiver has 15 s to answer, the time for the connection included.
func TestLateResponseTimesOut(t *testing.T) {
	t.Parallel()
	for name, answerText := range map[string]string{"nothing": "", "a start": "HTT", "a status": "HTTP/1.1 200", "half a header": "HTTP/1.1 200 OK\r\nContent-", "an interim answer": "HTTP/1.1 103 H\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, func(v *visit) {
				if v.request() && v.send(answerText) {
					v.wait()
				}
			})
			c := open(t, func(s *settings) { s.bounds.answer = short })
			a := c.Deliver(testDelivery(r.url()))
			a.want(t, 0, "no answer within 15 s")
			if a.Took < short {
				t.Errorf("it took %v only", a.Took)
			}
		})
	}
}

func TestSlowHeaderTimesOut(t *testing.T) {
	t.Parallel()
	r := receive(t, func(v *visit) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		if v.request() && v.send("HTTP/1.1 200 OK\r\nX: ") {
			for v.send("x") {
				<-tick.C
			}
		}
	})
	c := open(t, func(s *settings) { s.bounds.answer = 2 * short })
	c.Deliver(testDelivery(r.url())).want(t, 0, "no answer within 15 s")
}

func TestReceiverThatDoesNotReadTimesOut(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	r := receive(t, func(*visit) { <-release })
	t.Cleanup(func() { close(release) })
	c := open(t, func(s *settings) { s.bounds.answer = 2 * short })
	p := testDelivery(r.url())
	p.Data = []byte(`"` + strings.Repeat("x", 64<<20) + `"`)
	c.Deliver(p).want(t, 0, "no answer within 15 s")
}

func TestLateResponseDoesNotAcknowledgeTheNextDelivery(t *testing.T) {
	t.Parallel()
	sendLate := make(chan struct{})
	receiver := receive(t, func(v *visit) {
		for i := 0; v.request(); i++ {
			if v.connection > 1 || i == 0 {
				v.send(acknowledged)
				continue
			}
			<-sendLate
			v.send("HTTP/1.1 500 Late\r\nContent-Length: 0\r\n\r\n")
		}
	})
	c := open(t)
	c.Deliver(testDelivery(receiver.url())).want(t, 200, "")
	c.bounds.answer = short
	c.Deliver(testDelivery(receiver.url())).want(t, 0, "no answer within 15 s")
	close(sendLate)
	c.bounds.answer = patience
	c.Deliver(testDelivery(receiver.url())).want(t, 200, "")
}

func TestRefusedConnectionFailsWithItsReason(t *testing.T) {
	t.Parallel()
	sender := open(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	sender.Deliver(testDelivery("http://"+at+"/")).want(t, 0, "connection refused")
	sender.Deliver(testDelivery("https://"+at+"/")).want(t, 0, "connection refused")

	for answerText, failure := range map[string]string{
		"":                                    "connection closed without an answer",
		"HTTP/1.1 2":                          "connection closed in the middle of the answer",
		"HTTP/1.1 200 OK\r\n":                 "connection closed in the middle of the answer",
		"HTTP/1.1 200 OK\r\nContent-Length: ": "connection closed in the middle of the answer",
	} {
		r := receive(t, once(answerText))
		sender.Deliver(testDelivery(r.url())).want(t, 0, failure)
		r.wantConnections(1) // a request on a new connection is never sent again
	}
	for _, answerText := range []string{"", "HTTP/1.1 200 OK\r\nX"} {
		r := receive(t, func(v *visit) {
			if v.request() && v.send(answerText) {
				if err := v.Conn.(*net.TCPConn).SetLinger(0); err != nil { // the connection ends with a reset
					t.Error(err)
				}
			}
		})
		sender.Deliver(testDelivery(r.url())).want(t, 0, "connection reset")
		r.wantConnections(1)
	}
}
