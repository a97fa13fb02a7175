package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// sendLines makes a request with exactly these header lines.
func (f *fixture) sendLines(method, path string, lines ...string) *response {
	f.t.Helper()
	request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n\r\n", method, path, strings.Join(lines, "\r\n"))
	responses, _ := f.raw(request, 1)
	if len(responses) != 1 {
		f.t.Fatalf("%s %s: no response", method, path)
	}
	return responses[0]
}

// If a request has a header twice, a proxy in front of the server may have checked the line that the server does not read. So a
// request with a repeated credential is unauthorized.
func TestRepeatedCredentialsAreUnauthorized(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.seed.First
	orgHeader, otherOrgHeader := "X-Organization-Id: "+first.Org.String(), "x-organization-id: "+uuid.NewString()
	keyHeader, sessionHeader := "X-Api-Key: "+string(first.APIKey), "Authorization: Bearer "+string(first.SessionToken)
	adminHeader := "Authorization: Bearer " + string(f.seed.AdminToken)
	const (
		partnerPath = "/api/v1/balances"         // a route for partners
		personPath  = ledgerPath + "/head"       // a route for users with a session
		sharedPath  = ledgerPath + "/accounts"   // a route for both partners and users
		sessionPath = sessions + "/current"      // a route about the session of the request
		writePath   = transactions               // a route for partners that writes
		listPath    = transactions + "?env=prod" // a route for partners and for operators
	)
	f.sendLines("GET", partnerPath, orgHeader, keyHeader).want(200, "")
	f.sendLines("GET", personPath, orgHeader, sessionHeader).want(200, "")
	reference := f.sendLines("GET", partnerPath).want(401, unauthorized)
	for _, c := range []struct {
		method, path string
		lines        []string
	}{
		{"GET", partnerPath, []string{orgHeader, orgHeader, keyHeader}},
		{"GET", partnerPath, []string{orgHeader, otherOrgHeader, keyHeader}},
		{"GET", partnerPath, []string{otherOrgHeader, orgHeader, keyHeader}},
		{"GET", partnerPath, []string{orgHeader, "x-organization-id:", keyHeader}},
		{"GET", partnerPath, []string{orgHeader, keyHeader, keyHeader}},
		{"GET", partnerPath, []string{orgHeader, keyHeader, "x-api-key: mzk_other"}},
		{"GET", partnerPath, []string{orgHeader, "X-API-KEY: mzk_other", keyHeader}},
		{"GET", partnerPath, []string{orgHeader, keyHeader, "x-api-key:"}},
		{"GET", partnerPath, []string{orgHeader, keyHeader, sessionHeader, sessionHeader}},
		{"POST", writePath, []string{orgHeader, orgHeader, keyHeader, "Content-Type: application/json"}},
		{"GET", listPath, []string{orgHeader, keyHeader, keyHeader}},
		{"GET", listPath, []string{orgHeader, orgHeader, keyHeader}},
		{"GET", listPath, []string{orgHeader, adminHeader, adminHeader}},
		{"GET", personPath, []string{orgHeader, orgHeader, sessionHeader}},
		{"GET", personPath, []string{orgHeader, sessionHeader, sessionHeader}},
		{"GET", personPath, []string{orgHeader, sessionHeader, "authorization: Bearer mzs_other"}},
		{"GET", personPath, []string{orgHeader, "authorization: Basic x", sessionHeader}},
		{"GET", sharedPath, []string{orgHeader, keyHeader, sessionHeader, sessionHeader}},
		{"GET", sharedPath, []string{orgHeader, keyHeader, keyHeader, sessionHeader}},
		{"DELETE", sessionPath, []string{orgHeader, orgHeader, sessionHeader}},
		{"DELETE", sessionPath, []string{orgHeader, sessionHeader, sessionHeader}},
		{"GET", "/api/v1/partners", []string{orgHeader, adminHeader, adminHeader}},
		{"GET", "/api/v1/organizations", []string{adminHeader, "authorization: Bearer x"}},
		{"GET", "/api/v1/partners", []string{orgHeader, otherOrgHeader, "Authorization: Bearer x"}},
	} {
		r := f.sendLines(c.method, c.path, c.lines...)
		if r.status != 401 || r.body != unauthorized || sameHeaders(r) != sameHeaders(reference) {
			t.Errorf("%s %s %q: %d %s %v", c.method, c.path, c.lines, r.status, r.body, r.header)
		}
	}
	f.sendLines("GET", personPath, orgHeader, sessionHeader).want(200, "") // the session was not ended
}

// An operator's request with two organization headers is not a 401: the response explains the fault.
func TestRepeatedOrganizationHeadersAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	orgHeader, otherOrgHeader := "X-Organization-Id: "+f.seed.First.Org.String(), "x-organization-id: "+f.seed.Second.Org.String()
	adminHeader := "Authorization: Bearer " + string(f.seed.AdminToken)
	const body = `{"errors":[{"code":"invalid","detail":"x-organization-id must be sent once","field":"x-organization-id"}]}`
	for _, c := range []struct{ method, path string }{
		{"GET", "/api/v1/partners"}, {"GET", "/api/v1/organizations"}, {"GET", transactions + "?partner_id=1"},
		{"DELETE", "/api/v1/partners/1"}, {"POST", "/api/v1/admin_tokens/rotate"},
	} {
		for _, lines := range [][]string{{orgHeader, orgHeader, adminHeader}, {orgHeader, otherOrgHeader, adminHeader}, {otherOrgHeader, orgHeader, adminHeader}} {
			f.sendLines(c.method, c.path, lines...).want(422, body)
		}
	}
	f.admin().get("/api/v1/partners/1").want(200, "")
}
