package webhook

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// A status in the range 200 to 299 acknowledges, and no other status does.
func TestAny2xxAcknowledges(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Location", "/200")
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	c := open(t)
	for status, failure := range map[int]string{
		200: "", 201: "", 202: "", 204: "", 205: "", 206: "", 226: "", 299: "",
		300: "redirect", 301: "redirect", 302: "redirect", 303: "redirect", 304: "redirect", 307: "redirect", 308: "redirect", 399: "redirect",
		400: "status 400", 401: "status 401", 404: "status 404", 410: "status 410", 429: "status 429",
		500: "status 500", 503: "status 503", 599: "status 599", 600: "status 600", 999: "status 999",
	} {
		c.Deliver(testDelivery(server.URL+"/"+strconv.Itoa(status))).want(t, status, failure)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	redirectTarget := receive(t, acknowledge)
	c := open(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		r := receive(t, once(fmt.Sprintf("HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", status, redirectTarget.url())))
		c.Deliver(testDelivery(r.url())).want(t, status, "redirect")
		r.wantConnections(1)
	}
	redirectTarget.wantConnections()
}

func TestInterimResponsesAreSkipped(t *testing.T) {
	t.Parallel()
	const hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
	for text, want := range map[string]Attempt{
		"HTTP/1.1 100 Continue\r\n\r\n" + acknowledged:                                                 {Status: 200},
		"HTTP/1.1 102 Processing\r\n\r\n" + hints + "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n":     {Status: 500, Failure: "status 500"},
		strings.Repeat(hints, maxInterim-1) + acknowledged:                                             {Status: 200},
		strings.Repeat(hints, maxInterim) + acknowledged:                                               {Failure: "answer is not HTTP"},
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + acknowledged: {Status: 101, Failure: "status 101"},
	} {
		r := receive(t, answer(text))
		c := open(t)
		c.Deliver(testDelivery(r.url())).want(t, want.Status, want.Failure)
	}
}

func TestNonHTTPResponseFails(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, text := range []string{
		"220 mail.example ESMTP\r\n", "SSH-2.0-x 200\r\n\r\n", "FOO/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.1 0 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 020 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 +20 OK\r\n\r\n", "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nbad header\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n\r\n", "HTTP/1.1 200 OK\r\nX: \x00\r\n\r\n", "\x15\x03\x01\x00\x02\x02\x16", "<html>", "HTTP",
		"HTTP/1.12 200 OK\r\n\r\n",
	} {
		r := receive(t, once(text))
		a := c.Deliver(testDelivery(r.url()))
		if text == "HTTP" {
			a.want(t, 0, "connection closed in the middle of the answer")
		} else if a.want(t, 0, "answer is not HTTP"); t.Failed() {
			t.Fatalf("%q", text)
		}
		r.wantConnections(1) // it is not tried again
	}
}

func TestHTTP10ResponsesCount(t *testing.T) {
	t.Parallel()
	r := receive(t, once("HTTP/1.0 200\r\n\r\nok"))
	open(t).Deliver(testDelivery(r.url())).want(t, 200, "")
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	header := func(size int) string {
		const around = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \r\n\r\n"
		return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: " + strings.Repeat("x", size-len(around)) + "\r\n\r\n"
	}
	sender := open(t)
	sender.Deliver(testDelivery(receive(t, answer(header(maxHeader))).url())).want(t, 200, "")
	sender.Deliver(testDelivery(receive(t, answer(header(maxHeader+1))).url())).want(t, 0, "answer's header is too long")
	endless := receive(t, func(v *visit) {
		if v.request() && v.send("HTTP/1.1 200 OK\r\n") {
			for v.send("X: " + strings.Repeat("x", 1000) + "\r\n") {
			}
		}
	})
	sender.Deliver(testDelivery(endless.url())).want(t, 0, "answer's header is too long")
	interim := "HTTP/1.1 103 H\r\nX: " + strings.Repeat("x", maxHeader-30) + "\r\n\r\n"
	sender.Deliver(testDelivery(receive(t, answer(strings.Repeat(interim, maxInterim-1)+acknowledged)).url())).want(t, 0, "answer's header is too long")
}

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// A response's body changes nothing about the result. If it does not end within its bound, the connection is
// closed.
func TestBodyDoesNotMatter(t *testing.T) {
	t.Parallel()
	const head, chunked = "HTTP/1.1 201 Created\r\n", "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
	length := func(n int) string { return head + fmt.Sprintf("Content-Length: %d\r\n\r\n", n) }
	fullBody := strings.Repeat("b", maxBody)
	ten := strings.Repeat("b", 10<<20)
	for name, c := range map[string]struct {
		says  string
		kept  bool // the connection can be reused
		fails bool // the same body is also tried with status 500
	}{
		"none":                       {length(0), true, true},
		"an error text":              {length(6) + "failed", true, true},
		"as much as is read":         {length(maxBody) + fullBody, true, true},
		"more than is read":          {length(maxBody+1) + fullBody + "b", false, true},
		"10 MiB":                     {length(10<<20) + ten, false, true},
		"an impossible length":       {length(1<<62) + "x", false, true},
		"10 MiB in chunks":           {chunked + strings.Repeat(chunk(strings.Repeat("b", 10<<10)), 1<<10) + "0\r\n\r\n", false, true},
		"chunks":                     {chunked + chunk("a") + chunk("bc") + "0\r\n\r\n", true, true},
		"chunks with a trailer":      {chunked + chunk("a") + "0\r\nX-Sum: 1\r\n\r\n", true, true},
		"only the last chunk":        {chunked + "0\r\n\r\n", true, true},
		"a broken chunk":             {chunked + "zz\r\n", false, true},
		"a chunk of another length":  {chunked + "1\r\nabc\r\n0\r\n\r\n", false, true},
		"an endless extension":       {chunked + "1;" + strings.Repeat("x", 1<<20), false, true},
		"more than its length":       {length(1) + "ab", false, true},
		"a body where there is none": {"HTTP/1.1 204 No Content\r\n\r\n<html>", false, false},
		"no body, and a length":      {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", true, false},
		"Connection: close":          {head + "Connection: close\r\nContent-Length: 1\r\n\r\na", false, true},
		"HTTP/1.0":                   {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", false, false},
		"HTTP/1.0, kept alive":       {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says := []string{c.says}
			if c.fails {
				says = append(says, strings.Replace(c.says, "201 Created", "500 No", 1))
			}
			for _, text := range says {
				receiver := receive(t, answer(text))
				sender := open(t)
				connectionNumbers := []int{1, 1}
				if !c.kept {
					connectionNumbers = []int{1, 2}
				}
				for range connectionNumbers {
					a := sender.Deliver(testDelivery(receiver.url()))
					if failed := strings.Contains(text, "500 No"); failed != (a.Failure == "status 500") || !failed && a.Failure != "" {
						t.Errorf("%+v", a)
					}
				}
				receiver.wantConnections(connectionNumbers...)
			}
		})
	}
}

func TestBodyIsReadUpToItsBound(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"", "Content-Length: 10485760\r\n", "Transfer-Encoding: chunked\r\n"} {
		r := receive(t, func(v *visit) {
			if v.request() && v.send("HTTP/1.1 200 OK\r\n"+header+"\r\n") {
				for v.send("400\r\n" + strings.Repeat("x", 1024) + "\r\n") { // chunks, if the case has any
				}
			}
		})
		c := open(t)
		counted := &counting{}
		to, _ := parse(r.url())
		l, failure := c.open(to.destination, startTime.Add(1<<62))
		if l == nil {
			t.Fatal(failure)
		}
		counted.Conn, l.conn = l.conn, counted
		a := c.exchangeOver(l, []byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"), startTime.Add(1<<62))
		if a.status != 200 || a.reusable || counted.read > maxBody+len("HTTP/1.1 200 OK\r\n"+header+"\r\n") {
			t.Errorf("%q: %+v, %d bytes were read", header, a, counted.read)
		}
	}
}

func TestHangingBodyTimesOut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Content-Length: 5\r\n\r\n", "Content-Length: 5\r\n\r\nab", "Transfer-Encoding: chunked\r\n\r\n5\r\nab", "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", "\r\nab",
	} {
		for status, failure := range map[int]string{200: "", 502: "status 502"} {
			r := receive(t, answer(fmt.Sprintf("HTTP/1.1 %d X\r\n", status)+text))
			c := open(t, func(s *settings) { s.bounds.body = short })
			c.Deliver(testDelivery(r.url())).want(t, status, failure)
			c.Deliver(testDelivery(r.url())).want(t, status, failure)
			r.wantConnections(1, 2)
		}
	}
}

func TestBrokenBodyStillAcknowledges(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, text := range []string{"Content-Length: 5\r\n\r\nab", "Transfer-Encoding: chunked\r\n\r\n5\r\nab", "\r\nab"} {
		r := receive(t, once("HTTP/1.1 200 OK\r\n"+text))
		c.Deliver(testDelivery(r.url())).want(t, 200, "")
	}
}

// counting counts the bytes read from a connection.
type counting struct {
	net.Conn
	read int
}

// Read implements net.Conn.
func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read += n
	return n, err
}

func TestHeaderMayArriveInPieces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]verdict{
		acknowledged: {status: 200},
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\nX: y\r\n\r\n": {status: 500, failure: "status 500"},
		"HTTP/1.1 200 OK\nX: y\n\n":                                    {failure: "answer is not HTTP"}, // lines must end with two bytes
		"HTTP/1.1 204 N\r\n\r\n":                                       {status: 204},
	} {
		ourEnd, other := net.Pipe() // each write is read by one read
		go func() {
			for i := range len(text) {
				_, _ = other.Write([]byte{text[i]})
			}
			_ = other.Close()
		}()
		l := &connection{conn: ourEnd, bytesLeft: maxHeaders}
		var header fasthttp.ResponseHeader
		if v := l.readHeader(bufio.NewReaderSize(l, maxHeader), &header); v != want {
			t.Errorf("%q: %+v, want %+v", text, v, want)
		}
		_ = ourEnd.Close()
	}
}
