package wiping

import (
	"crypto/tls"
	"errors"
	"strings"
	"time"
)

// Maximum time and number of bytes that are read after the response to a request without TLS. If the connection were closed
// with unread bytes, the kernel would reset it, and the client might not see the response.
const (
	plainTime  = 2 * time.Second
	plainBytes = 1 << 20
)

// respondToPlainHTTP handles an error of a TLS handshake. If the cause of err is that the client has sent an HTTP request
// without TLS, respondToPlainHTTP sends the response, overwrites the received bytes, and returns true. Otherwise it returns
// false.
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

// beginsRequest tells whether an HTTP request begins with header, the first five bytes of a connection.
func beginsRequest(header []byte) bool {
	for _, method := range []string{"GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"} {
		if strings.HasPrefix(method, string(header)) {
			return true
		}
	}
	return false
}
