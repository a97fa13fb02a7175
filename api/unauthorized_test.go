package api_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/api"
	"mizan/api/web"
	"mizan/posting"
)

// hangGuard ends a test that waits for an event that does not come.
const hangGuard = time.Minute

// unauthorizedCases are all reasons for a 401 with an API key, each with a key and an
// organization of the same length.
func unauthorizedCases(h *fixture) map[string][2]string {
	h.t.Helper()
	first, second := h.seed.First.Org.String(), h.seed.Second.Org.String()
	key := string(h.seed.First.APIKey)
	issue := func(c caller, partner, more string) *answer {
		return c.post("/api/v1/api_keys", `{"name":"k","partner_id":`+partner+more+`}`).want(201, "")
	}
	revoked := issue(h.admin(), "1", "")
	h.admin().do("DELETE", "/api/v1/api_keys/"+revoked.at("id"), "").want(200, "")
	expired := issue(h.admin(), "1", `,"expires_at":"2026-09-03T10:16:00Z"`)
	away := h.admin().post("/api/v1/partners", `{"name":"A","login":"away","pass":"nine-Lions-paint","source_addresses":["192.0.2.0/24"]}`).want(201, "")
	outside := issue(h.admin(), away.at("id"), "")
	resting := h.anyone().with("authorization", "Bearer "+string(h.seed.AdminToken)).post("/api/v1/organizations", `{"name":"Resting"}`).want(201, "").at("data.id")
	there := h.bearer(string(h.seed.AdminToken), uuid.MustParse(resting))
	sleeping := issue(there, there.post("/api/v1/partners", `{"name":"S","login":"s","pass":"nine-Lions-paint"}`).want(201, "").at("id"), "")
	h.admin().patch("/api/v1/organizations/"+resting, `{"status":"maintenance"}`).want(200, "")
	h.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":3600}`).want(200, "")
	return map[string][2]string{
		"unknown key":           {"mzk_" + strings.Repeat("A", len(key)-4), first},
		"wrong organization":    {key, second},
		"unknown organization":  {key, uuid.NewString()},
		"expired":               {expired.at("key"), first},
		"revoked":               {revoked.at("key"), first},
		"inactive organization": {sleeping.at("key"), resting},
		"wrong source address":  {outside.at("key"), first},
	}
}

// The number of allocations for a request shows which steps the server took. It must be the
// same in each unauthorized case, so that no case skips a step. The smallest of many
// measurements counts, because other goroutines allocate at the same time and pools are
// emptied, with the race detector at random.
func TestEveryUnauthorizedCaseCostsTheSame(t *testing.T) {
	h := newFixture(t)
	const rounds = 200
	cost := make(map[string]float64)
	for name, s := range unauthorizedCases(h) {
		c, err := net.Dial("tcp", h.address)
		must(t, err)
		defer func() { _ = c.Close() }()
		must(t, c.SetDeadline(time.Now().Add(hangGuard)))
		request := []byte(fmt.Sprintf("GET /api/v1/balances HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\nx-organization-id: %s\r\n\r\n", s[0], s[1]))
		buffer := make([]byte, 4096)
		once := func() {
			if _, err := c.Write(request); err != nil {
				t.Fatal(err)
			}
			n := 0
			for !bytes.HasSuffix(buffer[:n], []byte(unauthorized)) {
				read, err := c.Read(buffer[n:])
				if err != nil {
					t.Fatalf("%s: after %q: %v", name, buffer[:n], err)
				}
				n += read
			}
		}
		cost[name] = math.Inf(1)
		for range rounds {
			cost[name] = min(cost[name], testing.AllocsPerRun(1, once))
		}
	}
	want := cost["unknown key"]
	for name, allocations := range cost {
		if allocations != want {
			t.Errorf("%s: %v allocations, an unknown key %v", name, allocations, want)
		}
	}
}

// views counts how often the store is opened for reading.
type views struct {
	web.Journal
	opened atomic.Int64
}

// View implements api.Journal.
func (v *views) View() *posting.View {
	v.opened.Add(1)
	return v.Journal.View()
}

func TestKeyLookupReadsNothingFromTheStore(t *testing.T) {
	counted := new(views)
	h := newFixture(t, func(c *api.Config) {
		counted.Journal = c.Journal
		c.Journal = counted
	})
	for range 100 {
		h.partner().post(transactions, `{"params":{}}`).want(422, "")                // authenticated, and refused for its body
		h.partner().with("x-api-key", "mzk_unknown").get(transactions).want(401, "") // unauthorized
	}
	if n := counted.opened.Load(); n != 0 {
		t.Errorf("the store was opened %d times", n)
	}
	if h.partner().get(transactions).want(200, ""); counted.opened.Load() == 0 {
		t.Error("a list was read without the store: the count is worth nothing")
	}
}

// Once a revocation has been answered, no later request with the key is authenticated, even
// while many others with the same key are under way.
func TestRevokedKeyIsRefusedOnceTheRevocationIsConfirmed(t *testing.T) {
	h := newFixture(t)
	const (
		callers = 8
		after   = 3 // each caller's requests after the revocation
	)
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	org := h.seed.First.Org.String()
	for round := range rounds {
		made := h.admin().post("/api/v1/api_keys", `{"name":"r","partner_id":1}`).want(201, "")
		with := h.anyone().with("x-api-key", made.at("key"), "x-organization-id", org)
		var revoked atomic.Bool
		var let atomic.Int64
		first := make(chan struct{}, callers)
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for hasAnswered, left := false, after; left > 0; {
					late := revoked.Load()
					status := with.status("/api/v1/balances")
					switch {
					case status == http.StatusOK && late:
						t.Errorf("round %d: let in after the revocation was answered", round)
						return
					case status == http.StatusOK:
						let.Add(1)
					case status != http.StatusUnauthorized:
						t.Errorf("round %d: HTTP %d", round, status)
						return
					}
					if late {
						left--
					}
					if !hasAnswered {
						hasAnswered = true
						first <- struct{}{}
					}
				}
			})
		}
		for range callers {
			select {
			case <-first:
			case <-time.After(hangGuard):
				t.Fatal("no answer")
			}
		}
		h.admin().do("DELETE", "/api/v1/api_keys/"+made.at("id"), "").want(200, "")
		revoked.Store(true)
		all.Wait()
		if let.Load() < callers {
			t.Errorf("round %d: %d requests were let in before the revocation", round, let.Load())
		}
		if t.Failed() {
			return
		}
	}
}

// status returns the status of a GET; 0 if there was no answer.
func (c caller) status(path string) int {
	request, err := http.NewRequest(http.MethodGet, "http://"+c.h.address+path, nil)
	if err != nil {
		return 0
	}
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body) // otherwise the connection could not be reused
	_ = response.Body.Close()
	return response.StatusCode
}
