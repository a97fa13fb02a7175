package generator

import (
	"strings"
	"testing"
)

func TestOnlyCompleteResponsesAreParsed(t *testing.T) {
	const charged = "HTTP/1.1 201 Created\r\nServer: x\r\nContent-Type: application/json\r\ncontent-LENGTH:  20 \r\nX-Request-Id: 7\r\n\r\n" + `{"status":"charged"}`
	for _, c := range []struct {
		name, text       string
		status, bodySize int // bodySize is the length of the body in bytes; -1: the response is refused
		closesConn       bool
	}{
		{"usual", charged, 201, 20, false},
		{"empty body", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n", 503, 0, true},
		{"keep-alive", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", 200, 1, false},
		{"no length", "HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", 0, -1, false},
		{"chunked", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1", 0, -1, false},
		{"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", 0, -1, false},
		{"huge length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", 0, -1, false},
		{"other protocol", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 0, -1, false},
		{"no status", "HTTP/1.1 OK\r\n\r\nmore and more", 0, -1, false},
	} {
		a, size, err := parseResponse([]byte(c.text))
		if c.bodySize < 0 {
			if err == nil {
				t.Errorf("%s: accepted as %d, %d bytes", c.name, a.Status, size)
			}
			continue
		}
		if err != nil || size != len(c.text) || a.Status != c.status || len(a.Body) != c.bodySize || a.ClosesConn != c.closesConn {
			t.Errorf("%s: %d, body %q, closes %v, %d of %d bytes, %v", c.name, a.Status, a.Body, a.ClosesConn, size, len(c.text), err)
		}
		for n := range c.text {
			if _, size, err := parseResponse([]byte(c.text[:n])); size != 0 || err != nil {
				t.Errorf("%s: the first %d bytes gave size %d, %v", c.name, n, size, err)
			}
		}
	}
}

func TestUnterminatedResponseIsRefused(t *testing.T) {
	if _, _, err := parseResponse([]byte("HTTP/1.1 200 OK\r\n" + strings.Repeat("a", MaxResponse))); err == nil {
		t.Error("a head without end was accepted")
	}
}

func TestMemberValueFindsStringsOnly(t *testing.T) {
	const body = `{"txid":"id","id":"7","status":"charged","n":1,"open":"x`
	for name, want := range map[string]string{`"id":`: "7", `"status":`: "charged", `"n":`: "", `"none":`: "", `"open":`: ""} {
		if got := string(MemberValue([]byte(body), name)); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}
