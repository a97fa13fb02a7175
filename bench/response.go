package bench

import (
	"bytes"
	"errors"
)

// maxResponse bounds a response in bytes, including its head.
const maxResponse = 1 << 20

var errResponse = errors.New("malformed answer")

// response is one HTTP response; body aliases the connection's buffer.
type response struct {
	status int
	body   []byte
	closes bool // the server closes the connection after the response
}

// parseResponse parses the response at the beginning of b and returns its size in bytes. Size 0 means
// that the response is not complete yet. It supports only what the server sends, HTTP/1.1 with a
// Content-Length, and returns an error for anything else.
func parseResponse(b []byte) (a response, size int, err error) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		if len(b) >= maxResponse {
			err = errResponse
		}
		return a, 0, err
	}
	head := b[:end+2]
	if len(head) < len("HTTP/1.1 200\r\n") || string(head[:9]) != "HTTP/1.1 " {
		return a, 0, errResponse
	}
	var ok bool
	if a.status, ok = parseNumber(head[9:12]); !ok {
		return a, 0, errResponse
	}
	length, ok := a.readHead(head)
	if !ok || length > maxResponse {
		return a, 0, errResponse
	}
	if size = end + 4 + length; size > len(b) {
		return a, 0, nil
	}
	a.body = b[end+4 : size]
	return a, size, nil
}

// readHead finds the length of the body and whether the connection ends. To save time it examines only
// lines that begin with the first letter of a header that it needs.
func (a *response) readHead(head []byte) (length int, ok bool) {
	for rest := head; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		line := rest[:end]
		rest = rest[end+1:]
		switch line[0] {
		case 'C', 'c':
			if value, found := headerValue(line, "content-length:"); found {
				if length, ok = parseNumber(value); !ok {
					return 0, false
				}
			} else if value, found = headerValue(line, "connection:"); found {
				a.closes = bytes.EqualFold(value, []byte("close"))
			}
		case 'T', 't':
			if _, found := headerValue(line, "transfer-encoding:"); found {
				return 0, false
			}
		}
	}
	return length, ok
}

// headerValue returns the value of a header line with the name, which is in lower case and includes
// the colon.
func headerValue(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name):]), true
}

// parseNumber parses a small decimal number.
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

// memberValue returns the value of the first member with the name, at any depth of a body; nil if there is
// no such member. The name includes its quotes and colon. The member's values must not contain escapes.
func memberValue(body []byte, name string) []byte {
	i := bytes.Index(body, []byte(name))
	if i < 0 {
		return nil
	}
	rest := body[i+len(name):]
	if len(rest) == 0 || rest[0] != '"' {
		return nil
	}
	end := bytes.IndexByte(rest[1:], '"')
	if end < 0 {
		return nil
	}
	return rest[1 : 1+end]
}
