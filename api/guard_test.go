package api_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"mizan/api"
	"mizan/internal/wiping"
)

// raw writes the bytes of request to a new connection. It reads responses until the server closes the connection, or until it has
// read as many as limit says. closed tells whether the server has closed the connection.
func (f *fixture) raw(request string, limit int) (responses []*response, closed bool) {
	f.t.Helper()
	connection, err := net.Dial("tcp", f.address)
	must(f.t, err)
	defer func() { _ = connection.Close() }()
	must(f.t, connection.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(connection, request)
	must(f.t, err)
	reader := bufio.NewReader(connection)
	for len(responses) < limit {
		received, err := http.ReadResponse(reader, nil)
		if err != nil {
			return responses, !errors.Is(err, os.ErrDeadlineExceeded)
		}
		body, err := io.ReadAll(received.Body)
		must(f.t, err)
		r := &response{t: f.t, status: received.StatusCode, header: received.Header, body: string(body), closes: received.Close}
		if r.status != http.StatusContinue {
			r.wantPolicy(request[:min(len(request), 60)], false)
		}
		responses = append(responses, r)
	}
	_, err = reader.ReadByte()
	return responses, err == io.EOF
}

func TestAmbiguousRequestsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const hiddenRequest = "GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, request := range map[string]string{
		"two hosts":                     "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + hiddenRequest,
		"two equal hosts":               "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r\n" + hiddenRequest,
		"no host":                       "GET /api/v1/health HTTP/1.1\r\nAccept: a\r\n\r\n" + hiddenRequest,
		"two lengths":                   "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + hiddenRequest,
		"two equal lengths":             "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + hiddenRequest,
		"length and transfer encoding":  "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hiddenRequest,
		"transfer encoding and length":  "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hiddenRequest,
		"length and identity":           "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: identity\r\n\r\n" + hiddenRequest,
		"two transfer encodings":        "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hiddenRequest,
		"identity":                      "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n" + hiddenRequest,
		"identity, another case":        "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\ntransfer-encoding: Identity\r\n\r\n" + hiddenRequest,
		"identity of a GET":             "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n" + hiddenRequest,
		"empty transfer encoding":       "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n" + hiddenRequest,
		"list of transfer encodings":    "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" + hiddenRequest,
		"chunked twice":                 "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n" + hiddenRequest,
		"HTTP/1.0 with chunked":         "POST /api/v1/transactions HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hiddenRequest,
		"unknown transfer encoding":     "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hiddenRequest,
		"negative length":               "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n" + hiddenRequest,
		"length with a sign":            "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello" + hiddenRequest,
		"space before the colon":        "POST /api/v1/transactions HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello" + hiddenRequest,
		"folded header":                 "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nX-A: b\r\n Content-Length: 5\r\n\r\n" + hiddenRequest,
		"bare LF in headers":            "GET /api/v1/health HTTP/1.1\r\nHost: a\nX-A: b\r\n\r\n" + hiddenRequest,
		"bare LF after the last header": "GET /api/v1/health HTTP/1.1\r\nHost: a\n\n" + hiddenRequest,
		"NUL in a value":                "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nX-A: b\x00c\r\n\r\n" + hiddenRequest,
		"NUL in a name":                 "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nX-\x00A: b\r\n\r\n" + hiddenRequest,
		"CR in a value":                 "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nX-A: b\rc\r\n\r\n" + hiddenRequest,
		"header without a colon":        "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n" + hiddenRequest,
		"NUL in the target":             "GET /api/v1/\x00health HTTP/1.1\r\nHost: a\r\n\r\n" + hiddenRequest,
		"unknown protocol":              "GET /api/v1/health HTTX/1.1\r\nHost: a\r\n\r\n" + hiddenRequest,
		"HTTP/2.0":                      "GET /api/v1/health HTTP/2.0\r\nHost: a\r\n\r\n" + hiddenRequest,
		"HTTP/0.9":                      "GET /api/v1/health HTTP/0.9\r\nHost: a\r\n\r\n" + hiddenRequest,
		"not HTTP":                      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n" + hiddenRequest,
	} {
		responses, closed := f.raw(request, 2)
		if len(responses) != 1 || responses[0].status != 400 || !closed {
			t.Errorf("%s: %d responses, closed %v", name, len(responses), closed)
			for _, a := range responses {
				t.Logf("%s: %d %s", name, a.status, a.body)
			}
			continue
		}
		if a := responses[0]; a.at("error") != "bad_request" || a.header.Get("x-request-id") == "" || !a.closes {
			t.Errorf("%s: %s %v", name, a.body, a.header)
		}
	}
}

// Chunks are parsed only after the caller is authenticated, so these requests have an API key.
func TestBrokenChunksAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const hiddenRequest = "GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n"
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Api-Key: %s\r\nX-Organization-Id: %s\r\nTransfer-Encoding: chunked\r\n\r\n",
		transactions, string(f.seed.First.APIKey), f.seed.First.Org)
	for name, body := range map[string]string{
		"a space before an extension": "2 ;a=b\r\n{}\r\n0\r\n\r\n",
		"a tab before an extension":   "2\t;a=b\r\n{}\r\n0\r\n\r\n",
		"LF in an extension":          "2;a\nb\r\n{}\r\n0\r\n\r\n",
		"LF after the size":           "2\n{}\r\n0\r\n\r\n",
		"no CR LF after the chunk":    "2\r\n{}0\r\n\r\n",
		"a size with a sign":          "+2\r\n{}\r\n0\r\n\r\n",
		"a size with 0x":              "0x2\r\n{}\r\n0\r\n\r\n",
		"a size beyond 64 bits":       "10000000000000002\r\n{}\r\n0\r\n\r\n",
		"a size that is no number":    "zz\r\n\r\n",
		"no size":                     "\r\n{}\r\n0\r\n\r\n",
		"a trailer that is a length":  "2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n",
		"a trailer without a colon":   "2\r\n{}\r\n0\r\nnonsense\r\n\r\n",
	} {
		responses, closed := f.raw(head+body+hiddenRequest, 2)
		if len(responses) != 1 || responses[0].status != 400 || !closed || responses[0].at("error") != "bad_request" {
			t.Errorf("%s: %d responses, closed %v", name, len(responses), closed)
			for _, a := range responses {
				t.Logf("%s: %d %s", name, a.status, a.body)
			}
		}
	}
}

// A trailer arrives after the caller was authenticated and may come from anyone, so it is not
// treated as a header.
func TestTrailersAreIgnored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key, org := string(f.seed.First.APIKey), f.seed.First.Org.String()
	body := paymentBody(`"amount":"5","currency":"USD"`)
	chunked := func(headers, trailers string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n%s\r\n",
			transactions, headers, len(body), body, trailers)
	}
	credentials := "X-Api-Key: " + key + "\r\nX-Organization-Id: " + org + "\r\n"
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"key and organization":        {chunked("", credentials), 401},
		"announced":                   {chunked("Trailer: X-Api-Key, X-Organization-Id\r\n", credentials), 401},
		"key":                         {chunked("X-Organization-Id: "+org+"\r\n", "X-Api-Key: "+key+"\r\n"), 401},
		"organization":                {chunked("X-Api-Key: "+key+"\r\n", "X-Organization-Id: "+org+"\r\n"), 401},
		"another key":                 {chunked(credentials, "X-Api-Key: none\r\n"), 201},
		"something that nobody reads": {chunked(credentials, "X-Checksum: 1\r\n"), 201},
	} {
		responses, _ := f.raw(c.request+"GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 2)
		if len(responses) != 2 || responses[0].status != c.status {
			t.Errorf("%s: %d responses", name, len(responses))
			for _, a := range responses {
				t.Logf("%s: %d %s", name, a.status, a.body)
			}
		}
		if len(responses) == 2 && responses[1].status != 200 {
			t.Errorf("%s: what follows gets %d %s", name, responses[1].status, responses[1].body)
		}
	}
	// An Idempotency-Key in a trailer has no effect, whether or not the headers have one too.
	for _, c := range []struct{ headers, replay string }{{"", ""}, {"Idempotency-Key: header\r\n", "true"}} {
		var last *response
		for range 2 {
			responses, _ := f.raw(chunked(credentials+"Connection: close\r\n"+c.headers, "Idempotency-Key: trailer\r\n"), 1)
			if len(responses) != 1 {
				t.Fatalf("%q: %d responses", c.headers, len(responses))
			}
			last = responses[0].want(201, "")
		}
		if replay := last.header.Get("x-idempotent-replay"); replay != c.replay {
			t.Errorf("%q: replay %q, want %q", c.headers, replay, c.replay)
		}
	}
}

func TestSeveralRequestsShareAConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := paymentBody(`"amount":"5","currency":"USD"`)
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json; charset=UTF-8\r\nX-Api-Key: %s\r\nX-Organization-Id: %s\r\n", transactions, string(f.seed.First.APIKey), f.seed.First.Org)
	responses, closed := f.raw(
		head+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)+
			head+fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", 10, body[:10], len(body)-10, body[10:])+
			"GET /api/v1/health HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"+
			"GET /api/v1/health HTTP/1.0\r\n\r\n", 4)
	if len(responses) != 4 || !closed {
		t.Fatalf("%d responses, closed %v", len(responses), closed)
	}
	for i, want := range []int{201, 201, 200, 200} {
		responses[i].want(want, "")
	}
}

var uuid4Pattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestEveryResponseHasAServiceMadeID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seen := map[string]bool{}
	clientID := "0f8fad5b-d9cb-469f-a165-70867728950e"
	for _, a := range []*response{
		f.anyone().with("x-request-id", clientID).get("/api/v1/health"),
		f.anyone().get("/nowhere"),
		f.anyone().get(transactions + "/x"),
		f.anyone().do("PUT", "/api/v1/health", ""),
		f.partner().post(transactions, `{`),
		f.partner().post(transactions, strings.Repeat("x", 1<<20+1)),
		f.anyone().with("x-a", strings.Repeat("x", 10_000)).get("/api/v1/health"),
	} {
		id := a.header.Get("x-request-id")
		if !uuid4Pattern.MatchString(id) || id == clientID || seen[id] {
			t.Errorf("%d %s: id %q", a.status, a.body, id)
		}
		seen[id] = true
		if a.header.Get("content-type") != "application/json" || a.header.Get("x-content-type-options") != "nosniff" || a.header.Get("server") != "" {
			t.Errorf("%d: headers %v", a.status, a.header)
		}
	}
}

func TestUnknownPathsAndMethodsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"/doc", "/api/v1", "/api/v1/nothing", "/api/v1/health/", "/API/v1/health", "/api/v1/Health", "//api/v1/health", "/api/v1/transactions/a/b", "/api/v2/health", "/api/v1/ledger/exports"} {
		f.anyone().get(path).want(404, `{"error":"not_found","message":"there is nothing at this path"}`)
	}
	for _, c := range []struct{ method, path, allow string }{
		{"POST", "/api/v1/health", "GET, HEAD"},
		{"PUT", transactions, "GET, HEAD, POST"},
		{"OPTIONS", transactions, "GET, HEAD, POST"},
		{"BREW", transactions, "GET, HEAD, POST"},
		{"TRACE", transactions, "GET, HEAD, POST"},
		{"PUT", "/api/v1/partners/1", "GET, HEAD, PATCH, DELETE"},
	} {
		r := f.anyone().do(c.method, c.path, "").want(405, `{"error":"method_not_allowed","message":"this path has other methods"}`)
		if !sameSet(r.header.Get("allow"), c.allow) {
			t.Errorf("%s %s: allow %q, want %q", c.method, c.path, r.header.Get("allow"), c.allow)
		}
	}
	f.anyone().do("BREW", "/nothing", "").want(404, "")
	if r := f.anyone().do("HEAD", "/api/v1/health", ""); r.status != 200 || r.body != "" {
		t.Errorf("HEAD: %d %q", r.status, r.body)
	}
}

// sameSet tells whether two comma-separated lists have the same elements.
func sameSet(a, b string) bool {
	x, y := strings.Split(a, ", "), strings.Split(b, ", ")
	for _, v := range x {
		if !strings.Contains(", "+b+", ", ", "+v+", ") {
			return false
		}
	}
	return len(x) == len(y)
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	paddedBody := func(n int) string {
		body := paymentBody(`"amount":"5"`)
		return body + strings.Repeat(" ", n-len(body))
	}
	f.partner().post(transactions, paddedBody(1<<20)).want(201, "")
	f.partner().post(transactions, paddedBody(1<<20+1)).want(413, `{"error":"payload_too_large","message":"the body is larger than 1048576 bytes"}`)
	f.anyone().with("x-pad", strings.Repeat("x", 9000)).get("/api/v1/health").want(431, `{"error":"headers_too_large","message":"the headers are larger than 8192 bytes"}`)
}

func TestOnlyJSONMediaTypeIsAccepted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := paymentBody(`"amount":"5"`)
	for contentType, status := range map[string]int{
		"application/json": 201, "Application/JSON; Charset=\"utf-8\"": 201, "application/json;charset=utf-8": 201,
		"": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "multipart/form-data; boundary=x": 415,
		"application/json; charset=utf-16": 415, "application/jsonp": 415, "application/json; boundary=x": 415, "application/xml": 415,
	} {
		if r := f.partner().with("content-type", contentType).post(transactions, body); r.status != status {
			t.Errorf("%q: %d %s", contentType, r.status, r.body)
		}
	}
	for _, encoding := range []string{"gzip", "br", "identity", "deflate, gzip"} {
		f.partner().with("content-encoding", encoding).post(transactions, body).want(415, `{"error":"unsupported_media_type","message":"content encodings are not supported"}`)
	}
	f.anyone().post(transactions, "<xml/>").want(401, "") // an unauthorized caller does not learn about media types
}

func TestShutdownFinishesRequestsUnderWay(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	f := newFixture(t, func(cfg *api.Config) {
		cfg.Payments = blockedCreates{cfg.Payments, arrived, release}
	})
	done := make(chan *response, 1)
	go func() { done <- f.partner().post(transactions, paymentBody(`"amount":"5"`)) }()
	<-arrived
	stopped := make(chan error, 1)
	go func() { stopped <- f.server.Shutdown(context.Background()) }()
	for { // until the server accepts no further connection
		c, err := net.Dial("tcp", f.address)
		if err != nil {
			break
		}
		_ = c.Close()
	}
	close(release)
	if a := <-done; a.status != 201 || !a.closes {
		t.Errorf("%d %v", a.status, a.header)
	}
	must(t, <-stopped)
}

func TestShutdownClosesIdleConnections(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	silentConnection, err := net.Dial("tcp", f.address)
	must(t, err)
	defer func() { _ = silentConnection.Close() }()
	f.anyone().get("/api/v1/health").want(200, "") // so the silent connection, which came earlier, is accepted too
	stopped := make(chan error, 1)
	go func() { stopped <- f.server.Shutdown(context.Background()) }()
	must(t, silentConnection.SetReadDeadline(time.Now().Add(patience)))
	if _, err := silentConnection.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the silent connection: %v", err)
	}
	must(t, <-stopped)
}

func TestServerThatWasShutDownDoesNotServe(t *testing.T) {
	t.Parallel()
	s := api.New(api.Config{})
	must(t, s.Shutdown(t.Context()))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, s.Serve(l))
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is open")
	}
}

const hsts = "strict-transport-security"

// wantHeader checks a header and returns the response.
func (r *response) wantHeader(name, value string) *response {
	r.t.Helper()
	if got := r.header.Get(name); got != value {
		r.t.Errorf("%d: %s is %q, want %q", r.status, name, got, value)
	}
	return r
}

func TestTLSConnectionsAreServed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	certificate := selfSigned(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	secure := wiping.Listen(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil)
	ended := make(chan error, 1)
	go func() { ended <- f.server.Serve(secure) }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	response, err := client.Get("https://" + listener.Addr().String() + "/api/v1/health")
	must(t, err)
	body, err := io.ReadAll(response.Body)
	must(t, err)
	if response.StatusCode != 200 || !strings.Contains(string(body), `"core_status":"ok"`) {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	const oneHour, oneYear = "max-age=3600", "max-age=31536000"
	if got := response.Header.Get(hsts); got != oneHour {
		t.Errorf("health: %q", got)
	}
	for request, status := range map[string]int{
		"GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n":                                    404,
		"POST /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n":                             405,
		"GET /api/v1/transactions HTTP/1.1\r\nHost: a\r\n\r\n":                        401,
		"GET /pay/none HTTP/1.1\r\nHost: a\r\n\r\n":                                   404,
		"GET /api/v1/health HTTP/1.1\r\n\r\n":                                         400, // refused by the guard
		"GET /api/v1/health HTTX/1.1\r\nHost: a\r\n\r\n":                              400, // refused by fasthttp, before the guard
		"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("x", 9000) + "\r\n\r\n": 431,
	} {
		c, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		must(t, err)
		_, err = io.WriteString(c, request)
		must(t, err)
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		must(t, err)
		if response.StatusCode != status || response.Header.Get(hsts) != oneHour {
			t.Errorf("%.40q: %d, %s %q", request, response.StatusCode, hsts, response.Header.Get(hsts))
		}
		must(t, c.Close())
	}
	f.anyone().get("/nowhere").want(404, "").wantHeader(hsts, "") // without TLS browsers ignore the header
	production := newFixture(t, func(cfg *api.Config) {
		cfg.Env, cfg.BehindProxy, cfg.TrustedProxies = "production", true, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		cfg.Payments = failingPayments{panic: "broken"}
	})
	viaProxy := production.partner().with("x-forwarded-proto", "https")
	viaProxy.get("/api/v1/health").want(200, "").wantHeader(hsts, oneYear)
	viaProxy.post(transactions, paymentBody(`"amount":"1"`)).want(500, "").wantHeader(hsts, oneYear)
	production.anyone().get("/api/v1/health").want(403, "").wantHeader(hsts, "")
	must(t, listener.Close())
	must(t, <-ended)
}
