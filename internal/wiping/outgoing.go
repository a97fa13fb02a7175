package wiping

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"
)

// Body is a request's body that is written to its connection from its own memory, and
// overwritten as soon as it was written, or nobody will write it any more. http.Transport
// reads as many spaces in its place, so that its buffers never hold a part of it.
//
// It goes onto a connection of Dial or DialTLS (On). On any other one the spaces are sent,
// which is a body that no server of JSON takes.
type Body struct {
	mu      sync.Mutex
	content []byte
	read    int  // spaces that were read
	written int  // bytes of content that were written
	busy    bool // the content is being written
	closed  bool
}

// NewBody takes the content over. It must not be empty.
func NewBody(content []byte) *Body { return &Body{content: content} }

// Read implements io.Reader for http.Transport.
func (b *Body) Read(to []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(to), len(b.content)-b.read)
	if n == 0 && len(to) > 0 {
		return 0, io.EOF
	}
	for i := range to[:n] {
		to[i] = ' '
	}
	b.read += n
	return n, nil
}

// Close implements io.Closer. It waits for nothing: what is being written is overwritten
// when that ends.
func (b *Body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wipe()
	return nil
}

// wipe overwrites the content if nobody needs it. b.mu is held.
func (b *Body) wipe() {
	if !b.busy && (b.closed || b.written == len(b.content)) {
		clear(b.content)
	}
}

// On says that the connection's next request has the body; nil: it has none. It is for
// httptrace.ClientTrace.GotConn, for each request of a transport. Another connection than
// one of Dial or DialTLS is left as it is.
func (b *Body) On(c net.Conn) {
	if o, ok := c.(*outgoing); ok {
		o.body, o.ended = b, 0
	}
}

// write writes the next n bytes. A body that was closed has no more to write.
func (b *Body) write(to func([]byte) (int, error), n int) (int, error) {
	b.mu.Lock()
	if b.closed || n > len(b.content)-b.written {
		b.mu.Unlock()
		return 0, net.ErrClosed
	}
	part := b.content[b.written : b.written+n]
	b.busy = true
	b.mu.Unlock()

	n, err := to(part)

	b.mu.Lock()
	defer b.mu.Unlock()
	b.written += n
	b.busy = false
	b.wipe()
	return n, err
}

// left is how much is to be written.
func (b *Body) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.content) - b.written
}

// outgoing is a connection of http.Transport, which writes one request at a time.
type outgoing struct {
	net.Conn
	bodies func([]byte) (int, error) // writes them

	body  *Body // of the request that is written; nil: it has none of ours
	ended int   // bytes of endOfHead that were written
}

// endOfHead ends a request's head (RFC 9112, 2.1).
var endOfHead = []byte("\r\n\r\n")

// Write implements io.Writer: in the place of each byte behind the head it writes one of
// the body.
func (o *outgoing) Write(p []byte) (int, error) {
	if o.body == nil {
		return o.Conn.Write(p)
	}
	head := o.head(p)
	n, err := 0, error(nil)
	if head > 0 {
		n, err = o.Conn.Write(p[:head])
	}
	if body := min(len(p)-head, o.body.left()); err == nil && body > 0 {
		var more int
		more, err = o.body.write(o.bodies, body)
		n += more
	}
	if o.body.left() == 0 {
		o.body = nil
	}
	return n, err
}

// head is how many of the bytes belong to the head.
func (o *outgoing) head(p []byte) int {
	for i, c := range p {
		switch {
		case o.ended == len(endOfHead):
			return i
		case c == endOfHead[o.ended]:
			o.ended++
		default:
			o.ended = bytes.IndexByte(endOfHead[:1], c) + 1 // the first byte of the end is no other one's
		}
	}
	return len(p)
}

// Dial makes connections without TLS for http.Transport.DialContext.
func Dial(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &outgoing{Conn: c, bodies: c.Write}, nil
	}
}

// DialTLS makes connections with TLS for http.Transport.DialTLSContext. A handshake has as
// long as bound says.
func DialTLS(d *net.Dialer, config *tls.Config, bound time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		own := config.Clone()
		own.ServerName = host
		below := &wire{Conn: c}
		secured := tls.Client(below, own)
		ctx, cancel := context.WithTimeout(ctx, bound)
		defer cancel()
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = c.Close()
			return nil, err
		}
		return &outgoing{Conn: secured, bodies: (&fragments{secured, below}).write}, nil
	}
}
