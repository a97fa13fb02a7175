package auth_test

import (
	"net/netip"
	"testing"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// The table has the refusal of each kind of caller on each kind of route with sessions. It is
// written by hand.
func TestEachCallerIsAdmittedToItsRoutesOnly(t *testing.T) {
	const admitted, forbidden, unauthorized ledger.Code = "", ledger.Forbidden, ledger.Unauthorized
	// want has the refusals by PartnerKey, by PartnerKeyOrSession, by LedgerReader, and by Session
	// for the roles admin and client.
	type want struct{ partner, partnerReads, ledger, session ledger.Code }
	everybody := []struct {
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
	for _, c := range everybody {
		ask := func(caller string, enter func(*auth.Authenticator, *auth.Credentials) (auth.Principal, error), want ledger.Code, acts bool) {
			t.Helper()
			g, p := newAuthenticator()
			p.role = c.role
			who, err := enter(g, &auth.Credentials{APIKey: []byte(c.key), Bearer: []byte(c.bearer), Organization: []byte(ourOrg.String()), Source: clientAddress})
			if code(err) != want || (err == nil) != (who.Org == ourOrg) || err == nil && acts != (who.Partner != nil) {
				t.Errorf("%s at %s: %+v %v, want %q", c.name, caller, who, err, want)
			}
		}
		partners := c.key == "mzk_good" || c.role == directory.PartnerRole
		ask("a partner's route", (*auth.Authenticator).PartnerKey, c.want.partner, true)
		ask("a partner's reading", (*auth.Authenticator).PartnerKeyOrSession, c.want.partnerReads, true)
		ask("the ledger", func(g *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
			return g.LedgerReader(c, directory.Admin, directory.Auditor)
		}, c.want.ledger, partners)
		ask("a person's route", func(g *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
			return g.Session(c, directory.Admin, directory.Client)
		}, c.want.session, false)
	}
}

// A session that acts as a partner is refused in the same cases as the partner's key.
func TestPartnerSessionIsRefusedInTheSameCasesAsItsKey(t *testing.T) {
	allRoles := []directory.Role{directory.Admin, directory.Auditor, directory.Client, directory.PartnerRole}
	for name, c := range map[string]struct {
		change func(*recordingDirectory)
		want   ledger.Code
	}{
		"as it is": {func(*recordingDirectory) {}, ""},
		"deactivated and from a foreign address": {func(p *recordingDirectory) {
			p.partner.Active, p.partner.Sources = false, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}, ledger.Unauthorized},
		"deactivated":            {func(p *recordingDirectory) { p.partner.Active = false }, ledger.Forbidden},
		"from a foreign address": {func(p *recordingDirectory) { p.partner.Sources = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }, ledger.Unauthorized},
		"of no partner":          {func(p *recordingDirectory) { p.partner.Number = 0; p.partnerMissing = true }, ledger.Unauthorized},
	} {
		for caller, enter := range map[string]func(*auth.Authenticator, *auth.Credentials) (auth.Principal, error){
			"a partner's reading": (*auth.Authenticator).PartnerKeyOrSession,
			"the ledger": func(g *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
				return g.LedgerReader(c, directory.Auditor)
			},
			"anybody's route": func(g *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
				return g.Session(c, allRoles...)
			},
		} {
			g, p := newAuthenticator()
			p.role = directory.PartnerRole
			c.change(p)
			if _, err := enter(g, &auth.Credentials{Bearer: []byte("mzs_good"), Organization: []byte(ourOrg.String()), Source: clientAddress}); code(err) != c.want {
				t.Errorf("%s at %s: %v, want %q", name, caller, err, c.want)
			}
		}
	}
}

// A session of a deactivated partner may be ended, but not from an address that is not the
// partner's.
func TestDeactivatedPartnerCanLogOut(t *testing.T) {
	foreignRange := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for name, c := range map[string]struct {
		change func(*recordingDirectory)
		bearer string
		want   ledger.Code
	}{
		"as it is":                               {func(*recordingDirectory) {}, "mzs_good", ""},
		"deactivated":                            {func(p *recordingDirectory) { p.partner.Active = false }, "mzs_good", ""},
		"from a foreign address":                 {func(p *recordingDirectory) { p.partner.Sources = foreignRange }, "mzs_good", ledger.Unauthorized},
		"deactivated and from a foreign address": {func(p *recordingDirectory) { p.partner.Active, p.partner.Sources = false, foreignRange }, "mzs_good", ledger.Unauthorized},
		"of no partner":                          {func(p *recordingDirectory) { p.partner.Number = 0; p.partnerMissing = true }, "mzs_good", ledger.Unauthorized},
		"a session that is over":                 {func(*recordingDirectory) {}, "mzs_bad", ledger.Unauthorized},
		"the administration token":               {func(*recordingDirectory) {}, "mza_good", ledger.Forbidden},
	} {
		g, p := newAuthenticator()
		p.role = directory.PartnerRole
		c.change(p)
		who, err := g.SessionToEnd(&auth.Credentials{Bearer: []byte(c.bearer), Organization: []byte(ourOrg.String()), Source: clientAddress}, directory.PartnerRole)
		if code(err) != c.want || (err == nil) != (who.Session != nil) {
			t.Errorf("%s: %+v %v, want %q", name, who, err, c.want)
		}
	}
	g, p := newAuthenticator()
	p.role = directory.Auditor
	if _, err := g.SessionToEnd(&auth.Credentials{Bearer: []byte("mzs_good"), Organization: []byte(ourOrg.String()), Source: clientAddress}, directory.Client); code(err) != ledger.Forbidden {
		t.Errorf("a role that may not: %v", err)
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
