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

// If a request has a header twice, a proxy in front may have checked the one that the server does not
// read. So a request with two credentials is unauthorized.
func TestRepeatedCredentialsAreUnauthorized(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.seed.First
	org, otherHeader := "X-Organization-Id: "+first.Org.String(), "x-organization-id: "+uuid.NewString()
	key, token := "X-Api-Key: "+string(first.APIKey), "Authorization: Bearer "+string(first.SessionToken)
	admin := "Authorization: Bearer " + string(f.seed.AdminToken)
	const (
		partnerPath = "/api/v1/balances"         // for partners
		personPath  = ledgerPath + "/head"       // for persons
		sharedPath  = ledgerPath + "/accounts"   // for both
		sessionPath = sessions + "/current"      // for the session itself
		writePath   = transactions               // a write for partners
		listPath    = transactions + "?env=prod" // for partners and for the operator
	)
	f.sendLines("GET", partnerPath, org, key).want(200, "")
	f.sendLines("GET", personPath, org, token).want(200, "")
	reference := f.sendLines("GET", partnerPath).want(401, unauthorized)
	for _, c := range []struct {
		method, path string
		lines        []string
	}{
		{"GET", partnerPath, []string{org, org, key}},
		{"GET", partnerPath, []string{org, otherHeader, key}},
		{"GET", partnerPath, []string{otherHeader, org, key}},
		{"GET", partnerPath, []string{org, "x-organization-id:", key}},
		{"GET", partnerPath, []string{org, key, key}},
		{"GET", partnerPath, []string{org, key, "x-api-key: mzk_other"}},
		{"GET", partnerPath, []string{org, "X-API-KEY: mzk_other", key}},
		{"GET", partnerPath, []string{org, key, "x-api-key:"}},
		{"GET", partnerPath, []string{org, key, token, token}},
		{"POST", writePath, []string{org, org, key, "Content-Type: application/json"}},
		{"GET", listPath, []string{org, key, key}},
		{"GET", listPath, []string{org, org, key}},
		{"GET", listPath, []string{org, admin, admin}},
		{"GET", personPath, []string{org, org, token}},
		{"GET", personPath, []string{org, token, token}},
		{"GET", personPath, []string{org, token, "authorization: Bearer mzs_other"}},
		{"GET", personPath, []string{org, "authorization: Basic x", token}},
		{"GET", sharedPath, []string{org, key, token, token}},
		{"GET", sharedPath, []string{org, key, key, token}},
		{"DELETE", sessionPath, []string{org, org, token}},
		{"DELETE", sessionPath, []string{org, token, token}},
		{"GET", "/api/v1/partners", []string{org, admin, admin}},
		{"GET", "/api/v1/organizations", []string{admin, "authorization: Bearer x"}},
		{"GET", "/api/v1/partners", []string{org, otherHeader, "Authorization: Bearer x"}},
	} {
		r := f.sendLines(c.method, c.path, c.lines...)
		if r.status != 401 || r.body != unauthorized || sameHeaders(r) != sameHeaders(reference) {
			t.Errorf("%s %s %q: %d %s %v", c.method, c.path, c.lines, r.status, r.body, r.header)
		}
	}
	f.sendLines("GET", personPath, org, token).want(200, "") // the session was not ended
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
