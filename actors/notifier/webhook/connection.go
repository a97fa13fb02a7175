package webhook

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// Bounds of a response, in bytes.
const (
	maxHeader  = 16 << 10
	maxHeaders = 64 << 10 // of all headers of an exchange, interim ones included
	maxBody    = 64 << 10 // with the framing of chunks
)

// connection is one connection. It carries one exchange at a time.
type connection struct {
	to   destination
	conn net.Conn // what requests are written to: tcp, or TLS over it
	tcp  net.Conn
	raw  syscall.RawConn // of tcp

	opened    time.Time
	idleSince time.Time // when it last became idle

	bytesLeft int   // bytes that may still be read in this exchange
	readError error // why nothing more can be read; nil: more can

	peekBuffer [1]byte
	pending    bool             // result of peek
	peekFunc   func(fd uintptr) // peek as a value, made once because every delivery needs it

	older, newer *connection // its neighbours among the idle connections
}

func newConnection(to destination, conn, tcp net.Conn) (*connection, error) {
	c := &connection{to: to, conn: conn, tcp: tcp, opened: time.Now()}
	c.peekFunc = c.peek
	socket, ok := tcp.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	raw, err := socket.SyscallConn()
	c.raw = raw
	return c, err
}

// belowTLS is the connection under TLS. When it closes, TLS sets a write deadline of 5 s for its last
// message; other deliveries must not wait that long for a receiver that does not read.
type belowTLS struct{ net.Conn }

const lastWord = 50 * time.Millisecond

// SetWriteDeadline implements net.Conn.
func (b belowTLS) SetWriteDeadline(deadline time.Time) error {
	if soon := time.Now().Add(lastWord); deadline.After(soon) {
		deadline = soon
	}
	return b.Conn.SetWriteDeadline(deadline)
}

// close ends a connection as its protocol requires.
func (c *connection) close() { _ = c.conn.Close() }

// drop ends a connection at once, even while it is in use; TLS sends no last message.
func (c *connection) drop() { _ = c.tcp.Close() }

// Read implements io.Reader for one exchange: it enforces the bound on bytes read and records the
// error that broke the connection, which the parser does not return.
func (c *connection) Read(b []byte) (int, error) {
	if c.bytesLeft <= 0 {
		c.readError = errLong
		return 0, errLong
	}
	n, err := c.conn.Read(b[:min(len(b), c.bytesLeft)])
	c.bytesLeft -= n
	if err != nil {
		c.readError = err
	}
	return n, err
}

// longAgo is a deadline in the past, with which a read returns at once.
var longAgo = time.Unix(1, 0)

// usable tells whether an idle connection is usable: it has not ended and has no unread bytes.
func (c *connection) usable() bool {
	c.pending = true
	if c.raw.Control(c.peekFunc) != nil || c.pending {
		return false
	}
	if !c.to.secure {
		return true
	}
	// TLS may have read a whole further record from the socket together with the last response.
	if c.conn.SetReadDeadline(longAgo) != nil {
		return false
	}
	n, err := c.conn.Read(c.peekBuffer[:])
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

// peek finds out, without waiting, whether the socket has anything to read.
func (c *connection) peek(fd uintptr) {
	_, _, err := syscall.Recvfrom(int(fd), c.peekBuffer[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	c.pending = !errors.Is(err, syscall.EAGAIN)
}

// verdict is the result of an exchange.
type verdict struct {
	status   int
	failure  string
	silent   bool      // the connection ended before the first byte of a response
	at       time.Time // when the result was known
	reusable bool      // the connection can be reused
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxHeader) }}

// exchange sends a request and waits for its response's header until the deadline. It reads the body
// for at most bodyWait, so that the connection can be reused.
func (c *connection) exchange(request []byte, until time.Time, bodyWait time.Duration) verdict {
	c.bytesLeft, c.readError = maxHeaders, nil
	err := c.conn.SetDeadline(until)
	if err == nil {
		_, err = c.conn.Write(request)
	}
	if err != nil {
		return verdict{failure: connectionFailure(err, unanswered), silent: !timedOut(err), at: time.Now()}
	}
	r, answer := readers.Get().(*bufio.Reader), fasthttp.AcquireResponse()
	r.Reset(c)
	v := c.readHeader(r, &answer.Header)
	v.at = time.Now()
	if v.status != 0 {
		v.reusable = c.drain(r, answer, v.status, until, bodyWait)
	}
	r.Reset(nil)
	readers.Put(r)
	fasthttp.ReleaseResponse(answer)
	return v
}

// maxInterim bounds the interim headers and the final one together (RFC 9110, 15.2).
const maxInterim = 8

// readHeader reads headers up to the final one.
func (c *connection) readHeader(r *bufio.Reader, header *fasthttp.ResponseHeader) verdict {
	for range maxInterim {
		start, _ := r.Peek(len(statusLine))
		if len(start) == 0 {
			return verdict{failure: connectionFailure(c.readError, unanswered), silent: !timedOut(c.readError)}
		}
		status, ok := statusOf(start)
		switch {
		case !ok:
			return verdict{failure: notHTTP}
		case status == 0:
			return verdict{failure: connectionFailure(c.readError, cutOff)}
		}
		if failure := c.awaitHeader(r); failure != "" {
			return verdict{failure: failure}
		}
		if err := header.Read(r); err != nil || header.StatusCode() != status { // a status may have more than three digits
			return verdict{failure: notHTTP}
		}
		const switching = 101 // to another protocol: no further header follows
		if status >= 200 || status == switching {
			return verdict{status: status, failure: statusFailure(status)}
		}
	}
	return verdict{failure: notHTTP}
}

// awaitHeader waits until a whole header has arrived, or returns why it has not. It is needed because
// the parser would start from the beginning with each byte that arrives.
func (c *connection) awaitHeader(r *bufio.Reader) (failure string) {
	checkedBytes := 0
	for {
		buffered, _ := r.Peek(r.Buffered())
		const before = 2 // bytes of the end mark that may have arrived earlier
		fresh := buffered[max(0, checkedBytes-before):]
		if bytes.Contains(fresh, []byte("\n\r\n")) || bytes.Contains(fresh, []byte("\n\n")) {
			return ""
		}
		checkedBytes = len(buffered)
		if _, err := r.Peek(checkedBytes + 1); errors.Is(err, bufio.ErrBufferFull) {
			return headerLong
		} else if err != nil {
			return connectionFailure(c.readError, cutOff)
		}
	}
}

// statusLine is the form of a response's first bytes; "d" stands for a digit.
const statusLine = "HTTP/1.d ddd"

// statusOf reads the status from a response's first bytes; 0 if there are too few bytes. It is strict,
// unlike the parser that reads the header afterwards.
func statusOf(start []byte) (status int, ok bool) {
	for i, c := range start {
		if statusLine[i] != 'd' && c != statusLine[i] || statusLine[i] == 'd' && (c < '0' || c > '9') {
			return 0, false
		}
	}
	if len(start) < len(statusLine) {
		return 0, true
	}
	d := start[len(start)-3:]
	status = int(d[0]-'0')*100 + int(d[1]-'0')*10 + int(d[2]-'0')
	return status, status >= 100
}

// drain reads and discards the response's body, and tells whether the connection can be reused.
func (c *connection) drain(r *bufio.Reader, answer *fasthttp.Response, status int, until time.Time, bodyWait time.Duration) bool {
	if status < 200 {
		return false
	}
	c.bytesLeft = maxBody - r.Buffered()
	length := answer.Header.ContentLength()
	if status == fasthttp.StatusNoContent || status == fasthttp.StatusNotModified {
		length = 0
	}
	const chunked = -1
	if length == chunked || length > r.Buffered() && length <= maxBody || length < chunked {
		if by := time.Now().Add(bodyWait); by.Before(until) && c.conn.SetReadDeadline(by) != nil {
			return false
		}
	}
	var err error
	switch {
	case length > maxBody:
		return false
	case length >= 0:
		_, err = r.Discard(length)
	case length == chunked:
		if err = answer.ReadBody(r, maxBody); err == nil {
			err = answer.Header.ReadTrailer(r)
		}
	default: // the body ends when the connection does
		_, _ = io.CopyN(io.Discard, r, maxBody)
		return false
	}
	return err == nil && !answer.Header.ConnectionClose() && r.Buffered() == 0
}
