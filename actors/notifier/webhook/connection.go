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
	maxHeader     = 16 << 10
	maxAllHeaders = 64 << 10 // bytes of all headers of one exchange, interim responses included
	maxBody       = 64 << 10 // bytes of a body, including the framing of chunks
)

// connection is one connection to a destination. It carries one exchange (request and response) at a time.
type connection struct {
	destination destination
	conn        net.Conn // carries the requests: tcp, or TLS over tcp
	tcp         net.Conn
	raw         syscall.RawConn // direct access to tcp's socket; nil if tcp is not a socket: then c is not reused

	opened    time.Time
	idleSince time.Time // when it last became idle

	bytesLeft int   // bytes that may still be read in this exchange
	readError error // why nothing more can be read; nil: reading can continue

	peekBuffer [1]byte
	hasUnread  bool             // result of peek: the socket has unread bytes or has ended
	peekFunc   func(fd uintptr) // c.peek as a function value, made once because every delivery needs it

	older, newer *connection // neighbours in the list of idle connections
}

func newConnection(to destination, conn, tcp net.Conn) (*connection, error) {
	c := &connection{destination: to, conn: conn, tcp: tcp, opened: time.Now()}
	c.peekFunc = c.peek
	socket, ok := tcp.(syscall.Conn)
	if !ok {
		return c, nil
	}
	raw, err := socket.SyscallConn()
	c.raw = raw
	return c, err
}

// belowTLS is the TCP connection under TLS. To close a connection, crypto/tls sends a last message with a
// write deadline of 5 s. belowTLS shortens the deadline, because other deliveries must not wait that long
// for a receiver that does not read.
type belowTLS struct{ net.Conn }

// lastMessageTime bounds how long the last message of TLS may take.
const lastMessageTime = 50 * time.Millisecond

// SetWriteDeadline implements net.Conn.
func (b belowTLS) SetWriteDeadline(deadline time.Time) error {
	if latest := time.Now().Add(lastMessageTime); deadline.After(latest) {
		deadline = latest
	}
	return b.Conn.SetWriteDeadline(deadline)
}

// close ends a connection as its protocol requires.
func (c *connection) close() { _ = c.conn.Close() }

// drop ends a connection at once, even while it is in use; TLS sends no last message.
func (c *connection) drop() { _ = c.tcp.Close() }

// Read implements io.Reader for one exchange: it enforces the bound on bytes read, and records the error that
// broke the connection, because the parser does not return that error.
func (c *connection) Read(b []byte) (int, error) {
	if c.bytesLeft <= 0 {
		c.readError = errTooLong
		return 0, errTooLong
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

// isUsable reports whether an idle connection can be reused: the connection has not ended and has no unread bytes.
func (c *connection) isUsable() bool {
	c.hasUnread = true
	if c.raw == nil || c.raw.Control(c.peekFunc) != nil || c.hasUnread {
		return false
	}
	if !c.destination.usesTLS {
		return true
	}
	// The socket may have nothing to read because TLS has already read a further record, together with the last
	// response.
	if c.conn.SetReadDeadline(longAgo) != nil {
		return false
	}
	n, err := c.conn.Read(c.peekBuffer[:])
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

// peek looks, without waiting, whether the socket has anything to read, and sets hasUnread.
func (c *connection) peek(fd uintptr) {
	_, _, err := syscall.Recvfrom(int(fd), c.peekBuffer[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	c.hasUnread = !errors.Is(err, syscall.EAGAIN)
}

// exchangeResult is the result of an exchange.
type exchangeResult struct {
	status        int
	failure       string
	endedSilently bool      // the connection ended before the first byte of a response
	at            time.Time // when the result was known
	isReusable    bool      // the connection can be reused
}

var readerPool = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxHeader) }}

// exchange sends a request and waits, at most until the deadline, for the header of the response. Then it
// reads the body for at most bodyWait, so that the connection can be reused.
func (c *connection) exchange(request []byte, deadline time.Time, bodyWait time.Duration) exchangeResult {
	c.bytesLeft, c.readError = maxAllHeaders, nil
	err := c.conn.SetDeadline(deadline)
	if err == nil {
		_, err = c.conn.Write(request)
	}
	if err != nil {
		return exchangeResult{failure: connectionFailure(err, closedUnanswered), endedSilently: !timedOut(err), at: time.Now()}
	}
	r, answer := readerPool.Get().(*bufio.Reader), fasthttp.AcquireResponse()
	r.Reset(c)
	v := c.readHeader(r, &answer.Header)
	v.at = time.Now()
	if v.status != 0 {
		v.isReusable = c.drain(r, answer, v.status, deadline, bodyWait)
	}
	r.Reset(nil)
	readerPool.Put(r)
	fasthttp.ReleaseResponse(answer)
	return v
}

// maxInterim is the maximum number of headers of one response: interim headers (RFC 9110, 15.2) and the final header.
const maxInterim = 8

// readHeader reads the headers of interim responses and the final header.
func (c *connection) readHeader(r *bufio.Reader, header *fasthttp.ResponseHeader) exchangeResult {
	for range maxInterim {
		start, _ := r.Peek(len(statusLineForm))
		if len(start) == 0 {
			return exchangeResult{failure: connectionFailure(c.readError, closedUnanswered), endedSilently: !timedOut(c.readError)}
		}
		status, ok := statusOf(start)
		switch {
		case !ok:
			return exchangeResult{failure: notHTTP}
		case status == 0:
			return exchangeResult{failure: connectionFailure(c.readError, answerCutOff)}
		}
		if failure := c.awaitHeader(r); failure != "" {
			return exchangeResult{failure: failure}
		}
		if err := header.Read(r); err != nil || header.StatusCode() != status { // the parser allows longer statuses
			return exchangeResult{failure: notHTTP}
		}
		const switching = 101 // the status of a change to another protocol, after which no further header follows
		if status >= 200 || status == switching {
			return exchangeResult{status: status, failure: statusFailure(status)}
		}
	}
	return exchangeResult{failure: notHTTP}
}

// awaitHeader waits until a whole header has arrived. If that does not happen, it returns the reason. Without
// this wait, the parser would start from the beginning with each byte that arrives.
func (c *connection) awaitHeader(r *bufio.Reader) (failure string) {
	checkedBytes := 0
	for {
		buffered, _ := r.Peek(r.Buffered())
		const overlap = 2 // number of bytes of the end mark that may have been among the checked bytes
		unchecked := buffered[max(0, checkedBytes-overlap):]
		if bytes.Contains(unchecked, []byte("\n\r\n")) || bytes.Contains(unchecked, []byte("\n\n")) {
			return ""
		}
		checkedBytes = len(buffered)
		if _, err := r.Peek(checkedBytes + 1); errors.Is(err, bufio.ErrBufferFull) {
			return headerTooLong
		} else if err != nil {
			return connectionFailure(c.readError, answerCutOff)
		}
	}
}

// statusLineForm is the form of a response's first bytes; "d" stands for a digit.
const statusLineForm = "HTTP/1.d ddd"

// statusOf returns the status that a response's first bytes contain, or 0 if there are too few bytes. If the
// bytes are not HTTP, ok is false. statusOf is stricter than the parser that reads the header afterwards.
func statusOf(start []byte) (status int, ok bool) {
	for i, c := range start {
		if statusLineForm[i] != 'd' && c != statusLineForm[i] || statusLineForm[i] == 'd' && (c < '0' || c > '9') {
			return 0, false
		}
	}
	if len(start) < len(statusLineForm) {
		return 0, true
	}
	d := start[len(start)-3:]
	status = int(d[0]-'0')*100 + int(d[1]-'0')*10 + int(d[2]-'0')
	return status, status >= 100
}

// drain reads and discards the response's body. It reports whether the connection can be reused.
func (c *connection) drain(r *bufio.Reader, answer *fasthttp.Response, status int, deadline time.Time, bodyWait time.Duration) bool {
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
		if bodyDeadline := time.Now().Add(bodyWait); bodyDeadline.Before(deadline) && c.conn.SetReadDeadline(bodyDeadline) != nil {
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
