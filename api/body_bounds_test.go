package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/api/web/body"
	"mizan/internal/testkit"
)

// On routes without credentials a body may have at most 64 KiB.
func TestOpenRoutesTakeSmallBodiesOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const bound = 64 << 10
	const tooLarge = `{"error":"payload_too_large","message":"the body is larger than 65536 bytes"}`
	unclosedLogin := `{"login":"demo","pass":"x"`
	paddedLogin := func(n int) string { return unclosedLogin + strings.Repeat(" ", n-len(unclosedLogin)-1) + "}" }
	org := f.seed.First.Org.String()
	f.anyone().with("x-organization-id", org).post("/api/v1/sessions", paddedLogin(bound)).want(401, unauthorized)
	f.anyone().with("x-organization-id", org).post("/api/v1/sessions", paddedLogin(bound+1)).want(413, tooLarge)
	f.anyone().post("/api/v1/terminal/"+uuid.NewString()+"/notifications", paddedLogin(bound+1)).want(413, tooLarge)
	for _, path := range []string{"/pay/" + uuid.NewString(), "/simulator/challenge"} {
		formCaller := f.anyone().with("content-type", "application/x-www-form-urlencoded")
		if r := formCaller.post(path, strings.Repeat("x", bound+1)).want(413, ""); !strings.Contains(r.body, "<html") {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	// With chunks no length is announced, so a body that is too large is detected when it
	// arrives.
	chunk := fmt.Sprintf("%x\r\n%s\r\n", bound, paddedLogin(bound))
	header := "POST /api/v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Organization-Id: " + org + "\r\nTransfer-Encoding: chunked\r\n\r\n"
	responses, closed := f.raw(header+chunk+"1\r\n \r\n0\r\n\r\n"+"GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 2)
	if len(responses) == 0 || !closed {
		t.Fatalf("%d responses, closed %v", len(responses), closed)
	}
	responses[0].want(413, tooLarge)
}

// A body that was not read is never parsed as the next request.
func TestBodyOfARefusedRequestIsNotRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const nextRequest = "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	post := func(path string, length int, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, length, body)
	}
	for _, path := range []string{transactions, "/nowhere", "/api/v1/health"} {
		for _, size := range []int{1, 100, 8 << 10, 64 << 10} { // short enough for the connection to be reused
			responses, closed := f.raw(post(path, size, strings.Repeat("x", size))+nextRequest, 2)
			if len(responses) != 2 || !closed || responses[0].closes || responses[1].status != 200 {
				t.Errorf("%s, %d bytes: %d responses", path, size, len(responses))
			}
		}
		longBody := strings.Repeat(nextRequest, 1200) // too long for the server to read and discard
		responses, closed := f.raw(post(path, len(longBody), longBody)+nextRequest, 2)
		if len(responses) != 1 || !closed || !responses[0].closes {
			t.Errorf("%s: %d responses, closed %v", path, len(responses), closed)
		}
	}
}

// If the connection breaks within a body, the request has no effect, even if the part that
// arrived is a valid body.
func TestIncompleteBodyHasNoEffect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := paymentBody(`"amount":"5","txid":"broken off"`)
	for _, framedBody := range []string{
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+1, body),
		fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body),
		fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-A: ", len(body), body),
	} {
		conn, err := net.Dial("tcp", f.address)
		must(t, err)
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Api-Key: %s\r\nX-Organization-Id: %s\r\n%s",
			transactions, string(f.seed.First.APIKey), f.seed.First.Org, framedBody)
		must(t, err)
		must(t, conn.(*net.TCPConn).CloseWrite())
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		if text, _ := io.ReadAll(response.Body); response.StatusCode != 400 {
			t.Errorf("%.40q: %d %s", framedBody, response.StatusCode, text)
		}
		must(t, conn.Close())
	}
	if r := f.partner().get(transactions+"?env=test&txid=broken+off").want(200, ""); r.rows() != 0 {
		t.Errorf("%s", r.body)
	}
}

// Requests whose bodies arrive slowly do not hold up a server that hands over.
func TestHandOverRefusesBodiesThatHaveNotArrived(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const sent, announced = 20 << 10, 100 << 10
	header := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Api-Key: %s\r\nX-Organization-Id: %s\r\n",
		transactions, string(f.seed.First.APIKey), f.seed.First.Org)
	var connections []net.Conn
	for _, framing := range []string{
		fmt.Sprintf("Content-Length: %d\r\n\r\n", announced),
		fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", announced),
	} {
		conn, err := net.Dial("tcp", f.address)
		must(t, err)
		_, err = io.WriteString(conn, header+framing+strings.Repeat(" ", sent))
		must(t, err)
		connections = append(connections, conn)
	}
	testkit.WaitUntil(t, "the bodies are being read", func() bool { return f.server.BodyBytes() >= 2*sent })
	f.server.HandOver()
	for i, conn := range connections {
		must(t, conn.SetReadDeadline(time.Now().Add(body.Grace/2)))
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		if text, _ := io.ReadAll(response.Body); response.StatusCode != 503 || !strings.Contains(string(text), "nothing was done") || !response.Close {
			t.Errorf("connection %d: %d %s", i, response.StatusCode, text)
		}
		must(t, conn.Close())
	}
	if got := f.server.BodyBytes(); got != 0 {
		t.Errorf("%d bytes are held", got)
	}
}

// A caller with a valid key may send a large body at once, in chunks, or after a 100 Continue.
func TestAuthenticatedCallerMaySendALargeBody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := paymentBody(`"amount":"5"`)
	body += strings.Repeat(" ", 1<<20-len(body))
	header := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nX-Api-Key: %s\r\nX-Organization-Id: %s\r\n",
		transactions, string(f.seed.First.APIKey), f.seed.First.Org)
	for name, framedBody := range map[string]string{
		"one piece": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
		"chunks":    fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x;a=b\r\n%s\r\n0\r\n\r\n", 100_000, body[:100_000], len(body)-100_000, body[100_000:]),
	} {
		responses, _ := f.raw(header+framedBody, 1)
		if len(responses) != 1 || responses[0].status != 201 {
			t.Errorf("%s: %d responses", name, len(responses))
		}
	}
	responses, _ := f.raw(header+fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", len(body), body), 2)
	if len(responses) != 2 || responses[0].status != 100 || responses[1].status != 201 {
		t.Errorf("100-continue: %d responses", len(responses))
	}
}
