package auth_test

import (
	"net/netip"
	"testing"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// The table has the refusal that each kind of caller gets from each kind of route.
func TestEachCallerIsAdmittedToItsRoutesOnly(t *testing.T) {
	const admitted, forbidden, unauthorized ledger.Code = "", ledger.Forbidden, ledger.Unauthorized
	// want has the refusals by AuthenticatePartnerKey, by AuthenticatePartnerKeyOrSession, by AuthenticateLedgerReader, and by
	// AuthenticateSession for the roles admin and client.
	type want struct{ partner, partnerReads, ledger, session ledger.Code }
	callers := []struct {
		name        string
		key, bearer string
		role        directory.Role
		want        want
	}{
		{"nobody", "", "", directory.Admin, want{unauthorized, unauthorized, unauthorized, unauthorized}},
		{"a partner's key", "mzk_good", "", directory.Admin, want{admitted, admitted, admitted, forbidden}},
		{"an unknown key", "mzk_bad", "", directory.Admin, want{unauthorized, unauthorized, unauthorized, unauthorized}},
		{"the administration token", "", "mza_good", directory.Admin, want{unauthorized, unauthorized, forbidden, forbidden}},
		{"an unknown token", "", "mzs_bad", directory.Admin, want{unauthorized, unauthorized, unauthorized, unauthorized}},
		{"a session of role admin", "", "mzs_good", directory.Admin, want{forbidden, forbidden, admitted, admitted}},
		{"a session of role auditor", "", "mzs_good", directory.Auditor, want{forbidden, forbidden, admitted, forbidden}},
		{"a session of role client", "", "mzs_good", directory.Client, want{forbidden, forbidden, forbidden, admitted}},
		{"a session of role partner", "", "mzs_good", directory.PartnerRole, want{forbidden, admitted, admitted, forbidden}},
		{"an unknown key and a session", "mzk_bad", "mzs_good", directory.PartnerRole, want{unauthorized, unauthorized, admitted, forbidden}},
		{"a key and an unknown token", "mzk_good", "mzs_bad", directory.PartnerRole, want{admitted, admitted, unauthorized, unauthorized}},
	}
	for _, c := range callers {
		check := func(route string, authenticate func(*auth.Authenticator, *auth.Credentials) (auth.Principal, error), want ledger.Code, wantPartner bool) {
			t.Helper()
			authenticator, d := newAuthenticator()
			d.role = c.role
			principal, err := authenticate(authenticator, &auth.Credentials{APIKey: []byte(c.key), Bearer: []byte(c.bearer), Organization: []byte(ourOrg.String()), Source: clientAddress})
			if codeOf(err) != want || (err == nil) != (principal.Org == ourOrg) || err == nil && wantPartner != (principal.Partner != nil) {
				t.Errorf("%s at %s: %+v %v, want %q", c.name, route, principal, err, want)
			}
		}
		actsAsPartner := c.key == "mzk_good" || c.role == directory.PartnerRole
		check("a partner's route", (*auth.Authenticator).AuthenticatePartnerKey, c.want.partner, true)
		check("a partner's reading", (*auth.Authenticator).AuthenticatePartnerKeyOrSession, c.want.partnerReads, true)
		check("the ledger", func(a *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
			return a.AuthenticateLedgerReader(c, directory.Admin, directory.Auditor)
		}, c.want.ledger, actsAsPartner)
		check("a person's route", func(a *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
			return a.AuthenticateSession(c, directory.Admin, directory.Client)
		}, c.want.session, false)
	}
}

func TestPartnerSessionIsRefusedInTheSameCasesAsItsKey(t *testing.T) {
	allRoles := []directory.Role{directory.Admin, directory.Auditor, directory.Client, directory.PartnerRole}
	for name, c := range map[string]struct {
		change func(*recordingDirectory)
		want   ledger.Code
	}{
		"valid": {func(*recordingDirectory) {}, ""},
		"deactivated and from a foreign address": {func(d *recordingDirectory) {
			d.partner.Active, d.partner.Sources = false, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}, ledger.Unauthorized},
		"deactivated":            {func(d *recordingDirectory) { d.partner.Active = false }, ledger.Forbidden},
		"from a foreign address": {func(d *recordingDirectory) { d.partner.Sources = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }, ledger.Unauthorized},
		"of no partner":          {func(d *recordingDirectory) { d.partner.Number = 0; d.partnerMissing = true }, ledger.Unauthorized},
	} {
		for route, authenticate := range map[string]func(*auth.Authenticator, *auth.Credentials) (auth.Principal, error){
			"a partner's reading": (*auth.Authenticator).AuthenticatePartnerKeyOrSession,
			"the ledger": func(a *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
				return a.AuthenticateLedgerReader(c, directory.Auditor)
			},
			"anybody's route": func(a *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
				return a.AuthenticateSession(c, allRoles...)
			},
		} {
			authenticator, d := newAuthenticator()
			d.role = directory.PartnerRole
			c.change(d)
			if _, err := authenticate(authenticator, &auth.Credentials{Bearer: []byte("mzs_good"), Organization: []byte(ourOrg.String()), Source: clientAddress}); codeOf(err) != c.want {
				t.Errorf("%s at %s: %v, want %q", name, route, err, c.want)
			}
		}
	}
}

// A session of a deactivated partner may be ended, but only from one of the partner's addresses.
func TestDeactivatedPartnerCanLogOut(t *testing.T) {
	foreignRange := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for name, c := range map[string]struct {
		change func(*recordingDirectory)
		bearer string
		want   ledger.Code
	}{
		"valid":                                  {func(*recordingDirectory) {}, "mzs_good", ""},
		"deactivated":                            {func(d *recordingDirectory) { d.partner.Active = false }, "mzs_good", ""},
		"from a foreign address":                 {func(d *recordingDirectory) { d.partner.Sources = foreignRange }, "mzs_good", ledger.Unauthorized},
		"deactivated and from a foreign address": {func(d *recordingDirectory) { d.partner.Active, d.partner.Sources = false, foreignRange }, "mzs_good", ledger.Unauthorized},
		"of no partner":                          {func(d *recordingDirectory) { d.partner.Number = 0; d.partnerMissing = true }, "mzs_good", ledger.Unauthorized},
		"an unknown session":                     {func(*recordingDirectory) {}, "mzs_bad", ledger.Unauthorized},
		"the administration token":               {func(*recordingDirectory) {}, "mza_good", ledger.Forbidden},
	} {
		authenticator, d := newAuthenticator()
		d.role = directory.PartnerRole
		c.change(d)
		principal, err := authenticator.AuthenticateSessionToEnd(&auth.Credentials{Bearer: []byte(c.bearer), Organization: []byte(ourOrg.String()), Source: clientAddress}, directory.PartnerRole)
		if codeOf(err) != c.want || (err == nil) != (principal.Session != nil) {
			t.Errorf("%s: %+v %v, want %q", name, principal, err, c.want)
		}
	}
	authenticator, d := newAuthenticator()
	d.role = directory.Auditor
	if _, err := authenticator.AuthenticateSessionToEnd(&auth.Credentials{Bearer: []byte("mzs_good"), Organization: []byte(ourOrg.String()), Source: clientAddress}, directory.Client); codeOf(err) != ledger.Forbidden {
		t.Errorf("a role without the right: %v", err)
	}
}

func TestOrganizationIDHasOneForm(t *testing.T) {
	if auth.Organization([]byte(ourOrg.String())) != ourOrg {
		t.Error("the usual form is no one's")
	}
	for _, text := range []string{"", "x", "{" + ourOrg.String() + "}", "urn:uuid:" + ourOrg.String(), ourOrg.String()[:35]} {
		if auth.Organization([]byte(text)) != (ledger.ID{}) {
			t.Errorf("%q is somebody's", text)
		}
	}
}
