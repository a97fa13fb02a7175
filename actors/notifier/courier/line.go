package courier

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

// Bounds of an answer, in bytes.
const (
	maxHeader  = 16 << 10
	maxHeaders = 64 << 10 // of all of an exchange, with the interim ones
	maxBody    = 64 << 10 // with the framing of chunks
)

// line is one connection. It carries one exchange at a time.
type line struct {
	to   destination
	conn net.Conn // what requests go over: tcp, or TLS on it
	tcp  net.Conn
	raw  syscall.RawConn // of tcp

	opened time.Time
	rested time.Time // when it was put aside last

	left  int   // bytes that may still be read for the exchange under way
	broke error // why nothing more comes; nil: it does

	one     [1]byte
	pending bool             // what look has found
	look    func(fd uintptr) // made once: it is called for every delivery

	older, newer *line // among those that are idle
}

func newLine(to destination, conn, tcp net.Conn) (*line, error) {
	l := &line{to: to, conn: conn, tcp: tcp, opened: time.Now()}
	l.look = l.peek
	socket, ok := tcp.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	raw, err := socket.SyscallConn()
	l.raw = raw
	return l, err
}

// below is the connection under TLS. TLS sets a write deadline only for its last
// word, and of 5 s; nobody else's delivery may wait that long for a receiver that
// doesn't read.
type below struct{ net.Conn }

const lastWord = 50 * time.Millisecond

// SetWriteDeadline implements net.Conn.
func (b below) SetWriteDeadline(by time.Time) error {
	if soon := time.Now().Add(lastWord); by.After(soon) {
		by = soon
	}
	return b.Conn.SetWriteDeadline(by)
}

// close ends a line as its protocol wants it.
func (l *line) close() { _ = l.conn.Close() }

// drop ends a line at once, whoever uses it.
func (l *line) drop() { _ = l.tcp.Close() }

// Read implements io.Reader for one exchange: it keeps to the bound of what is read
// and remembers what broke the line, which the parser does not tell.
func (l *line) Read(b []byte) (int, error) {
	if l.left <= 0 {
		l.broke = errLong
		return 0, errLong
	}
	n, err := l.conn.Read(b[:min(len(b), l.left)])
	l.left -= n
	if err != nil {
		l.broke = err
	}
	return n, err
}

// longAgo is a deadline that lets nothing wait.
var longAgo = time.Unix(1, 0)

// still tells whether nothing has come over an idle line, neither its end nor a
// byte that nobody asked for.
func (l *line) still() bool {
	l.pending = true
	if l.raw.Control(l.look) != nil || l.pending {
		return false
	}
	if !l.to.secure {
		return true
	}
	// TLS may have taken a whole record from the socket behind the last answer.
	if l.conn.SetReadDeadline(longAgo) != nil {
		return false
	}
	n, err := l.conn.Read(l.one[:])
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

// peek sees without waiting whether the socket has anything to read.
func (l *line) peek(fd uintptr) {
	_, _, err := syscall.Recvfrom(int(fd), l.one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	l.pending = !errors.Is(err, syscall.EAGAIN)
}

// verdict is what came of an exchange.
type verdict struct {
	status  int
	failure string
	silent  bool      // the line ended before a byte of an answer
	at      time.Time // when that was known
	keep    bool      // the line can carry another exchange
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxHeader) }}

// exchange sends a request and waits for its answer's header until the deadline.
// What is behind that is read for at most bodyWait, so that the line can be kept.
func (l *line) exchange(request []byte, until time.Time, bodyWait time.Duration) verdict {
	l.left, l.broke = maxHeaders, nil
	err := l.conn.SetDeadline(until)
	if err == nil {
		_, err = l.conn.Write(request)
	}
	if err != nil {
		return verdict{failure: lineFailure(err, unanswered), silent: !timedOut(err), at: time.Now()}
	}
	r, answer := readers.Get().(*bufio.Reader), fasthttp.AcquireResponse()
	r.Reset(l)
	v := l.hear(r, &answer.Header)
	v.at = time.Now()
	if v.status != 0 {
		v.keep = l.drain(r, answer, v.status, until, bodyWait)
	}
	r.Reset(nil)
	readers.Put(r)
	fasthttp.ReleaseResponse(answer)
	return v
}

// maxInterim bounds the headers before the one that counts (RFC 9110, 15.2).
const maxInterim = 8

// hear reads the header that counts.
func (l *line) hear(r *bufio.Reader, header *fasthttp.ResponseHeader) verdict {
	for range maxInterim {
		start, _ := r.Peek(len(statusLine))
		if len(start) == 0 {
			return verdict{failure: lineFailure(l.broke, unanswered), silent: !timedOut(l.broke)}
		}
		status, ok := statusOf(start)
		switch {
		case !ok:
			return verdict{failure: notHTTP}
		case status == 0:
			return verdict{failure: lineFailure(l.broke, cutOff)}
		}
		if failure := l.await(r); failure != "" {
			return verdict{failure: failure}
		}
		if err := header.Read(r); err != nil || header.StatusCode() != status { // which may have more than three digits
			return verdict{failure: notHTTP}
		}
		const switching = 101 // to another protocol: nothing follows
		if status >= 200 || status == switching {
			return verdict{status: status, failure: refusal(status)}
		}
	}
	return verdict{failure: notHTTP}
}

// await waits until a whole header is there, or says why there is none. The parser
// would begin anew with each byte that comes.
func (l *line) await(r *bufio.Reader) (failure string) {
	looked := 0
	for {
		there, _ := r.Peek(r.Buffered())
		const before = 2 // bytes of an end that may have come earlier
		fresh := there[max(0, looked-before):]
		if bytes.Contains(fresh, []byte("\n\r\n")) || bytes.Contains(fresh, []byte("\n\n")) {
			return ""
		}
		looked = len(there)
		if _, err := r.Peek(looked + 1); errors.Is(err, bufio.ErrBufferFull) {
			return headerLong
		} else if err != nil {
			return lineFailure(l.broke, cutOff)
		}
	}
}

// statusLine is what an answer begins with, "d" standing for a digit.
const statusLine = "HTTP/1.d ddd"

// statusOf reads the status from an answer's first bytes; 0: they are too few. The
// parser behind it is lenient about them.
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

// drain reads what belongs to the answer behind its header, and tells whether the
// line can be used again. The body is nobody's concern.
func (l *line) drain(r *bufio.Reader, answer *fasthttp.Response, status int, until time.Time, bodyWait time.Duration) bool {
	if status < 200 {
		return false
	}
	l.left = maxBody - r.Buffered()
	length := answer.Header.ContentLength()
	if status == fasthttp.StatusNoContent || status == fasthttp.StatusNotModified {
		length = 0
	}
	const chunked = -1
	if length == chunked || length > r.Buffered() && length <= maxBody || length < chunked {
		if by := time.Now().Add(bodyWait); by.Before(until) && l.conn.SetReadDeadline(by) != nil {
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
	default: // it ends with the line
		_, _ = io.CopyN(io.Discard, r, maxBody)
		return false
	}
	return err == nil && !answer.Header.ConnectionClose() && r.Buffered() == 0
}
