package wiping

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
)

// Listen returns a listener of TLS connections that keep nothing of what was read. Accept
// returns a *Conn; the handshake happens at the first read or write.
func Listen(l net.Listener, config *tls.Config) net.Listener { return &listener{l, config} }

type listener struct {
	net.Listener
	config *tls.Config
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Server(c, l.config), nil
}

// Conn is the server's side of a TLS connection.
type Conn struct {
	*tls.Conn
	records *records
}

// Server returns the server's side of a connection.
func Server(c net.Conn, config *tls.Config) *Conn {
	r := &records{Conn: c}
	return &Conn{Conn: tls.Server(r, config), records: r}
}

// NetConn returns the connection under TLS, as it was given to Server.
func (c *Conn) NetConn() net.Conn { return c.records.Conn }

// Wipe overwrites what the connection still has of the received data. The connection must have
// ended: nobody may be reading, and later reads return io.EOF.
func (c *Conn) Wipe() {
	c.records.ended = true
	if !c.ConnectionState().HandshakeComplete {
		return // only handshakes were read
	}
	buffer := borrowBuffer()
	for {
		// First the remaining bytes are taken. Then the next record is requested, which is the
		// end.
		if _, err := c.Conn.Read(*buffer); err != nil {
			break
		}
	}
	clear(*buffer)
	buffers.Put(buffer)
}

// headerBytes is the length of a record's header: its type, version and length (RFC 8446,
// 5.1). The length is that of the payload.
const headerBytes = 5

// records is a socket from which crypto/tls reads.
type records struct {
	net.Conn
	header  [headerBytes]byte
	head    int // number of header bytes returned; if all were, the payload follows
	payload int // number of payload bytes still to come

	received   *[]byte // nil: all received bytes were returned
	unreturned []byte  // the part of received that was not returned yet

	ended bool
}

// Read implements io.Reader for crypto/tls: it returns bytes of one header, or of one
// payload.
func (r *records) Read(p []byte) (int, error) {
	if r.head == 0 {
		clear(p) // overwrites the record before
	}
	if r.ended {
		return 0, io.EOF
	}
	if len(r.unreturned) == 0 {
		if r.head == headerBytes {
			n, err := r.Conn.Read(p[:min(len(p), r.payload)])
			r.countPayload(n)
			return n, err
		}
		// More than a header arrives at once. It is received into the buffer in which it will be
		// decrypted, which costs no further buffer while nothing arrives, and then set aside.
		n, err := r.Conn.Read(p)
		if n == 0 {
			return 0, err
		}
		r.received = borrowBuffer()
		*r.received = append((*r.received)[:0], p[:n]...)
		r.unreturned = *r.received
	}
	n := 0
	if r.head < headerBytes {
		n = copy(p, r.unreturned[:min(len(r.unreturned), headerBytes-r.head)])
		copy(r.header[r.head:], p[:n])
		r.countHeader(n)
	} else {
		n = copy(p, r.unreturned[:min(len(r.unreturned), r.payload)])
		r.countPayload(n)
	}
	if r.unreturned = r.unreturned[n:]; len(r.unreturned) == 0 {
		buffers.Put(r.received)
		r.received = nil
	}
	return n, nil
}

// countHeader counts the bytes of a header.
func (r *records) countHeader(n int) {
	if r.head += n; r.head == headerBytes {
		r.payload = int(r.header[3])<<8 | int(r.header[4])
		r.countPayload(0)
	}
}

// countPayload counts the bytes of a payload.
func (r *records) countPayload(n int) {
	if r.payload -= n; r.payload == 0 {
		r.head = 0
	}
}

// buffers hold received bytes that were not returned yet. They are ciphertext.
var buffers = sync.Pool{New: func() any { b := make([]byte, 2<<10); return &b }}

func borrowBuffer() *[]byte {
	b := buffers.Get().(*[]byte)
	*b = (*b)[:cap(*b)]
	return b
}
