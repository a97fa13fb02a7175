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

// unauthorizedCases maps each reason for which a request with an API key gets 401 to an example: a key and an organization's id.
// All keys have the same length, and so have all ids.
func unauthorizedCases(f *fixture) map[string][2]string {
	f.t.Helper()
	first, second := f.seed.First.Org.String(), f.seed.Second.Org.String()
	key := string(f.seed.First.APIKey)
	issue := func(c caller, partner, fields string) *response {
		return c.post("/api/v1/api_keys", `{"name":"k","partner_id":`+partner+fields+`}`).want(201, "")
	}
	revokedKey := issue(f.admin(), "1", "")
	f.admin().do("DELETE", "/api/v1/api_keys/"+revokedKey.at("id"), "").want(200, "")
	expiredKey := issue(f.admin(), "1", `,"expires_at":"2026-09-03T10:16:00Z"`)
	farPartner := f.admin().post("/api/v1/partners", `{"name":"A","login":"away","pass":"nine-Lions-paint","source_addresses":["192.0.2.0/24"]}`).want(201, "")
	farKey := issue(f.admin(), farPartner.at("id"), "")
	inactiveOrg := f.anyone().with("authorization", "Bearer "+string(f.seed.AdminToken)).post("/api/v1/organizations", `{"name":"Resting"}`).want(201, "").at("data.id")
	inactiveOrgAdmin := f.bearer(string(f.seed.AdminToken), uuid.MustParse(inactiveOrg))
	inactiveOrgKey := issue(inactiveOrgAdmin, inactiveOrgAdmin.post("/api/v1/partners", `{"name":"S","login":"s","pass":"nine-Lions-paint"}`).want(201, "").at("id"), "")
	f.admin().patch("/api/v1/organizations/"+inactiveOrg, `{"status":"maintenance"}`).want(200, "")
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":3600}`).want(200, "")
	return map[string][2]string{
		"unknown key":           {"mzk_" + strings.Repeat("A", len(key)-4), first},
		"wrong organization":    {key, second},
		"unknown organization":  {key, uuid.NewString()},
		"expired":               {expiredKey.at("key"), first},
		"revoked":               {revokedKey.at("key"), first},
		"inactive organization": {inactiveOrgKey.at("key"), inactiveOrg},
		"wrong source address":  {farKey.at("key"), first},
	}
}

// The number of allocations for a request shows which steps the server took. It must be the same in each unauthorized case, so
// that no case skips a step. The test takes the smallest of many measurements, because other goroutines allocate at the same
// time, and because memory pools are emptied from time to time.
func TestEveryUnauthorizedCaseCostsTheSame(t *testing.T) {
	f := newFixture(t)
	const rounds = 200
	allocationsOf := make(map[string]float64)
	for name, example := range unauthorizedCases(f) {
		conn, err := net.Dial("tcp", f.address)
		must(t, err)
		defer func() { _ = conn.Close() }()
		must(t, conn.SetDeadline(time.Now().Add(hangGuard)))
		request := []byte(fmt.Sprintf("GET /api/v1/balances HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\nx-organization-id: %s\r\n\r\n", example[0], example[1]))
		buffer := make([]byte, 4096)
		measure := func() {
			if _, err := conn.Write(request); err != nil {
				t.Fatal(err)
			}
			n := 0
			for !bytes.HasSuffix(buffer[:n], []byte(unauthorized)) {
				read, err := conn.Read(buffer[n:])
				if err != nil {
					t.Fatalf("%s: after %q: %v", name, buffer[:n], err)
				}
				n += read
			}
		}
		allocationsOf[name] = math.Inf(1)
		for range rounds {
			allocationsOf[name] = min(allocationsOf[name], testing.AllocsPerRun(1, measure))
		}
	}
	want := allocationsOf["unknown key"]
	for name, allocations := range allocationsOf {
		if allocations != want {
			t.Errorf("%s: %v allocations, an unknown key %v", name, allocations, want)
		}
	}
}

// countingJournal is a journal that counts how many views of it are opened.
type countingJournal struct {
	web.Journal
	openCount atomic.Int64
}

// View implements web.Journal.
func (j *countingJournal) View() *posting.View {
	j.openCount.Add(1)
	return j.Journal.View()
}

func TestKeyLookupReadsNothingFromTheStore(t *testing.T) {
	journal := new(countingJournal)
	f := newFixture(t, func(c *api.Config) {
		journal.Journal = c.Journal
		c.Journal = journal
	})
	for range 100 {
		f.partner().post(transactions, `{"params":{}}`).want(422, "")                // the caller is authenticated, but the body is refused
		f.partner().with("x-api-key", "mzk_unknown").get(transactions).want(401, "") // unauthorized
	}
	if n := journal.openCount.Load(); n != 0 {
		t.Errorf("the store was opened %d times", n)
	}
	if f.partner().get(transactions).want(200, ""); journal.openCount.Load() == 0 {
		t.Error("a list was read without the store: the count is worth nothing")
	}
}

// Once a revocation is confirmed, no later request with the key is authenticated, even
// while many other requests with the key are under way.
func TestRevokedKeyIsRefusedOnceTheRevocationIsConfirmed(t *testing.T) {
	f := newFixture(t)
	const (
		callers       = 8
		requestsAfter = 3 // each caller's requests after the revocation
	)
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	org := f.seed.First.Org.String()
	for round := range rounds {
		apiKey := f.admin().post("/api/v1/api_keys", `{"name":"r","partner_id":1}`).want(201, "")
		client := f.anyone().with("x-api-key", apiKey.at("key"), "x-organization-id", org)
		var revoked atomic.Bool
		var accepted atomic.Int64
		answered := make(chan struct{}, callers)
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for hasReported, remaining := false, requestsAfter; remaining > 0; {
					afterRevocation := revoked.Load()
					status := client.status("/api/v1/balances")
					switch {
					case status == http.StatusOK && afterRevocation:
						t.Errorf("round %d: let in after the revocation was answered", round)
						return
					case status == http.StatusOK:
						accepted.Add(1)
					case status != http.StatusUnauthorized:
						t.Errorf("round %d: HTTP %d", round, status)
						return
					}
					if afterRevocation {
						remaining--
					}
					if !hasReported {
						hasReported = true
						answered <- struct{}{}
					}
				}
			})
		}
		for range callers {
			select {
			case <-answered:
			case <-time.After(hangGuard):
				t.Fatal("no response")
			}
		}
		f.admin().do("DELETE", "/api/v1/api_keys/"+apiKey.at("id"), "").want(200, "")
		revoked.Store(true)
		wg.Wait()
		if accepted.Load() < callers {
			t.Errorf("round %d: %d requests were let in before the revocation", round, accepted.Load())
		}
		if t.Failed() {
			return
		}
	}
}

// status returns the status of a GET; 0 if there was no response.
func (c caller) status(path string) int {
	request, err := http.NewRequest(http.MethodGet, "http://"+c.fixture.address+path, nil)
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
