package wiping

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"mizan/internal/testseed"
)

const plainResponse = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

// acceptPlain makes a connection to a listener that answers requests without TLS with respond. It returns the server's side
// of the connection, the socket below it, and the client's side.
func acceptPlain(t *testing.T, respond func() []byte) (*Conn, *checkingConn, net.Conn) {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	client, err := net.DialTimeout("tcp", socket.Addr().String(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	checking := &checkingListener{Listener: socket, t: t}
	accepted, err := Listen(checking, tlsConfigs(t)["1.3"], respond).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = accepted.Close(), client.Close() })
	c := accepted.(*Conn)
	checking.conn.conn = c
	return c, checking.conn, client
}

// checkingListener wraps each accepted connection in a checkingConn.
type checkingListener struct {
	net.Listener
	t    *testing.T
	conn *checkingConn
}

func (l *checkingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	l.conn = &checkingConn{Conn: c, t: l.t, random: testseed.Random(l.t)}
	return l.conn, err
}

// CloseWrite closes the write half of the socket, as the sockets of a real listener can.
func (c *checkingConn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// A client that sends HTTP without TLS gets the response, even if it sends more than one read takes. Nothing of what it has
// sent stays in memory.
func TestRequestWithoutTLSGetsTheResponseAndIsWiped(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		for _, repeats := range []int{1, 40, 4000} {
			request := method + " /api HTTP/1.1\r\nHost: a\r\n\r\n" + strings.Repeat(string(secretText), repeats)
			c, socket, client := acceptPlain(t, func() []byte { return []byte(plainResponse) })
			received := make(chan []byte, 1)
			go func() {
				_, _ = io.WriteString(client, request)
				response, _ := io.ReadAll(client)
				_ = client.Close()
				received <- response
			}()
			for range 2 { // a server may read again after an error
				if n, err := c.Read(make([]byte, 100)); n != 0 || err == nil {
					t.Errorf("%s: %d bytes were read, %v", method, n, err)
				}
			}
			if got := string(<-received); got != plainResponse {
				t.Errorf("%s, %d bytes: the client received %q", method, len(request), got)
			}
			c.Wipe()
			socket.wantNoPlaintext("the request was refused")
			for range 100 {
				if buffer := borrowBuffer(); bytes.Contains((*buffer)[:cap(*buffer)], secretText[:8]) {
					t.Fatal("plaintext is in a buffer of the pool")
				}
			}
		}
	}
}

// If the received bytes are no HTTP request, the client gets no response, and the bytes are overwritten too. If the listener
// has no response for plain HTTP, the connection ends without one.
func TestOtherBytesWithoutTLSGetNoResponse(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		respond func() []byte
	}{
		"no request":  {"SSH-2.0-" + string(secretText), func() []byte { return []byte(plainResponse) }},
		"no response": {"POST /api HTTP/1.1\r\nHost: a\r\n\r\n" + string(secretText), nil},
	} {
		server, socket, client := acceptPlain(t, c.respond)
		if _, err := io.WriteString(client, c.text); err != nil {
			t.Fatal(err)
		}
		if n, err := server.Read(make([]byte, 100)); n != 0 || err == nil || err == io.EOF {
			t.Errorf("%s: %d bytes were read, %v", name, n, err)
		}
		server.Wipe()
		socket.wantNoPlaintext(name)
		if err := server.NetConn().Close(); err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(client); len(got) > 0 {
			t.Errorf("%s: the client received %q", name, got)
		}
	}
}
