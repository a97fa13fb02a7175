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
)

// On routes without credentials a body has at most 64 KiB.
func TestOpenRoutesTakeSmallBodiesOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const bound = 64 << 10
	const refused = `{"error":"payload_too_large","message":"the body is larger than 65536 bytes"}`
	login := `{"login":"demo","pass":"x"`
	pad := func(n int) string { return login + strings.Repeat(" ", n-len(login)-1) + "}" }
	org := f.seed.First.Org.String()
	f.anyone().with("x-organization-id", org).post("/api/v1/sessions", pad(bound)).want(401, unauthorized)
	f.anyone().with("x-organization-id", org).post("/api/v1/sessions", pad(bound+1)).want(413, refused)
	f.anyone().post("/api/v1/terminal/"+uuid.NewString()+"/notifications", pad(bound+1)).want(413, refused)
	for _, path := range []string{"/pay/" + uuid.NewString(), "/simulator/challenge"} {
		form := f.anyone().with("content-type", "application/x-www-form-urlencoded")
		if r := form.post(path, strings.Repeat("x", bound+1)).want(413, ""); !strings.Contains(r.body, "<html") {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	// With chunks no length is announced, so a body that is too large is detected when it
	// arrives.
	chunk := fmt.Sprintf("%x\r\n%s\r\n", bound, pad(bound))
	head := "POST /api/v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Organization-Id: " + org + "\r\nTransfer-Encoding: chunked\r\n\r\n"
	responses, closed := f.raw(head+chunk+"1\r\n \r\n0\r\n\r\n"+"GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 2)
	if len(responses) == 0 || !closed {
		t.Fatalf("%d responses, closed %v", len(responses), closed)
	}
	responses[0].want(413, refused)
}

// A body that was not read is never parsed as the next request.
func TestBodyOfARefusedRequestIsNotRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const next = "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	post := func(path string, length int, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, length, body)
	}
	for _, path := range []string{transactions, "/nowhere", "/api/v1/health"} {
		for _, size := range []int{1, 100, 8 << 10, 64 << 10} { // short enough for the connection to be reused
			responses, closed := f.raw(post(path, size, strings.Repeat("x", size))+next, 2)
			if len(responses) != 2 || !closed || responses[0].closes || responses[1].status != 200 {
				t.Errorf("%s, %d bytes: %d responses", path, size, len(responses))
			}
		}
		hidden := strings.Repeat(next, 1200) // longer than the part that is read and discarded
		responses, closed := f.raw(post(path, len(hidden), hidden)+next, 2)
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
	for _, how := range []string{
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+1, body),
		fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body),
		fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-A: ", len(body), body),
	} {
		c, err := net.Dial("tcp", f.address)
		must(t, err)
		must(t, c.SetDeadline(time.Now().Add(patience)))
		_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Api-Key: %s\r\nX-Organization-Id: %s\r\n%s",
			transactions, string(f.seed.First.APIKey), f.seed.First.Org, how)
		must(t, err)
		must(t, c.(*net.TCPConn).CloseWrite())
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		must(t, err)
		if text, _ := io.ReadAll(response.Body); response.StatusCode != 400 {
			t.Errorf("%.40q: %d %s", how, response.StatusCode, text)
		}
		must(t, c.Close())
	}
	if r := f.partner().get(transactions+"?env=test&txid=broken+off").want(200, ""); r.rows() != 0 {
		t.Errorf("%s", r.body)
	}
}

// A caller with a valid key may send a large body at once, in chunks, or after a 100 Continue.
func TestAuthenticatedCallerMaySendALargeBody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := paymentBody(`"amount":"5"`)
	body += strings.Repeat(" ", 1<<20-len(body))
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nX-Api-Key: %s\r\nX-Organization-Id: %s\r\n",
		transactions, string(f.seed.First.APIKey), f.seed.First.Org)
	for name, rest := range map[string]string{
		"one piece": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
		"chunks":    fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x;a=b\r\n%s\r\n0\r\n\r\n", 100_000, body[:100_000], len(body)-100_000, body[100_000:]),
	} {
		responses, _ := f.raw(head+rest, 1)
		if len(responses) != 1 || responses[0].status != 201 {
			t.Errorf("%s: %d responses", name, len(responses))
		}
	}
	responses, _ := f.raw(head+fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", len(body), body), 2)
	if len(responses) != 2 || responses[0].status != 100 || responses[1].status != 201 {
		t.Errorf("100-continue: %d responses", len(responses))
	}
}
