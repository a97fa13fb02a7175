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

// wiretap is a connection that records each write.
type wiretap struct {
	net.Conn
	writes [][]byte
}

func (w *wiretap) Write(p []byte) (int, error) {
	w.writes = append(w.writes, bytes.Clone(p))
	return w.Conn.Write(p)
}

// A body is sent in TLS records of a few bytes, and many records are written together. All other data is written as
// crypto/tls writes it.
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
	clientSide, err := net.DialTimeout("tcp", l.Addr().String(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	tap := &wiretap{Conn: clientSide}
	batches := &batchConn{Conn: tap}
	tlsConn := tls.Client(batches, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	if err := tlsConn.Handshake(); err != nil {
		t.Fatal(err)
	}
	tap.writes = nil
	content := bytes.Repeat(secretText, 40)
	b, o := NewBody(bytes.Clone(content)), &outgoingConn{Conn: tlsConn, writeBody: (&fragmentWriter{tlsConn, batches}).write}
	b.AttachTo(o)
	if n, err := o.Write(append([]byte(requestHead), bytes.Repeat([]byte(" "), len(content))...)); n != len(requestHead)+len(content) || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if len(tap.writes) != 2 {
		t.Fatalf("%d writes, want one of the head and one of the body", len(tap.writes))
	}
	// Bytes of a TLS 1.3 record besides its content: 5 of the header, 1 of the content type, 16 of the tag.
	const header, overhead = 5, 1 + 16
	got := 0
	for records := tap.writes[1]; len(records) > 0; {
		length := int(records[3])<<8 | int(records[4])
		if length > overhead+fragmentBytes {
			t.Fatalf("a record has %d bytes of the body", length-overhead)
		}
		got += length - overhead
		records = records[header+length:]
	}
	if got != len(content) {
		t.Errorf("the records have %d bytes, want %d", got, len(content))
	}
	if err := tlsConn.Close(); err != nil {
		t.Fatal(err)
	}
	if want := append([]byte(requestHead), content...); !bytes.Equal(<-arrived, want) {
		t.Error("something else arrived")
	}
}

// An error of a write is reported even if the bytes were first held back in a batch.
func TestBrokenConnectionIsAnError(t *testing.T) {
	for name, size := range map[string]int{"when it is released": 1, "when too much is held": maxBatchBytes + 1} {
		c := &recordingConn{failingWrite: 1}
		w := &batchConn{Conn: c}
		w.startBatch()
		_, err := w.Write(make([]byte, size))
		if sendErr := w.sendBatch(); err == nil {
			err = sendErr
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
