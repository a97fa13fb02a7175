package wiping

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
)

// Listen returns a listener of TLS connections that overwrite in memory what they have read. Its Accept returns a
// *Conn; the handshake happens at the first read or write. A client that sends an HTTP request without TLS gets the
// bytes that plainHTTP returns; if it is nil, the connection just ends.
func Listen(l net.Listener, config *tls.Config, plainHTTP func() []byte) net.Listener {
	return &listener{l, config, plainHTTP}
}

type listener struct {
	net.Listener
	config    *tls.Config
	plainHTTP func() []byte
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	secure := Server(c, l.config)
	secure.plainHTTP = l.plainHTTP
	return secure, nil
}

// Conn is the server's side of a TLS connection.
type Conn struct {
	*tls.Conn
	records   *recordConn
	plainHTTP func() []byte // returns the response to a request without TLS; nil: none is sent, or it was sent
}

// Server returns the server's side of a connection.
func Server(c net.Conn, config *tls.Config) *Conn {
	r := &recordConn{Conn: c}
	return &Conn{Conn: tls.Server(r, config), records: r}
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && c.respondToPlainHTTP(err) {
		return 0, io.EOF
	}
	return n, err
}

// NetConn returns the connection under TLS, as it was given to Server.
func (c *Conn) NetConn() net.Conn { return c.records.Conn }

// Wipe overwrites what the connection still has of the received data. The connection must have
// ended: nobody may be reading any more. Later reads return io.EOF.
func (c *Conn) Wipe() {
	c.records.isEnded = true
	c.records.clearUnreturned()
	if !c.ConnectionState().HandshakeComplete {
		return // crypto/tls has decrypted nothing
	}
	buffer := borrowBuffer()
	for {
		// First Read returns the remaining bytes. Then crypto/tls asks for the next record, which overwrites
		// its buffer and returns io.EOF.
		if _, err := c.Conn.Read(*buffer); err != nil {
			break
		}
	}
	clear(*buffer)
	bufferPool.Put(buffer)
}

// headerBytes is the length of a record's header: its type, version and length (RFC 8446,
// 5.1). The length is that of the payload.
const headerBytes = 5

// recordConn is the socket from which crypto/tls reads.
type recordConn struct {
	net.Conn
	header         [headerBytes]byte
	headerReturned int // how many header bytes were returned to crypto/tls; after all of them the payload follows
	payloadLeft    int // how many payload bytes are still to come

	received   *[]byte // nil: all received bytes were returned
	unreturned []byte  // the part of received that was not returned yet

	isEnded bool
}

// Read implements io.Reader for crypto/tls: it returns bytes of only one header, or of only
// one payload.
func (r *recordConn) Read(p []byte) (int, error) {
	if r.headerReturned == 0 {
		clear(p) // overwrites the previous record
	}
	if r.isEnded {
		return 0, io.EOF
	}
	if len(r.unreturned) == 0 {
		if r.headerReturned == headerBytes {
			n, err := r.Conn.Read(p[:min(len(p), r.payloadLeft)])
			r.countPayload(n)
			return n, err
		}
		// More than a header may arrive at once. All of it is received into p and then copied into a buffer
		// of its own, so that a connection that waits for data needs no such buffer.
		n, err := r.Conn.Read(p)
		if n == 0 {
			return 0, err
		}
		// They are cleared in p, because they are plaintext if the client does not speak TLS.
		r.received = borrowBuffer()
		*r.received = append((*r.received)[:0], p[:n]...)
		r.unreturned = *r.received
		clear(p[:n])
	}
	n := 0
	if r.headerReturned < headerBytes {
		n = copy(p, r.unreturned[:min(len(r.unreturned), headerBytes-r.headerReturned)])
		copy(r.header[r.headerReturned:], p[:n])
		r.countHeader(n)
	} else {
		n = copy(p, r.unreturned[:min(len(r.unreturned), r.payloadLeft)])
		r.countPayload(n)
	}
	if r.unreturned = r.unreturned[n:]; len(r.unreturned) == 0 {
		bufferPool.Put(r.received)
		r.received = nil
	}
	return n, nil
}

// countHeader counts returned bytes of a header.
func (r *recordConn) countHeader(n int) {
	if r.headerReturned += n; r.headerReturned == headerBytes {
		r.payloadLeft = int(r.header[3])<<8 | int(r.header[4])
		r.countPayload(0)
	}
}

// countPayload counts returned bytes of a payload. After the last one a header follows.
func (r *recordConn) countPayload(n int) {
	if r.payloadLeft -= n; r.payloadLeft == 0 {
		r.headerReturned = 0
	}
}

// clearUnreturned overwrites received bytes that were not returned: the connection ends before crypto/tls takes them.
// The bytes are plaintext if the client does not speak TLS.
func (r *recordConn) clearUnreturned() {
	clear(r.unreturned)
	r.unreturned = nil
}

// bufferPool has buffers for received bytes that were not returned yet. What a buffer in the pool contains is ciphertext.
var bufferPool = sync.Pool{New: func() any { b := make([]byte, 2<<10); return &b }}

func borrowBuffer() *[]byte {
	b := bufferPool.Get().(*[]byte)
	*b = (*b)[:cap(*b)]
	return b
}
