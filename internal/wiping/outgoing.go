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
// overwritten as soon as it was written or can't be written any more. http.Transport reads the
// same number of spaces in its place, so that its buffers never contain a part of it.
//
// It works on a connection of Dial or DialTLS, after AttachTo. On any other connection the spaces are
// sent, a body that every JSON server refuses.
type Body struct {
	mu      sync.Mutex
	content []byte
	read    int  // number of spaces read
	written int  // number of bytes of content written
	busy    bool // the content is being written
	closed  bool
}

// NewBody returns a body that owns the content, which must not be empty.
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

// Close implements io.Closer. It does not wait: if content is being written, it is overwritten
// after that.
func (b *Body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wipe()
	return nil
}

// wipe overwrites the content if it is no longer needed. The caller holds b.mu.
func (b *Body) wipe() {
	if !b.busy && (b.closed || b.written == len(b.content)) {
		clear(b.content)
	}
}

// AttachTo sets the body of the connection's next request; nil: it has none. Call it in
// httptrace.ClientTrace.GotConn, for each request of a transport. It does nothing for
// connections that are not of Dial or DialTLS.
func (b *Body) AttachTo(c net.Conn) {
	if o, ok := c.(*outgoing); ok {
		o.body, o.endOfHeadBytes = b, 0
	}
}

// write writes the next n bytes. A closed body has no more bytes.
func (b *Body) write(writeContent func([]byte) (int, error), n int) (int, error) {
	b.mu.Lock()
	if b.closed || n > len(b.content)-b.written {
		b.mu.Unlock()
		return 0, net.ErrClosed
	}
	part := b.content[b.written : b.written+n]
	b.busy = true
	b.mu.Unlock()

	n, err := writeContent(part)

	b.mu.Lock()
	defer b.mu.Unlock()
	b.written += n
	b.busy = false
	b.wipe()
	return n, err
}

// remaining returns how many bytes are still to be written.
func (b *Body) remaining() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.content) - b.written
}

// outgoing is a connection of http.Transport, which writes one request at a time.
type outgoing struct {
	net.Conn
	writeBody func([]byte) (int, error) // writes a part of a body

	body           *Body // the body of the current request; nil: it has no Body
	endOfHeadBytes int   // bytes of endOfHead that were written
}

// endOfHead ends a request's head (RFC 9112, 2.1).
var endOfHead = []byte("\r\n\r\n")

// Write implements io.Writer: for each byte after the head it writes one byte of the body.
func (o *outgoing) Write(p []byte) (int, error) {
	if o.body == nil {
		return o.Conn.Write(p)
	}
	headLength := o.headBytes(p)
	n, err := 0, error(nil)
	if headLength > 0 {
		n, err = o.Conn.Write(p[:headLength])
	}
	if bodyLength := min(len(p)-headLength, o.body.remaining()); err == nil && bodyLength > 0 {
		var written int
		written, err = o.body.write(o.writeBody, bodyLength)
		n += written
	}
	if o.body.remaining() == 0 {
		o.body = nil
	}
	return n, err
}

// headBytes returns how many of the bytes belong to the head.
func (o *outgoing) headBytes(p []byte) int {
	for i, c := range p {
		switch {
		case o.endOfHeadBytes == len(endOfHead):
			return i
		case c == endOfHead[o.endOfHeadBytes]:
			o.endOfHeadBytes++
		default:
			o.endOfHeadBytes = bytes.IndexByte(endOfHead[:1], c) + 1 // after a mismatch only this byte can begin the end anew
		}
	}
	return len(p)
}

// Dial returns a function for http.Transport.DialContext, whose connections have no TLS.
func Dial(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &outgoing{Conn: c, writeBody: c.Write}, nil
	}
}

// DialTLS returns a function for http.Transport.DialTLSContext. A handshake may take at most
// bound.
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
		hostConfig := config.Clone()
		hostConfig.ServerName = host
		ciphertext := &wire{Conn: c}
		secured := tls.Client(ciphertext, hostConfig)
		ctx, cancel := context.WithTimeout(ctx, bound)
		defer cancel()
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = c.Close()
			return nil, err
		}
		return &outgoing{Conn: secured, writeBody: (&fragments{secured, ciphertext}).write}, nil
	}
}
