package wiping

import (
	"crypto/tls"
	"errors"
	"strings"
	"time"
)

// Bounds of the response to a request without TLS. The rest of the request is read for a while, because closing a
// connection with unread bytes resets it, and the client would not see the response.
const (
	plainTime  = 2 * time.Second
	plainBytes = 1 << 20
)

// respondToPlainHTTP responds to a client that has sent an HTTP request instead of a handshake, if err says so, and
// overwrites what it has sent. It returns false for any other error.
func (c *Conn) respondToPlainHTTP(err error) bool {
	var noTLS tls.RecordHeaderError
	if c.plainHTTP == nil || !errors.As(err, &noTLS) || noTLS.Conn == nil || !beginsRequest(noTLS.RecordHeader[:]) {
		return false
	}
	response := c.plainHTTP()
	c.plainHTTP = nil
	c.records.clearUnreturned()
	socket := c.records.Conn
	if socket.SetDeadline(time.Now().Add(plainTime)) != nil {
		return true
	}
	if _, err := socket.Write(response); err != nil {
		return true
	}
	if half, ok := socket.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return true
	}
	buffer := borrowBuffer()
	defer bufferPool.Put(buffer)
	for left := plainBytes; left > 0; {
		n, err := socket.Read(*buffer)
		clear((*buffer)[:n])
		if left -= n; err != nil {
			break
		}
	}
	return true
}

// beginsRequest tells whether the first five bytes of a connection are those of an HTTP request.
func beginsRequest(header []byte) bool {
	for _, method := range []string{"GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"} {
		if strings.HasPrefix(method, string(header)) {
			return true
		}
	}
	return false
}
