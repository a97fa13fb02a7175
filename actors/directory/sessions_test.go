package directory

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

const goodPass = "nine-Lions-paint"

var usualAddress = netip.MustParseAddr("203.0.113.9")

func (f *fixture) newUser(org ledger.ID, login string, roles ...directory.Role) *directory.User {
	f.t.Helper()
	d := directory.User{Login: login, Name: login, Roles: roles, Active: true}
	return must(f.CreateUser(f.t.Context(), org, d, []byte(goodPass)))
}

func (f *fixture) logIn(org ledger.ID, login, pass string) (*directory.Session, []byte, error) {
	n, token, err := f.LogIn(f.t.Context(), Login{Org: org, Login: login, Pass: []byte(pass), Source: usualAddress})
	return n, []byte(token), err
}

// Logins succeed even while very many passwords are being set.
func TestUsersCanLogInDuringAFloodOfNewPasswords(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	f.newUser(org.ID, "anna", "client")
	for range maxHashing {
		f.passwords.settingGate.inside <- struct{}{}
	}
	for range maxHashing + maxHashWaiting {
		f.passwords.settingGate.insideOrWaiting <- struct{}{}
	}
	if _, err := f.CreateUser(t.Context(), org.ID, directory.User{Login: "boris", Name: "boris", Roles: directory.Roles{"client"}, Active: true}, []byte(goodPass)); !errors.Is(err, actors.ErrBusy) {
		t.Errorf("one password too many: %v", err)
	}
	f.mustLogIn(org.ID, "anna", goodPass)
}

// mustLogIn logs in and fails the test if that fails.
func (f *fixture) mustLogIn(org ledger.ID, login, pass string) []byte {
	f.t.Helper()
	_, token, err := f.logIn(org, login, pass)
	if err != nil {
		f.t.Fatalf("%s: %v", login, err)
	}
	return token
}

// wantLive checks whether the token's session is in force, without recording a use.
func (f *fixture) wantLive(what string, org ledger.ID, token []byte, want bool) {
	f.t.Helper()
	if _, live := f.SessionInForce(org, token); live != want {
		f.t.Errorf("%s: live %v, want %v", what, live, want)
	}
}

// use sends the token as a request does, and tells whether the token is accepted.
func (f *fixture) use(org ledger.ID, token []byte) bool {
	_, live := f.Session(org, token, ledger.MicrosOf(f.Clock.Now()))
	return live
}

func (f *fixture) advance(d time.Duration) {
	f.t.Helper()
	if err := f.Clock.Set(f.Clock.Now().Add(d)); err != nil {
		f.t.Fatal(err)
	}
}

func TestWhoLogsIn(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	org, otherOrg := f.newOrganization("One"), f.newOrganization("Two")
	p := f.newPartner(org.ID, "shop")
	u := f.newUser(org.ID, "anna", "client", "auditor")
	n, token, err := f.logIn(org.ID, "anna", goodPass)
	if err != nil || n.User != u.ID || !slices.Equal(n.Roles, directory.Roles{directory.Auditor, directory.Client}) || n.Partner != 0 ||
		n.ExpiresAt != ledger.MicrosOf(startTime.Add(12*time.Hour)) || string(token[:4]) != "mzs_" {
		t.Fatalf("%+v %v", n, err)
	}
	f.wantLive("a user's session", org.ID, token, true)
	f.wantLive("elsewhere", otherOrg.ID, token, false)
	n, token, err = f.logIn(org.ID, "shop", goodPass)
	if err != nil || n.Partner != p.Number || n.User != (ledger.ID{}) || !slices.Equal(n.Roles, directory.Roles{directory.PartnerRole}) {
		t.Fatalf("%+v %v", n, err)
	}
	f.wantLive("a partner's session", org.ID, token, true)
	f.restart()
	f.wantLive("a partner's session after a restart", org.ID, token, true)

	inactive, maintenance := false, directory.Maintenance
	deactivatedUser := f.newUser(org.ID, "gone", "admin")
	must(f.PatchUser(ctx, org.ID, deactivatedUser.ID, func(r *directory.User, _ *schema.Faults) { r.Active = inactive }, nil))
	inactiveOrg := f.newOrganization("Idle")
	f.newUser(inactiveOrg.ID, "anna", "admin")
	must(f.PatchOrganization(ctx, inactiveOrg.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = maintenance }))
	distantPartner := f.newPartner(org.ID, "far")
	must(f.PatchPartner(ctx, org.ID, distantPartner.Number, func(r *directory.Partner, _ *schema.Faults) { r.Sources = sources("192.0.2.0/24") }))
	passlessNumber := must(f.AddMerchants(ctx, org.ID, MerchantsDraft{Partners: 1}))[0].Number
	passlessPartner, _ := f.Partner(org.ID, passlessNumber)
	for what, c := range map[string]struct {
		orgID       ledger.ID
		login, pass string
	}{
		"an unknown login":               {org.ID, "nobody", goodPass},
		"no login":                       {org.ID, "", goodPass},
		"a login in another case":        {org.ID, "Anna", goodPass},
		"a wrong password":               {org.ID, "anna", goodPass + "x"},
		"no password":                    {org.ID, "anna", ""},
		"a partner's wrong password":     {org.ID, "shop", "Pass"},
		"a partner without a password":   {org.ID, passlessPartner.Login, ""},
		"a partner from another address": {org.ID, "far", goodPass},
		"a deactivated user":             {org.ID, "gone", goodPass},
		"another organization":           {otherOrg.ID, "anna", goodPass},
		"an inactive organization":       {inactiveOrg.ID, "anna", goodPass},
		"an unknown organization":        {uuid.New(), "anna", goodPass},
		"no organization":                {ledger.ID{}, "anna", goodPass},
		"the platform's own record":      {directory.PlatformOrg, "demo", "demo"},
	} {
		_, _, err := f.logIn(c.orgID, c.login, c.pass)
		wantCode(t, what, err, ledger.Unauthorized, "")
		// No response is given before a password has been hashed, so the time of the response reveals
		// nothing.
		leave := f.takePlaces()
		f.lockout = newLockout()
		_, _, err = f.LogIn(canceledContext(t), Login{Org: c.orgID, Login: c.login, Pass: []byte(c.pass), Source: usualAddress})
		wantCode(t, what+" without a hash", err, ledger.Unavailable, "")
		leave()
	}
}

func TestDeactivatedPartnerIsForbiddenOnlyWithItsPassword(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	p := f.newPartner(org.ID, "shop")
	inactive := false
	staff := must(f.CreateUser(t.Context(), org.ID, directory.User{Login: "staff", Name: "C", Roles: directory.Roles{"partner"}, Partner: p.Number, Active: true}, []byte(goodPass)))
	partnerToken, staffToken := f.mustLogIn(org.ID, "shop", goodPass), f.mustLogIn(org.ID, "staff", goodPass)
	must(f.PatchPartner(t.Context(), org.ID, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Active = inactive }))
	for login, pass := range map[string]string{"shop": goodPass, staff.Login: goodPass} {
		_, _, err := f.logIn(org.ID, login, pass)
		wantCode(t, "the right password of "+login, err, ledger.Forbidden, "")
		_, _, err = f.logIn(org.ID, login, "wrong")
		wantCode(t, "a wrong password of "+login, err, ledger.Unauthorized, "")
	}
	f.wantLive("a deactivated partner's session, which is for the caller to refuse with 403", org.ID, partnerToken, true)
	f.wantLive("a session of a user who acts for the deactivated partner", org.ID, staffToken, true)
}

func TestSessionEndsAfter12HoursOr30IdleMinutes(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	f.newUser(org.ID, "anna", "client")
	usedToken, restingToken := f.mustLogIn(org.ID, "anna", goodPass), f.mustLogIn(org.ID, "anna", goodPass)
	f.advance(30*time.Minute - time.Second)
	f.wantLive("half an hour less a second", org.ID, restingToken, true)
	if !f.use(org.ID, usedToken) {
		t.Fatal("over before its time")
	}
	f.advance(time.Second)
	f.wantLive("after half an hour of rest", org.ID, restingToken, false)
	if f.use(org.ID, restingToken) {
		t.Error("a session that was idle too long is accepted")
	}
	f.wantLive("a use keeps a session alive", org.ID, usedToken, true)
	for f.Clock.Now().Before(startTime.Add(12*time.Hour - 20*time.Minute)) {
		f.advance(20 * time.Minute)
		if !f.use(org.ID, usedToken) {
			t.Fatalf("over at %v", f.Clock.Now().Sub(startTime))
		}
	}
	f.advance(startTime.Add(12*time.Hour - time.Microsecond).Sub(f.Clock.Now()))
	if !f.use(org.ID, usedToken) {
		t.Error("over before 12 hours")
	}
	f.advance(time.Microsecond)
	if f.use(org.ID, usedToken) {
		t.Error("a session outlived 12 hours")
	}
}

func TestIdleTimeSurvivesARestart(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	f.newUser(org.ID, "anna", "client")
	usedToken, restingToken := f.mustLogIn(org.ID, "anna", goodPass), f.mustLogIn(org.ID, "anna", goodPass)
	f.advance(20 * time.Minute)
	if !f.use(org.ID, usedToken) {
		t.Fatal("over before its time")
	}
	f.Runtime.Quiesce() // waits for the write of the use
	f.restart()
	f.advance(10 * time.Minute)
	f.wantLive("not used for 30 minutes", org.ID, restingToken, false)
	f.wantLive("used 10 minutes ago", org.ID, usedToken, true)
	f.restart()
	f.wantLive("used 10 minutes ago, after another restart", org.ID, usedToken, true)
	f.advance(20 * time.Minute)
	f.wantLive("used 30 minutes ago", org.ID, usedToken, false)
}

func TestLoggingOutEndsOneSessionAtOnce(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	f.newUser(org.ID, "anna", "client")
	otherToken := f.mustLogIn(org.ID, "anna", goodPass)
	for range 20 {
		n, token, err := f.logIn(org.ID, "anna", goodPass)
		if err != nil {
			t.Fatal(err)
		}
		found, _ := f.Session(org.ID, token, ledger.MicrosOf(f.Clock.Now()))
		if err := f.LogOut(t.Context(), found); err != nil {
			t.Fatal(err)
		}
		f.wantLive("logged out", org.ID, token, false)
		if err := f.LogOut(t.Context(), n); err != nil {
			t.Errorf("a second time: %v", err)
		}
	}
	f.wantLive("another session", org.ID, otherToken, true)
	revoked := 0
	for _, event := range f.events(org.ID) {
		if event == "s:revoke" {
			revoked++
		}
	}
	if revoked != 20 {
		t.Errorf("%d revocations in the journal, want 20", revoked)
	}
	f.restart()
	f.wantLive("another session after a restart", org.ID, otherToken, true)
}

func TestWhatEndsSessionsAtOnce(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	org := f.newOrganization("One")
	shop, till := f.newPartner(org.ID, "shop"), f.newPartner(org.ID, "till")
	active, inactive, name := true, false, "Other"
	roles, otherNumber := directory.Roles{directory.Auditor}, till.Number
	for what, c := range map[string]struct {
		patch    schema.Change[directory.User]
		pass     string
		endsThem bool
	}{
		"a new name":                   {func(r *directory.User, _ *schema.Faults) { r.Name = name }, "", false},
		"activation of an active user": {func(r *directory.User, _ *schema.Faults) { r.Active = active }, "", false},
		"a new password":               {func(_ *directory.User, _ *schema.Faults) {}, goodPass + " again", true},
		"other roles":                  {func(r *directory.User, _ *schema.Faults) { r.Roles = roles }, "", true},
		"another partner":              {func(r *directory.User, _ *schema.Faults) { r.Partner = otherNumber }, "", true},
		"deactivation":                 {func(r *directory.User, _ *schema.Faults) { r.Active = inactive }, "", true},
		"deactivation of another user": {func(r *directory.User, _ *schema.Faults) { r.Active = inactive }, "", true},
	} {
		u := must(f.CreateUser(ctx, org.ID, directory.User{Login: uuid.NewString(), Name: "U", Roles: directory.Roles{"partner"}, Partner: shop.Number, Active: true}, []byte(goodPass)))
		firstToken, secondToken := f.mustLogIn(org.ID, u.Login, goodPass), f.mustLogIn(org.ID, u.Login, goodPass)
		var pass []byte
		if c.pass != "" {
			pass = []byte(c.pass)
		}
		must(f.PatchUser(ctx, org.ID, u.ID, c.patch, pass))
		f.wantLive(what, org.ID, firstToken, !c.endsThem)
		f.wantLive(what, org.ID, secondToken, !c.endsThem)
		must(f.PatchUser(ctx, org.ID, u.ID, func(r *directory.User, _ *schema.Faults) { r.Active = active }, nil))
		f.wantLive(what+", and activated", org.ID, firstToken, !c.endsThem)
	}
	token := f.mustLogIn(org.ID, "shop", goodPass)
	must(f.PatchPartner(ctx, org.ID, shop.Number, func(r *directory.Partner, _ *schema.Faults) { r.Name = name }))
	f.wantLive("after a change of the partner's name", org.ID, token, true)
	must(f.PatchPartnerPass(ctx, org.ID, shop.Number, func(_ *directory.Partner, _ *schema.Faults) {}, []byte("another-Lion-paints-9")))
	f.wantLive("after a change of the partner's password", org.ID, token, false)
	f.mustLogIn(org.ID, "shop", "another-Lion-paints-9")
	f.restart()
	f.wantLive("after a change of the partner's password and a restart", org.ID, token, false)
	_, _, err := f.logIn(org.ID, "shop", goodPass)
	wantCode(t, "the old password", err, ledger.Unauthorized, "")
}

func TestSessionsOfOnePersonAreBounded(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	f.newUser(org.ID, "anna", "client")
	f.newUser(org.ID, "boris", "client")
	borissToken := f.mustLogIn(org.ID, "boris", goodPass)
	var annasTokens [][]byte
	for range MaxSessions {
		annasTokens = append(annasTokens, f.mustLogIn(org.ID, "anna", goodPass))
	}
	f.wantLive("the first of the maximum of sessions", org.ID, annasTokens[0], true)
	annasTokens = append(annasTokens, f.mustLogIn(org.ID, "anna", goodPass))
	f.wantLive("the first, after one session more", org.ID, annasTokens[0], false)
	f.wantLive("the second, after one session more", org.ID, annasTokens[1], true)
	f.wantLive("the last one", org.ID, annasTokens[MaxSessions], true)
	f.wantLive("a session of another user", org.ID, borissToken, true)
	f.restart()
	f.wantLive("the first, after one session more and a restart", org.ID, annasTokens[0], false)
	f.wantLive("the second, after one session more and a restart", org.ID, annasTokens[1], true)
	// Sessions that are over do not count towards the bound and do not stay in memory.
	f.advance(31 * time.Minute)
	f.mustLogIn(org.ID, "anna", goodPass)
	orgInView, _ := f.org(org.ID)
	if remembered := orgInView.sessionsByOwner[owner{user: mustFind(f.userNamed(org.ID, "anna")).ID}]; len(remembered) != 1 {
		t.Errorf("%d sessions are remembered, want 1", len(remembered))
	}
	f.restart()
	orgInView, _ = f.org(org.ID)
	count := 0
	orgInView.sessionHashes.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("%d sessions were loaded, want 1", count)
	}
}

// mustFind returns a value that must have been found.
func mustFind[T any](value T, ok bool) T {
	if !ok {
		panic("not there")
	}
	return value
}

func (f *fixture) userNamed(org ledger.ID, login string) (*directory.User, bool) {
	rows, _, err := f.ListUsers(org, Page{Limit: MaxPage})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, u := range rows {
		if u.Login == login {
			return u, true
		}
	}
	return nil, false
}

// The sandbox's sessions never end, so their uses are not recorded in the journal.
func TestSandboxSessionsDoNotExpire(t *testing.T) {
	f := open(t)
	sandbox := must(f.Seed(t.Context(), SeedInput{}))
	before := len(f.events(sandbox.First.Org))
	f.advance(365 * 24 * time.Hour)
	if !f.use(sandbox.First.Org, text(sandbox.First.SessionToken)) {
		t.Error("a sandbox's session is over")
	}
	f.Runtime.Quiesce()
	if after := len(f.events(sandbox.First.Org)); after != before {
		t.Errorf("%d events, were %d", after, before)
	}
}

func TestALoginIsLockedOutWhetherOrNotItExists(t *testing.T) {
	f := open(t)
	org, otherOrg := f.newOrganization("One"), f.newOrganization("Two")
	f.newUser(org.ID, "anna", "client")
	f.newUser(otherOrg.ID, "anna", "client")
	for _, login := range []string{"anna", "nobody"} {
		for range 5 {
			_, _, err := f.logIn(org.ID, login, "wrong")
			wantCode(t, "a wrong password of "+login, err, ledger.Unauthorized, "")
		}
		_, _, err := f.logIn(org.ID, login, goodPass)
		wantLocked(t, login, err, 15*time.Minute)
	}
	f.mustLogIn(otherOrg.ID, "anna", goodPass) // a failure counts in one organization only
	f.advance(15 * time.Minute)
	f.mustLogIn(org.ID, "anna", goodPass)
}

// Only an attempt whose password was compared counts as a failure, not an attempt that ran out of time while it waited
// for a place to hash.
func TestAttemptWithoutComparedPasswordIsNoFailure(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	f.newUser(org.ID, "anna", "client")
	leave := f.takePlaces()
	for range 10 {
		_, _, err := f.LogIn(canceledContext(t), Login{Org: org.ID, Login: "anna", Pass: []byte("wrong"), Source: usualAddress})
		var locked *LockedOut
		if errors.As(err, &locked) || !errors.As(err, new(*ledger.Refusal)) {
			t.Fatal(err)
		}
	}
	leave()
	f.mustLogIn(org.ID, "anna", goodPass)
}

// A session is begun only for the account whose password was checked: if the password was changed
// meanwhile, the login is refused.
func TestPasswordChangedDuringALoginBeginsNoSession(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	u := f.newUser(o.ID, "anna", "client")
	account, _ := f.findAccount(o.ID, "anna")
	must(f.PatchUser(t.Context(), o.ID, u.ID, func(_ *directory.User, _ *schema.Faults) {}, []byte(goodPass+" again")))
	_, _, err := f.beginSession(context.Background(), &account, &Login{Org: o.ID, Login: "anna"})
	wantCode(t, "a session of an old password", err, ledger.Unauthorized, "")
}

// The right password from an address that the partner does not allow is refused, and counted like a wrong password.
func TestRightPasswordFromAForbiddenAddressIsAFailure(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	p := must(f.CreatePartner(t.Context(), o.ID, directory.Partner{Name: "P", Login: "far", Sources: sources("192.0.2.0/24"), Active: true}, []byte(goodPass)))
	for range 5 {
		_, _, err := f.logIn(o.ID, "far", goodPass)
		wantCode(t, "from elsewhere", err, ledger.Unauthorized, "")
	}
	must(f.PatchPartner(t.Context(), o.ID, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Sources = nil }))
	_, _, err := f.logIn(o.ID, "far", goodPass)
	wantLocked(t, "after five failures", err, 15*time.Minute)
}
