package check_test

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	directoryactor "mizan/actors/directory"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// accessRecords are records that addUsers creates in the first organization, and another organization's partner.
type accessRecords struct {
	teller         ledger.Source // a user who acts as a partner
	session        ledger.Source // a session of the teller
	partnerSession ledger.Source // a session of a partner
	foreignPartner int64         // a partner of another organization
}

const goodPass = "nine-Lions-paint"

// addUsers adds a partner and a user to the first organization, with a used and a revoked session of the user,
// a session of the partner, and an API key that was used. It also switches the user off and rotates the platform's
// tokens.
func addUsers(t *testing.T, w *fixture.Store) (records accessRecords) {
	t.Helper()
	server := fixture.Start(t, w)
	defer server.Close()
	ctx, org := t.Context(), w.FirstDemo.Org
	_, err := server.Directory.CreatePartner(ctx, org, directory.Partner{Name: "Shop", Login: "shop", Active: true}, []byte("nine-Lions-paint"))
	fixture.Must(t, err)
	teller, err := server.Directory.CreateUser(ctx, org, directory.User{Login: "teller", Name: "C", Roles: directory.Roles{"client", "partner"}, Partner: w.FirstDemo.Partner, Active: true}, []byte(goodPass))
	fixture.Must(t, err)
	logIn := func(login, pass string) (*directory.Session, string) {
		session, token, err := server.Directory.LogIn(ctx, directoryactor.Login{Org: org, Login: login, Pass: []byte(pass), Source: netip.IPv6Loopback()})
		fixture.Must(t, err)
		return session, string(token)
	}
	usedSession, token := logIn("teller", goodPass)
	endedSession, _ := logIn("teller", goodPass)
	fixture.Must(t, server.Directory.LogOut(ctx, endedSession))
	partnerSession, _ := logIn("shop", goodPass)
	server.Directory.Authenticate(org, []byte(w.FirstDemo.APIKey))
	server.Advance(6 * time.Minute)
	if _, isLive := server.Directory.Session(org, []byte(token), ledger.MicrosOf(server.Clock.Now())); !isLive {
		t.Fatal("the session is over")
	}
	server.Runtime.Quiesce()
	_, err = server.Directory.PatchUser(ctx, org, teller.ID, func(r *directory.User, _ *schema.Faults) { r.Active = false }, nil)
	fixture.Must(t, err)
	_, err = server.Directory.RotateAdminToken(ctx, []byte("an-administration-token"))
	fixture.Must(t, err)
	_, err = server.Directory.RotateAllAdminTokens(ctx)
	fixture.Must(t, err)
	records.teller = ledger.Source{Kind: ledger.User, ID: teller.ID}
	records.session = ledger.Source{Kind: ledger.Session, ID: usedSession.ID}
	records.partnerSession = ledger.Source{Kind: ledger.Session, ID: partnerSession.ID}
	records.foreignPartner = w.SecondDemo.Partner
	return records
}

func TestUsersAndSessionsBreakNoRule(t *testing.T) {
	w := fixture.Copy(t)
	addUsers(t, w)
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

func TestEveryUserFaultBreaksItsRule(t *testing.T) {
	unknownID := uuid.New()
	for _, f := range []struct {
		name        string
		source      func(*accessRecords) ledger.Source
		column      string
		value       func(*accessRecords) any
		brokenRules []int
		wantText    string
	}{
		{"a user who is active, though switched off", userSource, "active", constant(true), []int{3}, "events lead to"},
		{"a user without a role", userSource, "roles", constant(nil), unreadableRules, "no column roles"},
		{"a user of an unknown role", userSource, "roles", constant(directory.Roles{"client", "partner", "root"}), unreadableRules, "column roles"},
		{"a user with a role twice", userSource, "roles", constant(directory.Roles{"client", "client", "partner"}), unreadableRules, "column roles"},
		{"a user who acts as nobody", userSource, "partner_id", constant(nil), unreadableRules, "is of role partner or has a partner, and not both"},
		{"a user who acts without the role", userSource, "roles", constant(directory.Roles{"client"}), unreadableRules, "is of role partner or has a partner, and not both"},
		{"a user who acts as a missing partner", userSource, "partner_id", constant(int64(99)), []int{3}, "acts as partner 99, who does not exist"},
		{"a user who acts as another organization's partner", userSource, "partner_id", func(p *accessRecords) any { return p.foreignPartner }, []int{3}, "acts as partner 2, who does not exist"},
		{"a session that is revoked without an event", sessionSource, "revoked", constant(ledger.Micros(1)), []int{3}, "events lead to"},
		{"a session of a user who does not exist", sessionSource, "user", constant(unknownID), []int{3}, "was begun by a user who does not exist"},
		{"a session with an unreadable user", sessionSource, "user", constant(fixture.Raw{1}), unreadableRules, "column user"},
		{"a session without a role", sessionSource, "roles", constant(nil), unreadableRules, "no column roles"},
		{"a partner's session that acts as another organization's", partnerSessionSource, "partner", func(p *accessRecords) any { return p.foreignPartner }, []int{3}, "acts as partner 2, who does not exist"},
		{"a partner's session that acts as nobody", partnerSessionSource, "partner", constant(nil), unreadableRules, "is of role partner or has a partner, and not both"},
		{"a session that acts without the role", partnerSessionSource, "roles", constant(directory.Roles{"client"}), unreadableRules, "is of role partner or has a partner, and not both"},
		{"a session with an idle time below zero", sessionSource, "idle", constant(int64(-1)), unreadableRules, "has an idle time below zero"},
		{"a session that ends before 1970", sessionSource, "expires", constant(ledger.Micros(-1)), unreadableRules, "has a time before 1970"},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := fixture.Copy(t)
			p := addUsers(t, w)
			changeRecord(t, w, f.source(&p), f.column, f.value(&p))
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, f.brokenRules...)
			wantReason(t, report, f.brokenRules, f.wantText)
		})
	}
}

// constant returns a function that returns the value.
func constant(value any) func(*accessRecords) any { return func(*accessRecords) any { return value } }

func userSource(p *accessRecords) ledger.Source           { return p.teller }
func sessionSource(p *accessRecords) ledger.Source        { return p.session }
func partnerSessionSource(p *accessRecords) ledger.Source { return p.partnerSession }

// Each user and each partner has a claim on its login: a row that makes the login unique.
func TestLoginWithoutItsClaimIsFound(t *testing.T) {
	for name, login := range map[string]string{"a user's": "teller", "a partner's": "shop"} {
		t.Run(name, func(t *testing.T) {
			w := fixture.Copy(t)
			addUsers(t, w)
			w.Corrupt(t, func(p *fixture.Corrupter) {
				p.DeleteAll(store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimLogin, login))
			})
			fixture.WantBroken(t, w.Check(t, check.Inputs{}), 4)
		})
	}
	t.Run("a user with a partner's login", func(t *testing.T) {
		w := fixture.Copy(t)
		p := addUsers(t, w)
		changeRecord(t, w, p.teller, "login", "shop")
		fixture.WantBroken(t, w.Check(t, check.Inputs{}), 4)
	})
}

// An administration token is either in force or retired. The checker finds a token that is in both lists, a list that can't be
// read or is too long, and a missing number for the next partner.
func TestRetiredTokenInForceIsFound(t *testing.T) {
	allTokens := func(p *directory.Platform) any { return slices.Concat(p.AdminTokens, p.RetiredTokens) }
	for name, f := range map[string]struct {
		column   string
		value    func(p *directory.Platform) any
		wantText string
	}{
		"a retired token in force":       {"admin_tokens", allTokens, "has an administration token twice, or one that is retired"},
		"a token in force as retired":    {"retired", allTokens, "has an administration token twice, or one that is retired"},
		"a token of another length":      {"admin_tokens", func(*directory.Platform) any { return fixture.Raw{1} }, "column admin_tokens"},
		"more tokens than there may be":  {"admin_tokens", manyTokens(directory.MaxAdminTokens), "has more administration tokens than there may be"},
		"more retired than there may be": {"retired", manyTokens(directory.MaxRetiredTokens), "has more administration tokens than there may be"},
		"no number for the next partner": {"next_partner", func(*directory.Platform) any { return nil }, "no column next_partner"},
	} {
		t.Run(name, func(t *testing.T) {
			w := fixture.Copy(t)
			addUsers(t, w)
			w.Corrupt(t, func(p *fixture.Corrupter) {
				platform := ledger.Source{Kind: ledger.Platform, ID: directory.PlatformID}
				p.ChangeRecord(directory.PlatformOrg, platform, func(_ *store.RecordHeader, payload []byte) []byte {
					stored, err := directory.Platforms.Read(schema.RowMetadata{}, payload, nil)
					fixture.Must(t, err)
					return fixture.WithColumn(t, payload, directory.Platforms.ByName(f.column), f.value(stored))
				})
			})
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, 3)
			wantDetail(t, report, f.wantText)
		})
	}
}

// manyTokens returns a function that returns one token more than the bound. All tokens are different.
func manyTokens(bound int) func(*directory.Platform) any {
	return func(*directory.Platform) any {
		tokens := make([][32]byte, bound+1)
		for i := range tokens {
			binary.BigEndian.PutUint64(tokens[i][:], uint64(i))
		}
		return tokens
	}
}
