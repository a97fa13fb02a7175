package wiping

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"testing"
	"time"
)

// wiretap records what is written to a connection.
type wiretap struct {
	net.Conn
	writes [][]byte
}

func (w *wiretap) Write(p []byte) (int, error) {
	w.writes = append(w.writes, bytes.Clone(p))
	return w.Conn.Write(p)
}

// A body goes over TLS in records of a few bytes, and many records go in one write. Other data
// is written as crypto/tls writes it.
func TestTLSRecordHoldsAtMostAFragmentOfABody(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server.TLS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	arrived := make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			arrived <- nil
			return
		}
		received, _ := io.ReadAll(c)
		arrived <- received
	}()
	raw, err := net.DialTimeout("tcp", l.Addr().String(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	tap := &wiretap{Conn: raw}
	socket := &wire{Conn: tap}
	secured := tls.Client(socket, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	if err := secured.Handshake(); err != nil {
		t.Fatal(err)
	}
	tap.writes = nil
	content := bytes.Repeat(mark, 40)
	b, o := NewBody(bytes.Clone(content)), &outgoing{Conn: secured, writeBody: (&fragments{secured, socket}).write}
	b.AttachTo(o)
	if n, err := o.Write(append([]byte(head), bytes.Repeat([]byte(" "), len(content))...)); n != len(head)+len(content) || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if len(tap.writes) != 2 {
		t.Fatalf("%d writes, want one of the head and one of the body", len(tap.writes))
	}
	const header, overhead = 5, 1 + 16 // of a TLS 1.3 record: header; content type and tag
	got := 0
	for rest := tap.writes[1]; len(rest) > 0; {
		length := int(rest[3])<<8 | int(rest[4])
		if length > overhead+fragment {
			t.Fatalf("a record has %d bytes of the body", length-overhead)
		}
		got += length - overhead
		rest = rest[header+length:]
	}
	if got != len(content) {
		t.Errorf("the records have %d bytes, want %d", got, len(content))
	}
	if err := secured.Close(); err != nil {
		t.Fatal(err)
	}
	if want := append([]byte(head), content...); !bytes.Equal(<-arrived, want) {
		t.Error("something else arrived")
	}
}

// A failed write is reported as an error, even if the bytes were held back.
func TestBrokenConnectionIsAnError(t *testing.T) {
	for name, size := range map[string]int{"when it is released": 1, "when too much is held": heldBytes + 1} {
		c := &recordingConn{fails: 1}
		w := &wire{Conn: c}
		w.hold()
		_, err := w.Write(make([]byte, size))
		if releaseErr := w.release(); err == nil {
			err = releaseErr
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
