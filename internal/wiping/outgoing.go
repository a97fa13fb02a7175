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

// Body is the body of a request. It is written to the connection directly from its own memory. As soon as the body was written
// or can't be written any more, this memory is overwritten. In place of the body, http.Transport reads the same number of
// spaces, so its buffers never contain a part of the body.
//
// A Body works only on a connection that was made with Dial or DialTLS, and only if AttachTo was called. On any other
// connection, the spaces are sent, and a server that expects JSON refuses the request.
type Body struct {
	mu           sync.Mutex
	content      []byte
	spacesRead   int // number of spaces that http.Transport has read
	writtenBytes int // number of bytes of content that were written
	isWriting    bool
	isClosed     bool
}

// NewBody returns a body with the content, which must not be empty. The body overwrites the slice content later, so the caller
// must not use this slice any more.
func NewBody(content []byte) *Body { return &Body{content: content} }

// Read implements io.Reader for http.Transport.
func (b *Body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(p), len(b.content)-b.spacesRead)
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	for i := range p[:n] {
		p[i] = ' '
	}
	b.spacesRead += n
	return n, nil
}

// Close implements io.Closer. It overwrites the content and does not wait. If another goroutine is writing the content to the
// connection, the content is overwritten after this write.
func (b *Body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isClosed = true
	b.wipe()
	return nil
}

// wipe overwrites the content if the content is no longer needed. The caller holds b.mu.
func (b *Body) wipe() {
	if !b.isWriting && (b.isClosed || b.writtenBytes == len(b.content)) {
		clear(b.content)
	}
}

// AttachTo makes b the body of the next request on the connection c. If b is nil, the next request has no Body. For every
// request of a transport, AttachTo must be called in httptrace.ClientTrace.GotConn. If c was not made with Dial or DialTLS,
// AttachTo does nothing.
func (b *Body) AttachTo(c net.Conn) {
	if o, ok := c.(*outgoingConn); ok {
		o.body, o.endOfHeadBytes = b, 0
	}
}

// write writes the next n bytes of the content with writeContent. If the body is closed, the error is net.ErrClosed.
func (b *Body) write(writeContent func([]byte) (int, error), n int) (int, error) {
	b.mu.Lock()
	if b.isClosed || n > len(b.content)-b.writtenBytes {
		b.mu.Unlock()
		return 0, net.ErrClosed
	}
	part := b.content[b.writtenBytes : b.writtenBytes+n]
	b.isWriting = true
	b.mu.Unlock()

	n, err := writeContent(part)

	b.mu.Lock()
	defer b.mu.Unlock()
	b.writtenBytes += n
	b.isWriting = false
	b.wipe()
	return n, err
}

// remaining returns the number of bytes that are not written yet.
func (b *Body) remaining() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.content) - b.writtenBytes
}

// outgoingConn is a connection of an http.Transport. It sends one request at a time.
type outgoingConn struct {
	net.Conn
	writeBody func([]byte) (int, error) // writes bytes of a body to the connection

	body           *Body // body of the current request; nil if there is no Body, or if it was written completely
	endOfHeadBytes int   // number of bytes of endOfHead at the end of the bytes written so far
}

// endOfHead is the end of a request's head (RFC 9112, 2.1).
var endOfHead = []byte("\r\n\r\n")

// Write implements io.Writer for http.Transport. It writes the head unchanged. After the head, it ignores the bytes in p, and
// writes the same number of bytes of the Body.
func (o *outgoingConn) Write(p []byte) (int, error) {
	if o.body == nil {
		return o.Conn.Write(p)
	}
	headLength := o.countHeadBytes(p)
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

// countHeadBytes returns the number of bytes at the beginning of p that belong to the request's head. It updates
// o.endOfHeadBytes.
func (o *outgoingConn) countHeadBytes(p []byte) int {
	for i, c := range p {
		switch {
		case o.endOfHeadBytes == len(endOfHead):
			return i
		case c == endOfHead[o.endOfHeadBytes]:
			o.endOfHeadBytes++
		default:
			// After a mismatch, endOfHead can only begin again with c.
			o.endOfHeadBytes = bytes.IndexByte(endOfHead[:1], c) + 1
		}
	}
	return len(p)
}

// Dial returns a function for http.Transport.DialContext that makes connections without TLS.
func Dial(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &outgoingConn{Conn: c, writeBody: c.Write}, nil
	}
}

// DialTLS returns a function for http.Transport.DialTLSContext that makes connections with TLS. If the handshake takes longer
// than timeout, the function returns an error.
func DialTLS(d *net.Dialer, config *tls.Config, timeout time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
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
		batches := &batchConn{Conn: c}
		tlsConn := tls.Client(batches, hostConfig)
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if err := tlsConn.HandshakeContext(ctx); err != nil {
			_ = c.Close()
			return nil, err
		}
		return &outgoingConn{Conn: tlsConn, writeBody: (&fragmentWriter{tlsConn, batches}).write}, nil
	}
}
