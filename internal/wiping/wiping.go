package wiping

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
)

// Listen returns a listener whose TLS connections overwrite received data in memory. Accept returns a *Conn. The handshake
// happens at the first read or write. If a client sends an HTTP request without TLS, the response is the result of plainHTTP.
// If plainHTTP is nil, there is no response.
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
	plainHTTP func() []byte // returns the response to a request without TLS; nil if there is none, or if it was sent
}

// Server returns the server's side of a TLS connection that uses the connection c.
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

// NetConn returns the connection without TLS that was passed to Server.
func (c *Conn) NetConn() net.Conn { return c.records.Conn }

// Wipe overwrites all received data that is still in the connection's memory. Call Wipe only after the connection has ended,
// and when no goroutine reads from it. Later reads return io.EOF.
func (c *Conn) Wipe() {
	c.records.isEnded = true
	c.records.clearUnreturned()
	if !c.ConnectionState().HandshakeComplete {
		return // before the end of the handshake, crypto/tls decrypts no data of the client
	}
	buffer := borrowBuffer()
	for {
		// The first calls of Read return the data that crypto/tls has already decrypted. Then crypto/tls reads the next record
		// with recordConn.Read, which overwrites the buffer of crypto/tls and returns io.EOF.
		if _, err := c.Conn.Read(*buffer); err != nil {
			break
		}
	}
	clear(*buffer)
	bufferPool.Put(buffer)
}

// headerBytes is the length of a TLS record's header: type, version and length of the payload (RFC 8446, section 5.1).
const headerBytes = 5

// recordConn is the connection from which crypto/tls reads. Its method Read returns the header and the payload of a TLS record
// separately.
type recordConn struct {
	net.Conn
	header         [headerBytes]byte
	headerReturned int // number of bytes of the current header that Read has returned; if all, the payload is next
	payloadLeft    int // number of bytes of the current payload that Read has not returned yet

	received   *[]byte // bytes that were received in advance; nil if all of them were returned
	unreturned []byte  // part of received that was not returned yet

	isEnded bool
}

// Read implements io.Reader for crypto/tls. One call never returns bytes of two records, or bytes of both a header and a
// payload.
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
		// A read of the socket may return more than a header. So read into p first, and then copy the bytes to a buffer from
		// the pool. While a connection waits for data, it has no buffer from the pool.
		n, err := r.Conn.Read(p)
		if n == 0 {
			return 0, err
		}
		// Clear the bytes in p, because they are plaintext if the client does not use TLS.
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

// countHeader must be called when Read returns n more bytes of a header.
func (r *recordConn) countHeader(n int) {
	if r.headerReturned += n; r.headerReturned == headerBytes {
		r.payloadLeft = int(r.header[3])<<8 | int(r.header[4])
		r.countPayload(0)
	}
}

// countPayload must be called when Read returns n more bytes of a payload. After the last byte of the payload, the next record
// begins with its header.
func (r *recordConn) countPayload(n int) {
	if r.payloadLeft -= n; r.payloadLeft == 0 {
		r.headerReturned = 0
	}
}

// clearUnreturned overwrites the received bytes that crypto/tls has not read. Because the connection has ended, crypto/tls will
// not read these bytes any more. They are plaintext if the client does not use TLS.
func (r *recordConn) clearUnreturned() {
	clear(r.unreturned)
	r.unreturned = nil
}

// bufferPool has buffers for received bytes that Read has not returned yet. A buffer in the pool never contains plaintext.
var bufferPool = sync.Pool{New: func() any { b := make([]byte, 2<<10); return &b }}

func borrowBuffer() *[]byte {
	b := bufferPool.Get().(*[]byte)
	*b = (*b)[:cap(*b)]
	return b
}
