package conn

import (
	"bytes"
	"net"
	"testing"
)

func TestReadWipesThePreviousData(t *testing.T) {
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	c := &connection{Conn: server, baseConn: &baseConn{raw: server, silent: new(SilentConnections)}}
	c.silent.add(c.baseConn)
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

// A read may begin at any position of the buffer. It overwrites what earlier reads have left from there on, and leaves the bytes
// before this position unchanged.
func TestEachReadWipesWhatEarlierReadsHaveLeft(t *testing.T) {
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	b := &baseConn{raw: server, silent: new(SilentConnections)}
	b.silent.add(b)
	buffer := bytes.Repeat([]byte("4"), 64) // the content that another connection has left
	for _, step := range []struct {
		keep int // bytes at the beginning that the reader has not used yet
		sent string
	}{{0, "4242424242424242"}, {0, "short"}, {5, "4242424242"}, {3, "x"}, {0, "yy"}, {2, "4242"}, {0, "z"}} {
		want := append(bytes.Clone(buffer[:step.keep]), step.sent...)
		go func() { _, _ = client.Write([]byte(step.sent)) }()
		if n, err := b.read(buffer[step.keep:]); err != nil || n != len(step.sent) {
			t.Fatal(n, err)
		}
		if want = append(want, make([]byte, len(buffer)-len(want))...); !bytes.Equal(buffer, want) {
			t.Errorf("after %q the buffer has %q", step.sent, buffer)
		}
	}
}

// fasthttp reuses the buffered reader of an ended connection for another connection, possibly before this package learns that the
// first connection has ended. Then the buffer belongs to the other connection.
func TestReaderBufferIsWipedUnlessAnotherConnectionHasIt(t *testing.T) {
	buffer := make([]byte, 64)
	readText := func(text string) *baseConn {
		client, server := net.Pipe()
		t.Cleanup(func() { _ = client.Close() })
		b := &baseConn{raw: server, silent: new(SilentConnections)}
		b.silent.add(b)
		go func() { _, _ = client.Write([]byte(text)) }()
		if n, err := b.read(buffer); err != nil || string(buffer[:n]) != text {
			t.Fatal(n, err)
		}
		return b
	}
	earlier := readText("4242424242424242")
	later := readText("cvv=739")
	if earlier.wipe(); !bytes.HasPrefix(buffer, []byte("cvv=739\x00")) {
		t.Errorf("the end of the earlier connection leaves %q", buffer)
	}
	if later.wipe(); !bytes.Equal(buffer, make([]byte, len(buffer))) {
		t.Errorf("the end of the later connection leaves %q", buffer)
	}
	if readerBuffers.owners[&buffer[0]] != nil {
		t.Error("the buffer is still somebody's")
	}
}
