package auth_test

import (
	"net/netip"
	"testing"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Written by hand: the response to each kind of caller on each kind of route with sessions.
// Empty: admitted.
func TestEachCallerIsAdmittedToItsRoutesOnly(t *testing.T) {
	const in, no, not ledger.Code = "", ledger.Forbidden, ledger.Unauthorized
	type want struct{ partner, holder, reader, session ledger.Code } // session: a session of role admin or client
	everybody := []struct {
		name        string
		key, bearer string
		role        directory.Role
		want        want
	}{
		{"nobody", "", "", directory.Admin, want{not, not, not, not}},
		{"a partner's key", "mzk_good", "", directory.Admin, want{in, in, in, no}},
		{"an unknown key", "mzk_bad", "", directory.Admin, want{not, not, not, not}},
		{"the administration token", "", "mza_good", directory.Admin, want{not, not, no, no}},
		{"an unknown token", "", "mzs_bad", directory.Admin, want{not, not, not, not}},
		{"a session of role admin", "", "mzs_good", directory.Admin, want{no, no, in, in}},
		{"a session of role auditor", "", "mzs_good", directory.Auditor, want{no, no, in, no}},
		{"a session of role client", "", "mzs_good", directory.Client, want{no, no, no, in}},
		{"a session of role partner", "", "mzs_good", directory.PartnerRole, want{no, in, in, no}},
		{"an unknown key and a session", "mzk_bad", "mzs_good", directory.PartnerRole, want{not, not, in, no}},
		{"a key and an unknown token", "mzk_good", "mzs_bad", directory.PartnerRole, want{in, in, not, not}},
	}
	for _, c := range everybody {
		ask := func(as string, enter func(*auth.Authenticator, *auth.Credentials) (auth.Principal, error), want ledger.Code, acts bool) {
			t.Helper()
			g, p := newAuthenticator()
			p.role = c.role
			who, err := enter(g, &auth.Credentials{APIKey: []byte(c.key), Bearer: []byte(c.bearer), Organization: []byte(here.String()), Source: from})
			if code(err) != want || (err == nil) != (who.Org == here) || err == nil && acts != (who.Partner != nil) {
				t.Errorf("%s at %s: %+v %v, want %q", c.name, as, who, err, want)
			}
		}
		partners := c.key == "mzk_good" || c.role == directory.PartnerRole
		ask("a partner's route", (*auth.Authenticator).PartnerKey, c.want.partner, true)
		ask("a partner's reading", (*auth.Authenticator).PartnerKeyOrSession, c.want.holder, true)
		ask("the ledger", func(g *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
			return g.LedgerReader(c, directory.Admin, directory.Auditor)
		}, c.want.reader, partners)
		ask("a person's route", func(g *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
			return g.Session(c, directory.Admin, directory.Client)
		}, c.want.session, false)
	}
}

// A session that acts as a partner is refused in the same cases as the partner's key.
func TestPartnerSessionIsRefusedInTheSameCasesAsItsKey(t *testing.T) {
	every := []directory.Role{directory.Admin, directory.Auditor, directory.Client, directory.PartnerRole}
	for name, c := range map[string]struct {
		change func(*recordingDirectory)
		want   ledger.Code
	}{
		"as it is": {func(*recordingDirectory) {}, ""},
		"deactivated and from nowhere": {func(p *recordingDirectory) {
			p.partner.Active, p.partner.Sources = false, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}, ledger.Unauthorized},
		"deactivated":   {func(p *recordingDirectory) { p.partner.Active = false }, ledger.Forbidden},
		"from nowhere":  {func(p *recordingDirectory) { p.partner.Sources = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }, ledger.Unauthorized},
		"of no partner": {func(p *recordingDirectory) { p.partner.Number = 0; p.partnerMissing = true }, ledger.Unauthorized},
	} {
		for as, enter := range map[string]func(*auth.Authenticator, *auth.Credentials) (auth.Principal, error){
			"a partner's reading": (*auth.Authenticator).PartnerKeyOrSession,
			"the ledger": func(g *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
				return g.LedgerReader(c, directory.Auditor)
			},
			"anybody's route": func(g *auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
				return g.Session(c, every...)
			},
		} {
			g, p := newAuthenticator()
			p.role = directory.PartnerRole
			c.change(p)
			if _, err := enter(g, &auth.Credentials{Bearer: []byte("mzs_good"), Organization: []byte(here.String()), Source: from}); code(err) != c.want {
				t.Errorf("%s at %s: %v, want %q", name, as, err, c.want)
			}
		}
	}
}

// A session of a deactivated partner may be ended, but not from an address that is not the
// partner's.
func TestDeactivatedPartnerCanLogOut(t *testing.T) {
	elsewhere := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for name, c := range map[string]struct {
		change func(*recordingDirectory)
		bearer string
		want   ledger.Code
	}{
		"as it is":                     {func(*recordingDirectory) {}, "mzs_good", ""},
		"deactivated":                  {func(p *recordingDirectory) { p.partner.Active = false }, "mzs_good", ""},
		"from nowhere":                 {func(p *recordingDirectory) { p.partner.Sources = elsewhere }, "mzs_good", ledger.Unauthorized},
		"deactivated and from nowhere": {func(p *recordingDirectory) { p.partner.Active, p.partner.Sources = false, elsewhere }, "mzs_good", ledger.Unauthorized},
		"of no partner":                {func(p *recordingDirectory) { p.partner.Number = 0; p.partnerMissing = true }, "mzs_good", ledger.Unauthorized},
		"a session that is over":       {func(*recordingDirectory) {}, "mzs_bad", ledger.Unauthorized},
		"the administration token":     {func(*recordingDirectory) {}, "mza_good", ledger.Forbidden},
	} {
		g, p := newAuthenticator()
		p.role = directory.PartnerRole
		c.change(p)
		who, err := g.SessionToEnd(&auth.Credentials{Bearer: []byte(c.bearer), Organization: []byte(here.String()), Source: from}, directory.PartnerRole)
		if code(err) != c.want || (err == nil) != (who.Session != nil) {
			t.Errorf("%s: %+v %v, want %q", name, who, err, c.want)
		}
	}
	g, p := newAuthenticator()
	p.role = directory.Auditor
	if _, err := g.SessionToEnd(&auth.Credentials{Bearer: []byte("mzs_good"), Organization: []byte(here.String()), Source: from}, directory.Client); code(err) != ledger.Forbidden {
		t.Errorf("a role that may not: %v", err)
	}
}

func TestOrganizationIDHasOneForm(t *testing.T) {
	if auth.Organization([]byte(here.String())) != here {
		t.Error("the usual form is no one's")
	}
	for _, text := range []string{"", "x", "{" + here.String() + "}", "urn:uuid:" + here.String(), here.String()[:35]} {
		if auth.Organization([]byte(text)) != (ledger.ID{}) {
			t.Errorf("%q is somebody's", text)
		}
	}
}
