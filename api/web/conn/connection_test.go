package conn

import (
	"bytes"
	"net"
	"testing"
)

func TestReadWipesThePreviousData(t *testing.T) {
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	c := &connection{Conn: server, base: &base{raw: server, silent: new(Silent)}}
	c.silent.add(c.base)
	buffer := []byte("4242424242424242 and what else is left")
	go func() { _, _ = client.Write([]byte("new")) }()
	n, err := c.Read(buffer)
	if err != nil || string(buffer[:n]) != "new" {
		t.Fatal(n, err)
	}
	if !bytes.Equal(buffer[n:], make([]byte, len(buffer)-n)) {
		t.Errorf("still there: %q", buffer[n:])
	}
}

// The transport reuses the buffered reader of an ended connection for another connection, possibly before
// we learn that the first connection has ended. Then the buffer's content belongs to the other connection.
func TestReaderBufferIsWipedUnlessAnotherConnectionHasIt(t *testing.T) {
	buffer := make([]byte, 64)
	reads := func(text string) *base {
		client, server := net.Pipe()
		t.Cleanup(func() { _ = client.Close() })
		l := &base{raw: server, silent: new(Silent)}
		l.silent.add(l)
		go func() { _, _ = client.Write([]byte(text)) }()
		if n, err := l.read(buffer); err != nil || string(buffer[:n]) != text {
			t.Fatal(n, err)
		}
		return l
	}
	first := reads("4242424242424242")
	second := reads("cvv=739")
	if first.wipe(); !bytes.HasPrefix(buffer, []byte("cvv=739\x00")) {
		t.Errorf("the first one's end leaves %q", buffer)
	}
	if second.wipe(); !bytes.Equal(buffer, make([]byte, len(buffer))) {
		t.Errorf("the second one's end leaves %q", buffer)
	}
	if readerBuffers.owners[&buffer[0]] != nil {
		t.Error("the buffer is still somebody's")
	}
}
