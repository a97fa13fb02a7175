package check_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/vmihailenco/msgpack/v5"

	directoryactor "mizan/actors/directory"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// accessRecords are the users of the first organization and their sessions.
type accessRecords struct {
	teller, session, partners ledger.Source
	foreignPartner            int64 // a partner of another organization
}

const goodPass = "nine-Lions-paint"

// addPeople gives the first organization users, with used, revoked and expired sessions, and a
// used key, and gives the platform rotated tokens.
func addPeople(t *testing.T, w *fixture.Store) (p accessRecords) {
	t.Helper()
	h := fixture.Start(t, w)
	defer h.Close()
	ctx, org := t.Context(), w.First.Org
	_, err := h.Directory.CreatePartner(ctx, org, directory.Partner{Name: "Shop", Login: "shop", Active: true}, []byte("nine-Lions-paint"))
	fixture.Must(t, err)
	teller, err := h.Directory.CreateUser(ctx, org, directory.User{Login: "teller", Name: "C", Roles: directory.Roles{"client", "partner"}, Partner: w.First.Partner, Active: true}, []byte(goodPass))
	fixture.Must(t, err)
	in := func(login, pass string) (*directory.Session, string) {
		n, token, err := h.Directory.LogIn(ctx, directoryactor.Login{Org: org, Login: login, Pass: []byte(pass), Source: netip.IPv6Loopback()})
		fixture.Must(t, err)
		return n, string(token)
	}
	used, token := in("teller", goodPass)
	out, _ := in("teller", goodPass)
	fixture.Must(t, h.Directory.LogOut(ctx, out))
	own, _ := in("shop", goodPass)
	h.Directory.Authenticate(org, []byte(w.First.APIKey))
	h.Advance(6 * time.Minute)
	if _, live := h.Directory.Session(org, []byte(token), ledger.MicrosOf(h.Clock.Now())); !live {
		t.Fatal("the session is over")
	}
	h.Runtime.Quiesce()
	_, err = h.Directory.PatchUser(ctx, org, teller.ID, func(r *directory.User, _ *schema.Faults) { r.Active = false }, nil)
	fixture.Must(t, err)
	_, err = h.Directory.RotateAdminToken(ctx, []byte("an-administration-token"))
	fixture.Must(t, err)
	_, err = h.Directory.RotateAllAdminTokens(ctx)
	fixture.Must(t, err)
	p.teller = ledger.Source{Kind: ledger.User, ID: teller.ID}
	p.session = ledger.Source{Kind: ledger.Session, ID: used.ID}
	p.partners = ledger.Source{Kind: ledger.Session, ID: own.ID}
	p.foreignPartner = w.Second.Partner
	return p
}

func TestPeopleAndTheirSessionsAreSound(t *testing.T) {
	w := fixture.Copy(t)
	addPeople(t, w)
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

func TestEveryFaultOfAPersonBreaksItsRule(t *testing.T) {
	someone := uuid.New()
	for _, f := range []struct {
		name   string
		source func(*accessRecords) ledger.Source
		field  string
		value  func(*accessRecords) any
	}{
		{"a user who is on, though switched off", userSource, "active", of(true)},
		{"a user without a role", userSource, "roles", of(nil)},
		{"a user of an unknown role", userSource, "roles", of([]string{"client", "partner", "root"})},
		{"a user with a role twice", userSource, "roles", of([]string{"client", "client", "partner"})},
		{"a user who acts as nobody", userSource, "partner", of(nil)},
		{"a user who acts without the role", userSource, "roles", of([]string{"client"})},
		{"a user who acts as who is not there", userSource, "partner", of(99)},
		{"a user who acts as another organization's partner", userSource, "partner", func(p *accessRecords) any { return p.foreignPartner }},
		{"a session that is revoked without an event", sessionSource, "revoked", of(1)},
		{"a session of a user who is not there", sessionSource, "user", of(someone[:])},
		{"a session of what is no user", sessionSource, "user", of([]byte{1})},
		{"a session without a role", sessionSource, "roles", of(nil)},
		{"a partner's session that acts as another organization's", partners, "partner", func(p *accessRecords) any { return p.foreignPartner }},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := fixture.Copy(t)
			p := addPeople(t, w)
			amendRecord(t, w, f.source(&p), f.field, f.value(&p))
			fixture.WantBroken(t, w.Check(t, check.Inputs{}), 3)
		})
	}
}

func of(value any) func(*accessRecords) any { return func(*accessRecords) any { return value } }

func userSource(p *accessRecords) ledger.Source    { return p.teller }
func sessionSource(p *accessRecords) ledger.Source { return p.session }
func partners(p *accessRecords) ledger.Source      { return p.partners }

// Every user and every partner has its login, and every login has one owner.
func TestALoginWithoutItsClaimBreaksTheRule(t *testing.T) {
	for name, login := range map[string]string{"a user's": "teller", "a partner's": "shop"} {
		t.Run(name, func(t *testing.T) {
			w := fixture.Copy(t)
			addPeople(t, w)
			w.Plant(t, func(p *fixture.Planter) {
				p.DeleteAll(store.KeyClaim(nil, w.First.Org, ledger.ClaimLogin, login))
			})
			fixture.WantBroken(t, w.Check(t, check.Inputs{}), 4)
		})
	}
	t.Run("another's", func(t *testing.T) {
		w := fixture.Copy(t)
		p := addPeople(t, w)
		amendRecord(t, w, p.teller, "login", "shop")
		fixture.WantBroken(t, w.Check(t, check.Inputs{}), 4)
	})
}

func TestARetiredTokenInForceBreaksItsRule(t *testing.T) {
	for _, field := range []string{"admin_tokens", "retired"} {
		t.Run(field, func(t *testing.T) {
			w := fixture.Copy(t)
			addPeople(t, w)
			w.Plant(t, func(p *fixture.Planter) {
				p.Record(directory.PlatformOrg, ledger.Source{Kind: ledger.Platform, ID: directory.PlatformID}, func(_ *store.Envelope, payload []byte) []byte {
					var fields map[string]any
					fixture.Must(t, msgpack.Unmarshal(payload[1:], &fields))
					fields[field] = append(fields["admin_tokens"].([]any), fields["retired"].([]any)...)
					changed, err := msgpack.Marshal(fields)
					fixture.Must(t, err)
					return append([]byte{1}, changed...)
				})
			})
			fixture.WantBroken(t, w.Check(t, check.Inputs{}), 3)
		})
	}
}
