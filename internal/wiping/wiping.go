package wiping

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
)

// Listen returns a listener of TLS connections that overwrite in memory what they have read. Accept returns a *Conn; the
// handshake happens at the first read or write. A client that sends an HTTP request without TLS gets the bytes that plainHTTP
// returns as its response. If plainHTTP is nil, the client gets no response.
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
	plainHTTP func() []byte // returns the response to a request without TLS; nil: there is none, or it was sent already
}

// Server returns a Conn, the server's side of a TLS connection, over the connection c.
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

// NetConn returns the connection below TLS, which was given to Server.
func (c *Conn) NetConn() net.Conn { return c.records.Conn }

// Wipe overwrites the received data that the connection still holds. It may be called only after the connection has ended and
// when no goroutine reads from it. Later reads return io.EOF.
func (c *Conn) Wipe() {
	c.records.isEnded = true
	c.records.clearUnreturned()
	if !c.ConnectionState().HandshakeComplete {
		return // before the end of the handshake, crypto/tls has decrypted no data of the client
	}
	buffer := borrowBuffer()
	for {
		// The first calls of Read return the data that crypto/tls has already decrypted. Then crypto/tls asks for the next
		// record: recordConn.Read overwrites its buffer and returns io.EOF.
		if _, err := c.Conn.Read(*buffer); err != nil {
			break
		}
	}
	clear(*buffer)
	bufferPool.Put(buffer)
}

// headerBytes is the length of a TLS record's header: type, version and length of the payload (RFC 8446, section 5.1).
const headerBytes = 5

// recordConn is the connection from which crypto/tls reads. It passes on each TLS record's header and payload separately.
type recordConn struct {
	net.Conn
	header         [headerBytes]byte
	headerReturned int // bytes of the current record's header that crypto/tls has got; after all of them the payload follows
	payloadLeft    int // bytes of the current record's payload that crypto/tls has not got yet

	received   *[]byte // received bytes, read in advance; nil: all of them were returned
	unreturned []byte  // the part of received that was not returned yet

	isEnded bool
}

// Read implements io.Reader for crypto/tls. One call never returns bytes of both a record's header and its payload, or of
// two records.
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
		// One read of the socket may bring more than a header. All of it is read into p, and then copied into a separate
		// buffer from the pool. So a connection that waits for data holds no such buffer.
		n, err := r.Conn.Read(p)
		if n == 0 {
			return 0, err
		}
		// The bytes in p are cleared, because they are plaintext if the client does not speak TLS.
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

// countHeader notes that n more bytes of a record's header were returned.
func (r *recordConn) countHeader(n int) {
	if r.headerReturned += n; r.headerReturned == headerBytes {
		r.payloadLeft = int(r.header[3])<<8 | int(r.header[4])
		r.countPayload(0)
	}
}

// countPayload notes that n more bytes of a payload were returned. After the last byte of a payload, the header of the next
// record follows.
func (r *recordConn) countPayload(n int) {
	if r.payloadLeft -= n; r.payloadLeft == 0 {
		r.headerReturned = 0
	}
}

// clearUnreturned overwrites the received bytes that crypto/tls will not take any more because the connection ends. They are
// plaintext if the client does not speak TLS.
func (r *recordConn) clearUnreturned() {
	clear(r.unreturned)
	r.unreturned = nil
}

// bufferPool has buffers for received bytes that were not returned yet. A buffer in the pool contains ciphertext only.
var bufferPool = sync.Pool{New: func() any { b := make([]byte, 2<<10); return &b }}

func borrowBuffer() *[]byte {
	b := bufferPool.Get().(*[]byte)
	*b = (*b)[:cap(*b)]
	return b
}
