package generator

import (
	"bytes"
	"errors"
)

// MaxResponse bounds a response in bytes, including its head.
const MaxResponse = 1 << 20

var errMalformed = errors.New("malformed answer")

// Response is one HTTP response. Body is a part of the connection's buffer, so it is valid only until the next exchange.
type Response struct {
	Status     int
	Body       []byte
	ClosesConn bool // the server closes the connection after the response
}

// parseResponse parses the response at the beginning of b and returns its size in bytes. Size 0 means that the response is not
// complete yet. It supports only the form that the server sends, HTTP/1.1 with a Content-Length. For any other response it
// returns an error.
func parseResponse(b []byte) (a Response, size int, err error) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		if len(b) >= MaxResponse {
			err = errMalformed
		}
		return a, 0, err
	}
	head := b[:end+2]
	if len(head) < len("HTTP/1.1 200\r\n") || string(head[:9]) != "HTTP/1.1 " {
		return a, 0, errMalformed
	}
	var ok bool
	if a.Status, ok = parseNumber(head[9:12]); !ok {
		return a, 0, errMalformed
	}
	length, ok := a.readHead(head)
	if !ok || length > MaxResponse {
		return a, 0, errMalformed
	}
	if size = end + 4 + length; size > len(b) {
		return a, 0, nil
	}
	a.Body = b[end+4 : size]
	return a, size, nil
}

// readHead returns the value of Content-Length and sets ClosesConn. To save time, it looks at the first letter of each header
// line, and examines only lines that can be one of the headers it needs.
func (r *Response) readHead(head []byte) (length int, ok bool) {
	for remaining := head; len(remaining) > 0; {
		end := bytes.IndexByte(remaining, '\n')
		line := remaining[:end]
		remaining = remaining[end+1:]
		switch line[0] {
		case 'C', 'c':
			if value, found := headerValue(line, "content-length:"); found {
				if length, ok = parseNumber(value); !ok {
					return 0, false
				}
			} else if value, found = headerValue(line, "connection:"); found {
				r.ClosesConn = bytes.EqualFold(value, []byte("close"))
			}
		case 'T', 't':
			if _, found := headerValue(line, "transfer-encoding:"); found {
				return 0, false
			}
		}
	}
	return length, ok
}

// headerValue returns the value of a header line. If the line is not the header name, it returns false. name ends with a colon.
func headerValue(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name):]), true
}

// parseNumber parses a decimal number of at most nine digits.
func parseNumber(b []byte) (n int, ok bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// MemberValue returns the value of the first JSON member with the given name in a body, at any depth. If no member has that
// name, or the value is not a string, it returns nil. The argument name includes the quotes and the colon. Values with escapes
// are not supported.
func MemberValue(body []byte, name string) []byte {
	i := bytes.Index(body, []byte(name))
	if i < 0 {
		return nil
	}
	value := body[i+len(name):]
	if len(value) == 0 || value[0] != '"' {
		return nil
	}
	end := bytes.IndexByte(value[1:], '"')
	if end < 0 {
		return nil
	}
	return value[1 : 1+end]
}
