package remote

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/vmihailenco/msgpack/v5"
)

// readerBytes is the size of a connection's buffer for received bytes. Nearly every answer fits into it.
const readerBytes = 8 << 10

// failure is the reason why a request has no usable answer.
type failure struct {
	mayHaveArrived bool // a byte of the request was sent
	status         int  // the status of the answer; 0 if no whole answer came, or its body is not usable
	cause          string
}

// Error implements error. The text contains no part of the request or of the answer.
func (f *failure) Error() string { return f.cause }

// isRefusal tells whether the server refused the request before the simulator saw it.
func (f *failure) isRefusal() bool { return f.status >= 400 && f.status < 500 }

// connection is one connection to the server. It carries one request at a time.
type connection struct {
	conn   net.Conn
	raw    syscall.RawConn // direct access to the socket
	reader *bufio.Reader
	header fasthttp.ResponseHeader

	out     buffer // the request
	encoder *msgpack.Encoder
	decoder *msgpack.Decoder

	idleSince time.Time
	peekByte  [1]byte
	hasUnread bool // result of peek: the socket has unread bytes, or has ended
}

func newConnection(conn net.Conn) (*connection, error) {
	c := &connection{conn: conn, reader: bufio.NewReaderSize(conn, readerBytes), encoder: msgpack.NewEncoder(nil), decoder: msgpack.NewDecoder(nil)}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil, errors.New("it is not a socket")
	}
	var err error
	c.raw, err = socket.SyscallConn()
	return c, err
}

// longAgo is a deadline in the past, which ends every read and write at once.
var longAgo = time.Unix(1, 0)

// isUsable tells whether an idle connection can carry another request: the server has not closed it, and has sent nothing.
func (c *connection) isUsable() bool {
	c.hasUnread = true
	return c.raw.Control(c.peek) == nil && !c.hasUnread
}

// peek looks, without waiting, whether the socket has anything to read.
func (c *connection) peek(fd uintptr) {
	_, _, err := syscall.Recvfrom(int(fd), c.peekByte[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	c.hasUnread = !errors.Is(err, syscall.EAGAIN)
}

// exchange sends a request and decodes the answer into the message answer. It ends at the deadline, or earlier if ctx ends. It
// reports whether the connection can be used again.
func (c *connection) exchange(ctx context.Context, deadline time.Time, head []byte, question, answer any) (isReusable bool, failed *failure) {
	if err := c.conn.SetDeadline(deadline); err != nil {
		return false, &failure{cause: cause(err)}
	}
	uninterrupt := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(longAgo) }) // an error means that the connection is closed
	isRead, failed := c.sendAndReceive(head, question, answer)
	// If ctx has ended, its deadline may still be set later, and would end the next request.
	return uninterrupt() && isRead && c.reader.Buffered() == 0 && !c.header.ConnectionClose(), failed
}

// sendAndReceive is exchange without the deadlines. isRead tells whether the whole answer was read.
func (c *connection) sendAndReceive(head []byte, question, answer any) (isRead bool, failed *failure) {
	defer c.out.wipe()
	if !writeRequest(&c.out, c.encoder, head, question) {
		return false, &failure{cause: "the request is too long"}
	}
	n, err := c.conn.Write(c.out.content)
	c.out.wipe()
	if err != nil {
		return false, &failure{mayHaveArrived: n > 0, cause: cause(err)}
	}
	if err := c.header.Read(c.reader); err != nil {
		return false, &failure{mayHaveArrived: true, cause: cause(err)}
	}
	length := c.header.ContentLength()
	switch status := c.header.StatusCode(); {
	case status != fasthttp.StatusOK:
		return false, &failure{mayHaveArrived: true, status: status, cause: "it answered with another status than 200"}
	case length < 0 || length > maxAnswer: // negative values mean that the header has no length
		return false, &failure{mayHaveArrived: true, cause: "the length of its answer is missing or too large"}
	}
	if err := c.readBody(length, answer); err != nil {
		return false, &failure{mayHaveArrived: true, cause: cause(err)}
	}
	return true, nil
}

// readBody reads and decodes the body of an answer, and overwrites it.
func (c *connection) readBody(length int, answer any) error {
	if length <= c.reader.Size() {
		body, err := c.reader.Peek(length)
		if err == nil {
			err = decode(c.decoder, body, answer)
		}
		clear(body)
		_, _ = c.reader.Discard(len(body)) // these bytes are in the buffer
		return err
	}
	body := make([]byte, length)
	defer clear(body)
	received, _ := c.reader.Peek(c.reader.Buffered())
	n := copy(body, received)
	clear(received)
	_, _ = c.reader.Discard(n) // these bytes are in the buffer
	if _, err := io.ReadFull(c.conn, body[n:]); err != nil {
		return err
	}
	return decode(c.decoder, body, answer)
}

// cause describes an error without quoting what was sent or received.
func cause(err error) string {
	var opError *net.OpError
	switch {
	case errors.Is(err, context.Canceled):
		return "the process is ending"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, fasthttp.ErrTimeout):
		return "it took too long"
	case errors.Is(err, errMessage):
		return "its answer is not one that is expected"
	case errors.As(err, &opError):
		return "the connection failed: " + opError.Op
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	}
	return "its answer is not valid"
}
