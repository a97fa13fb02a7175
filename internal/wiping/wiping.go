package wiping

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
)

// Listen accepts TLS connections that keep nothing of what was read. What Accept returns
// is a *Conn; the handshake is made with the first read or write.
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

// Server makes the server's side of a connection.
func Server(c net.Conn, config *tls.Config) *Conn {
	r := &records{Conn: c}
	return &Conn{Conn: tls.Server(r, config), records: r}
}

// NetConn is the connection that TLS runs on, as it was given to Server.
func (c *Conn) NetConn() net.Conn { return c.records.Conn }

// Wipe overwrites what the connection still holds of what it has received. It is for a
// connection that is over: nobody may be reading, and later reads return io.EOF.
func (c *Conn) Wipe() {
	c.records.over = true
	if !c.ConnectionState().HandshakeComplete {
		return // nothing but handshakes was read
	}
	to := lend()
	for {
		// What was not taken is; then the next record is asked for, which is the end.
		if _, err := c.Conn.Read(*to); err != nil {
			break
		}
	}
	clear(*to)
	buffers.Put(to)
}

// headerBytes is the length of a record's header: its type, version and length (RFC 8446,
// 5.1). The length is that of the payload.
const headerBytes = 5

// records is a socket as crypto/tls reads it.
type records struct {
	net.Conn
	header  [headerBytes]byte
	head    int // bytes of the header that were handed out; all of them: the payload follows
	payload int // bytes of the payload that are to come

	received *[]byte // nil: nothing was received that is not handed out
	ahead    []byte  // of received: that part of it

	over bool
}

// Read implements io.Reader for crypto/tls: it returns bytes of one header, or of one
// payload.
func (r *records) Read(p []byte) (int, error) {
	if r.head == 0 {
		clear(p) // the record before
	}
	if r.over {
		return 0, io.EOF
	}
	if len(r.ahead) == 0 {
		if r.head == headerBytes {
			n, err := r.Conn.Read(p[:min(len(p), r.payload)])
			r.took(n)
			return n, err
		}
		// More than a header comes at once. It is received where it will be decrypted,
		// which costs no buffer while nothing comes, and put aside.
		n, err := r.Conn.Read(p)
		if n == 0 {
			return 0, err
		}
		r.received = lend()
		*r.received = append((*r.received)[:0], p[:n]...)
		r.ahead = *r.received
	}
	n := 0
	if r.head < headerBytes {
		n = copy(p, r.ahead[:min(len(r.ahead), headerBytes-r.head)])
		copy(r.header[r.head:], p[:n])
		r.began(n)
	} else {
		n = copy(p, r.ahead[:min(len(r.ahead), r.payload)])
		r.took(n)
	}
	if r.ahead = r.ahead[n:]; len(r.ahead) == 0 {
		buffers.Put(r.received)
		r.received = nil
	}
	return n, nil
}

// began counts bytes of a header.
func (r *records) began(n int) {
	if r.head += n; r.head == headerBytes {
		r.payload = int(r.header[3])<<8 | int(r.header[4])
		r.took(0)
	}
}

// took counts bytes of a payload.
func (r *records) took(n int) {
	if r.payload -= n; r.payload == 0 {
		r.head = 0
	}
}

// buffers hold what was received and not handed out, which is ciphertext.
var buffers = sync.Pool{New: func() any { b := make([]byte, 2<<10); return &b }}

func lend() *[]byte {
	b := buffers.Get().(*[]byte)
	*b = (*b)[:cap(*b)]
	return b
}
