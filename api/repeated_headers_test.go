package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// sendLines makes a request with the header lines as given.
func (f *fixture) sendLines(method, path string, lines ...string) *response {
	f.t.Helper()
	request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n\r\n", method, path, strings.Join(lines, "\r\n"))
	responses, _ := f.raw(request, 1)
	if len(responses) != 1 {
		f.t.Fatalf("%s %s: no response", method, path)
	}
	return responses[0]
}

// A proxy in front may have checked the other one of two equal headers, so a request with two
// credentials is unauthorized.
func TestRepeatedCredentialsAreUnauthorized(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.seed.First
	org, other := "X-Organization-Id: "+first.Org.String(), "x-organization-id: "+uuid.NewString()
	key, token := "X-Api-Key: "+string(first.APIKey), "Authorization: Bearer "+string(first.SessionToken)
	admin := "Authorization: Bearer " + string(f.seed.AdminToken)
	const (
		mine    = "/api/v1/balances"         // for partners
		people  = ledgerPath + "/head"       // for persons
		either  = ledgerPath + "/accounts"   // for both
		current = sessions + "/current"      // for the session itself
		created = transactions               // a write for partners
		listed  = transactions + "?env=prod" // for partners and for the operator
	)
	f.sendLines("GET", mine, org, key).want(200, "")
	f.sendLines("GET", people, org, token).want(200, "")
	reference := f.sendLines("GET", mine).want(401, unauthorized)
	for _, c := range []struct {
		method, path string
		lines        []string
	}{
		{"GET", mine, []string{org, org, key}},
		{"GET", mine, []string{org, other, key}},
		{"GET", mine, []string{other, org, key}},
		{"GET", mine, []string{org, "x-organization-id:", key}},
		{"GET", mine, []string{org, key, key}},
		{"GET", mine, []string{org, key, "x-api-key: mzk_other"}},
		{"GET", mine, []string{org, "X-API-KEY: mzk_other", key}},
		{"GET", mine, []string{org, key, "x-api-key:"}},
		{"GET", mine, []string{org, key, token, token}},
		{"POST", created, []string{org, org, key, "Content-Type: application/json"}},
		{"GET", listed, []string{org, key, key}},
		{"GET", listed, []string{org, org, key}},
		{"GET", listed, []string{org, admin, admin}},
		{"GET", people, []string{org, org, token}},
		{"GET", people, []string{org, token, token}},
		{"GET", people, []string{org, token, "authorization: Bearer mzs_other"}},
		{"GET", people, []string{org, "authorization: Basic x", token}},
		{"GET", either, []string{org, key, token, token}},
		{"GET", either, []string{org, key, key, token}},
		{"DELETE", current, []string{org, org, token}},
		{"DELETE", current, []string{org, token, token}},
		{"GET", "/api/v1/partners", []string{org, admin, admin}},
		{"GET", "/api/v1/organizations", []string{admin, "authorization: Bearer x"}},
		{"GET", "/api/v1/partners", []string{org, other, "Authorization: Bearer x"}},
	} {
		r := f.sendLines(c.method, c.path, c.lines...)
		if r.status != 401 || r.body != unauthorized || sameHeaders(r) != sameHeaders(reference) {
			t.Errorf("%s %s %q: %d %s %v", c.method, c.path, c.lines, r.status, r.body, r.header)
		}
	}
	f.sendLines("GET", people, org, token).want(200, "") // the session was not ended
}

// The response to an operator explains what is wrong with the request.
func TestRepeatedOrganizationHeadersAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	org, other := "X-Organization-Id: "+f.seed.First.Org.String(), "x-organization-id: "+f.seed.Second.Org.String()
	admin := "Authorization: Bearer " + string(f.seed.AdminToken)
	const body = `{"errors":[{"code":"invalid","detail":"x-organization-id must be sent once","field":"x-organization-id"}]}`
	for _, c := range []struct{ method, path string }{
		{"GET", "/api/v1/partners"}, {"GET", "/api/v1/organizations"}, {"GET", transactions + "?partner_id=1"},
		{"DELETE", "/api/v1/partners/1"}, {"POST", "/api/v1/admin_tokens/rotate"},
	} {
		for _, lines := range [][]string{{org, org, admin}, {org, other, admin}, {other, org, admin}} {
			f.sendLines(c.method, c.path, lines...).want(422, body)
		}
	}
	f.admin().get("/api/v1/partners/1").want(200, "")
}
