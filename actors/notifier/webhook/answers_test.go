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
	sender := openSender(t)
	for status, failure := range map[int]string{
		200: "", 201: "", 202: "", 204: "", 205: "", 206: "", 226: "", 299: "",
		300: "redirect", 301: "redirect", 302: "redirect", 303: "redirect", 304: "redirect", 307: "redirect", 308: "redirect", 399: "redirect",
		400: "status 400", 401: "status 401", 404: "status 404", 410: "status 410", 429: "status 429",
		500: "status 500", 503: "status 503", 599: "status 599", 600: "status 600", 999: "status 999",
	} {
		sender.Deliver(testDelivery(server.URL+"/"+strconv.Itoa(status))).want(t, status, failure)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	redirectTarget := startReceiver(t, acknowledge)
	sender := openSender(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		r := startReceiver(t, answerOnce(fmt.Sprintf("HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", status, redirectTarget.url())))
		sender.Deliver(testDelivery(r.url())).want(t, status, "redirect")
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
		r := startReceiver(t, answerWith(text))
		sender := openSender(t)
		sender.Deliver(testDelivery(r.url())).want(t, want.Status, want.Failure)
	}
}

func TestNonHTTPResponseFails(t *testing.T) {
	t.Parallel()
	sender := openSender(t)
	for _, text := range []string{
		"220 mail.example ESMTP\r\n", "SSH-2.0-x 200\r\n\r\n", "FOO/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.1 0 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 020 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 +20 OK\r\n\r\n", "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nbad header\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n\r\n", "HTTP/1.1 200 OK\r\nX: \x00\r\n\r\n", "\x15\x03\x01\x00\x02\x02\x16", "<html>", "HTTP",
		"HTTP/1.12 200 OK\r\n\r\n",
	} {
		r := startReceiver(t, answerOnce(text))
		a := sender.Deliver(testDelivery(r.url()))
		if text == "HTTP" {
			a.want(t, 0, "connection closed in the middle of the answer")
		} else if a.want(t, 0, "answer is not HTTP"); t.Failed() {
			t.Fatalf("%q", text)
		}
		r.wantConnections(1) // the request is not sent again
	}
}

func TestHTTP10ResponsesCount(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, answerOnce("HTTP/1.0 200\r\n\r\nok"))
	openSender(t).Deliver(testDelivery(r.url())).want(t, 200, "")
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	header := func(size int) string {
		const around = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \r\n\r\n"
		return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: " + strings.Repeat("x", size-len(around)) + "\r\n\r\n"
	}
	sender := openSender(t)
	sender.Deliver(testDelivery(startReceiver(t, answerWith(header(maxHeader))).url())).want(t, 200, "")
	sender.Deliver(testDelivery(startReceiver(t, answerWith(header(maxHeader+1))).url())).want(t, 0, "answer's header is too long")
	endless := startReceiver(t, func(v *visit) {
		if v.readRequest() && v.send("HTTP/1.1 200 OK\r\n") {
			for v.send("X: " + strings.Repeat("x", 1000) + "\r\n") {
			}
		}
	})
	sender.Deliver(testDelivery(endless.url())).want(t, 0, "answer's header is too long")
	interim := "HTTP/1.1 103 H\r\nX: " + strings.Repeat("x", maxHeader-30) + "\r\n\r\n"
	sender.Deliver(testDelivery(startReceiver(t, answerWith(strings.Repeat(interim, maxInterim-1)+acknowledged)).url())).want(t, 0, "answer's header is too long")
}

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// A response's body does not change the result of a delivery. If the body exceeds its bound, the connection is
// closed.
func TestBodyDoesNotMatter(t *testing.T) {
	t.Parallel()
	const created, createdChunked = "HTTP/1.1 201 Created\r\n", "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
	withLength := func(n int) string { return created + fmt.Sprintf("Content-Length: %d\r\n\r\n", n) }
	fullBody := strings.Repeat("b", maxBody)
	tenMiB := strings.Repeat("b", 10<<20)
	for name, c := range map[string]struct {
		response    string
		reusable    bool // the connection can be reused
		alsoFailing bool // the same body is also tried with status 500
	}{
		"an empty body":               {withLength(0), true, true},
		"an error text":               {withLength(6) + "failed", true, true},
		"a body as long as the bound": {withLength(maxBody) + fullBody, true, true},
		"a body one byte longer":      {withLength(maxBody+1) + fullBody + "b", false, true},
		"10 MiB":                      {withLength(10<<20) + tenMiB, false, true},
		"an impossible length":        {withLength(1<<62) + "x", false, true},
		"10 MiB in chunks":            {createdChunked + strings.Repeat(chunk(strings.Repeat("b", 10<<10)), 1<<10) + "0\r\n\r\n", false, true},
		"chunks":                      {createdChunked + chunk("a") + chunk("bc") + "0\r\n\r\n", true, true},
		"chunks with a trailer":       {createdChunked + chunk("a") + "0\r\nX-Sum: 1\r\n\r\n", true, true},
		"only the last chunk":         {createdChunked + "0\r\n\r\n", true, true},
		"a broken chunk":              {createdChunked + "zz\r\n", false, true},
		"a chunk of another length":   {createdChunked + "1\r\nabc\r\n0\r\n\r\n", false, true},
		"an endless extension":        {createdChunked + "1;" + strings.Repeat("x", 1<<20), false, true},
		"more than its length":        {withLength(1) + "ab", false, true},
		"a body where there is none":  {"HTTP/1.1 204 No Content\r\n\r\n<html>", false, false},
		"no body, and a length":       {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", true, false},
		"Connection: close":           {created + "Connection: close\r\nContent-Length: 1\r\n\r\na", false, true},
		"HTTP/1.0":                    {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", false, false},
		"HTTP/1.0, kept alive":        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			responses := []string{c.response}
			if c.alsoFailing {
				responses = append(responses, strings.Replace(c.response, "201 Created", "500 No", 1))
			}
			for _, text := range responses {
				receiver := startReceiver(t, answerWith(text))
				sender := openSender(t)
				connectionNumbers := []int{1, 1}
				if !c.reusable {
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
		r := startReceiver(t, func(v *visit) {
			if v.readRequest() && v.send("HTTP/1.1 200 OK\r\n"+header+"\r\n") {
				for v.send("400\r\n" + strings.Repeat("x", 1024) + "\r\n") { // the bytes are a chunk of the body if the header announces chunks
				}
			}
		})
		sender := openSender(t)
		counted := &countingConn{}
		to, _ := parseURL(r.url())
		conn, failure := sender.open(to.destination, startTime.Add(1<<62))
		if conn == nil {
			t.Fatal(failure)
		}
		counted.Conn, conn.conn = conn.conn, counted
		result := sender.exchangeOver(conn, []byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"), startTime.Add(1<<62))
		if result.status != 200 || result.isReusable || counted.bytesRead > maxBody+len("HTTP/1.1 200 OK\r\n"+header+"\r\n") {
			t.Errorf("%q: %+v, %d bytes were read", header, result, counted.bytesRead)
		}
	}
}

func TestHangingBodyTimesOut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Content-Length: 5\r\n\r\n", "Content-Length: 5\r\n\r\nab", "Transfer-Encoding: chunked\r\n\r\n5\r\nab", "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", "\r\nab",
	} {
		for status, failure := range map[int]string{200: "", 502: "status 502"} {
			r := startReceiver(t, answerWith(fmt.Sprintf("HTTP/1.1 %d X\r\n", status)+text))
			sender := openSender(t, func(s *settings) { s.bounds.body = shortBound })
			sender.Deliver(testDelivery(r.url())).want(t, status, failure)
			sender.Deliver(testDelivery(r.url())).want(t, status, failure)
			r.wantConnections(1, 2)
		}
	}
}

func TestBrokenBodyStillAcknowledges(t *testing.T) {
	t.Parallel()
	sender := openSender(t)
	for _, text := range []string{"Content-Length: 5\r\n\r\nab", "Transfer-Encoding: chunked\r\n\r\n5\r\nab", "\r\nab"} {
		r := startReceiver(t, answerOnce("HTTP/1.1 200 OK\r\n"+text))
		sender.Deliver(testDelivery(r.url())).want(t, 200, "")
	}
}

// countingConn counts the bytes read from a connection.
type countingConn struct {
	net.Conn
	bytesRead int
}

// Read implements net.Conn.
func (c *countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytesRead += n
	return n, err
}

func TestHeaderMayArriveInPieces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]exchangeResult{
		acknowledged: {status: 200},
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\nX: y\r\n\r\n": {status: 500, failure: "status 500"},
		"HTTP/1.1 200 OK\nX: y\n\n":                                    {failure: "answer is not HTTP"}, // lines must end with CR LF
		"HTTP/1.1 204 N\r\n\r\n":                                       {status: 204},
	} {
		ourEnd, receiverEnd := net.Pipe() // each Write arrives in a Read of its own
		go func() {
			for i := range len(text) {
				_, _ = receiverEnd.Write([]byte{text[i]})
			}
			_ = receiverEnd.Close()
		}()
		conn := &connection{conn: ourEnd, bytesLeft: maxAllHeaders}
		var header fasthttp.ResponseHeader
		if v := conn.readHeader(bufio.NewReaderSize(conn, maxHeader), &header); v != want {
			t.Errorf("%q: %+v, want %+v", text, v, want)
		}
		_ = ourEnd.Close()
	}
}
