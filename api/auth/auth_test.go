package auth_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/api/auth"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

var (
	ourOrg        = uuid.MustParse("3e0a2c58-61f8-4b53-8a0a-0f2f3a9c1d01")
	otherOrg      = uuid.MustParse("3e0a2c58-61f8-4b53-8a0a-0f2f3a9c1d02")
	clientAddress = netip.MustParseAddr("203.0.113.9")
)

// recordingDirectory is an auth.Directory with one partner, key, session and token. It records the calls of its methods.
type recordingDirectory struct {
	lookups        []string
	partner        directory.Partner
	status         directory.OrgStatus
	role           directory.Role
	partnerMissing bool // the partner does not exist
}

func (d *recordingDirectory) record(lookup string) { d.lookups = append(d.lookups, lookup) }

// Authenticate implements auth.Directory.
func (d *recordingDirectory) Authenticate(org ledger.ID, key []byte) (*directory.APIKey, *directory.Partner, bool) {
	d.record("key")
	if org != ourOrg || string(key) != "mzk_good" {
		return nil, nil, false
	}
	return &directory.APIKey{}, &d.partner, true
}

// Session implements auth.Directory.
func (d *recordingDirectory) Session(org ledger.ID, token []byte, _ ledger.Micros) (*directory.Session, bool) {
	d.record("session")
	if org != ourOrg || string(token) != "mzs_good" {
		return nil, false
	}
	return &directory.Session{Roles: directory.Roles{d.role}, Partner: d.partner.Number}, true
}

// ConsoleSession implements auth.Directory.
func (d *recordingDirectory) ConsoleSession(org ledger.ID, token []byte, _ ledger.Micros) (*directory.Session, bool) {
	d.record("console session")
	if org != ourOrg || string(token) != "mzs_console" {
		return nil, false
	}
	return &directory.Session{Roles: directory.Roles{d.role}, Partner: d.partner.Number, Console: true}, true
}

// Partner implements auth.Directory.
func (d *recordingDirectory) Partner(org ledger.ID, number int64) (*directory.Partner, bool) {
	d.record("partner")
	return &d.partner, org == ourOrg && number == d.partner.Number && !d.partnerMissing
}

// AdminToken implements auth.Directory.
func (d *recordingDirectory) AdminToken(token []byte) bool {
	d.record("admin")
	return string(token) == "mza_good"
}

// Organization implements auth.Directory.
func (d *recordingDirectory) Organization(id ledger.ID) (*directory.Organization, bool) {
	d.record("organization")
	if id != ourOrg {
		return nil, false
	}
	return &directory.Organization{ID: id, Status: d.status}, true
}

func newAuthenticator() (*auth.Authenticator, *recordingDirectory) {
	d := &recordingDirectory{partner: directory.Partner{Number: 7, Active: true}, status: directory.Active, role: directory.Auditor}
	return &auth.Authenticator{Directory: d, Clock: clock.NewManual(time.Unix(0, 0))}, d
}

func codeOf(err error) ledger.Code {
	var r *ledger.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

func TestEveryUnauthorizedCaseTakesTheSameSteps(t *testing.T) {
	valid := auth.Credentials{APIKey: []byte("mzk_good"), Organization: []byte(ourOrg.String()), Source: clientAddress}
	noChange := func(*recordingDirectory) {}
	foreignRange := netip.MustParsePrefix("192.0.2.0/24")
	wantLookups := []string{"key", "organization"}
	for name, c := range map[string]struct {
		change func(*auth.Credentials)
		setUp  func(*recordingDirectory)
		want   ledger.Code
	}{
		"valid":                        {func(*auth.Credentials) {}, noChange, ""},
		"no key":                       {func(c *auth.Credentials) { c.APIKey = nil }, noChange, ledger.Unauthorized},
		"unknown key":                  {func(c *auth.Credentials) { c.APIKey = []byte("mzk_bad") }, noChange, ledger.Unauthorized},
		"no organization":              {func(c *auth.Credentials) { c.Organization = nil }, noChange, ledger.Unauthorized},
		"malformed organization":       {func(c *auth.Credentials) { c.Organization = []byte("x") }, noChange, ledger.Unauthorized},
		"other organization":           {func(c *auth.Credentials) { c.Organization = []byte(otherOrg.String()) }, noChange, ledger.Unauthorized},
		"organization in braces":       {func(c *auth.Credentials) { c.Organization = []byte("{" + ourOrg.String() + "}") }, noChange, ledger.Unauthorized},
		"inactive organization":        {func(*auth.Credentials) {}, func(d *recordingDirectory) { d.status = directory.Maintenance }, ledger.Unauthorized},
		"foreign address":              {func(*auth.Credentials) {}, func(d *recordingDirectory) { d.partner.Sources = []netip.Prefix{foreignRange} }, ledger.Unauthorized},
		"deactivated, foreign address": {func(*auth.Credentials) {}, func(d *recordingDirectory) { d.partner.Active, d.partner.Sources = false, []netip.Prefix{foreignRange} }, ledger.Unauthorized},
		"deactivated":                  {func(*auth.Credentials) {}, func(d *recordingDirectory) { d.partner.Active = false }, ledger.Forbidden},
	} {
		authenticator, d := newAuthenticator()
		credentials := valid
		c.change(&credentials)
		c.setUp(d)
		principal, err := authenticator.AuthenticatePartnerKey(&credentials)
		if codeOf(err) != c.want || (err == nil) != (principal.Partner != nil) || (err == nil) != (principal.Org == ourOrg) {
			t.Errorf("%s: %+v, %v", name, principal, err)
		}
		if !slices.Equal(d.lookups, wantLookups) {
			t.Errorf("%s: asked %v, want %v", name, d.lookups, wantLookups)
		}
	}
}

func TestBearerTokenIsReadFromTheHeader(t *testing.T) {
	type want struct{ admin, reader ledger.Code }
	for name, c := range map[string]struct {
		bearer, org string
		role        directory.Role
		status      directory.OrgStatus
		want        want
	}{
		"admin token":                     {"mza_good", ourOrg.String(), directory.Auditor, directory.Active, want{"", ledger.Forbidden}},
		"admin token, no organization":    {"mza_good", "", directory.Auditor, directory.Active, want{"", ledger.Forbidden}},
		"auditor":                         {"mzs_good", ourOrg.String(), directory.Auditor, directory.Active, want{ledger.Forbidden, ""}},
		"session admin":                   {"mzs_good", ourOrg.String(), directory.Admin, directory.Active, want{ledger.Forbidden, ""}},
		"client":                          {"mzs_good", ourOrg.String(), directory.Client, directory.Active, want{ledger.Forbidden, ledger.Forbidden}},
		"partner's session":               {"mzs_good", ourOrg.String(), directory.PartnerRole, directory.Active, want{ledger.Forbidden, ""}},
		"session of another organization": {"mzs_good", otherOrg.String(), directory.Auditor, directory.Active, want{ledger.Unauthorized, ledger.Unauthorized}},
		"session, no organization":        {"mzs_good", "", directory.Auditor, directory.Active, want{ledger.Unauthorized, ledger.Unauthorized}},
		"session, archived":               {"mzs_good", ourOrg.String(), directory.Auditor, directory.Archived, want{ledger.Unauthorized, ledger.Unauthorized}},
		"unknown":                         {"mzs_bad", ourOrg.String(), directory.Auditor, directory.Active, want{ledger.Unauthorized, ledger.Unauthorized}},
		"partner's key as a bearer":       {"mzk_good", ourOrg.String(), directory.Auditor, directory.Active, want{ledger.Unauthorized, ledger.Unauthorized}},
	} {
		authenticator, d := newAuthenticator()
		d.role, d.status = c.role, c.status
		credentials := auth.Credentials{Bearer: []byte(c.bearer), Organization: []byte(c.org), APIKey: []byte("mzk_good"), Source: clientAddress}
		if err := authenticator.AuthenticateAdmin(&credentials); codeOf(err) != c.want.admin {
			t.Errorf("%s as admin: %v", name, err)
		}
		principal, err := authenticator.AuthenticateLedgerReader(&credentials, directory.Admin, directory.Auditor)
		if codeOf(err) != c.want.reader || (err == nil) != (principal.Session != nil) || (principal.Partner != nil) != (err == nil && c.role == directory.PartnerRole) {
			t.Errorf("%s as reader: %+v %v", name, principal, err)
		}
	}
}

func TestLedgerReadWithoutBearerUsesThePartnerKey(t *testing.T) {
	authenticator, _ := newAuthenticator()
	principal, err := authenticator.AuthenticateLedgerReader(&auth.Credentials{APIKey: []byte("mzk_good"), Organization: []byte(ourOrg.String()), Source: clientAddress}, directory.Auditor)
	if err != nil || principal.Partner == nil || principal.Session != nil {
		t.Errorf("%+v %v", principal, err)
	}
}

func TestPartnerSeesItsOwnAccounts(t *testing.T) {
	partner := auth.Principal{Partner: &directory.Partner{Number: 1}}
	person := auth.Principal{Session: &directory.Session{}}
	for path, want := range map[ledger.Path]bool{
		"L:partner:1:available": true, "A:partner:1:receivable": true, "L:suspense:1": true,
		"L:partner:12:available": false, "A:partner:12:receivable": false, "L:suspense:12": false, "L:suspense:1:x": false,
		"L:partner:1": false, "A:bank": false, "I:fees": false, "": false, "Q:partner:1:available": false,
	} {
		if got := partner.MayRead(path); got != want {
			t.Errorf("partner 1 sees %q: %v", path, got)
		}
		if !person.MayRead(path) {
			t.Errorf("an auditor does not see %q", path)
		}
	}
}

func TestRefusalsHoldNoCredential(t *testing.T) {
	authenticator, _ := newAuthenticator()
	_, err := authenticator.AuthenticatePartnerKey(&auth.Credentials{APIKey: []byte("CANARY"), Organization: []byte("CANARY"), Bearer: []byte("CANARY")})
	if text := fmt.Sprintf("%v %+v", err, err); err == nil || text != "auth: unauthorized: unauthorized auth: unauthorized: unauthorized" {
		t.Errorf("%s", text)
	}
}
