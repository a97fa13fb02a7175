package snapshots_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/vmihailenco/msgpack/v5"

	"mizan/actors/directory"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/posting/store"
	"mizan/snapshots"
)

// people are who logs in to the first organization, and their sessions.
type people struct {
	clerk, session, partners ledger.Source
	stranger                 int64 // a partner of another organization
}

const goodPass = "nine-Lions-paint"

// populate gives the first organization users with sessions that were used,
// revoked and outlived, a used key, and the platform rotated tokens.
func (w *town) populate(t *testing.T) (p people) {
	t.Helper()
	h := open(t, w)
	defer h.close()
	ctx, org := t.Context(), w.first.Org
	_, err := h.directory.CreatePartner(ctx, org, words.PartnerDraft{Name: "Shop", Login: "shop"}, []byte("nine-Lions-paint"))
	must(t, err)
	clerk, err := h.directory.CreateUser(ctx, org, words.UserDraft{
		Login: "clerk", Name: "C", Roles: []string{"client", "partner"}, Partner: w.first.Partner,
	}, []byte(goodPass))
	must(t, err)
	in := func(login, pass string) (*words.Session, string) {
		n, token, err := h.directory.LogIn(ctx, directory.Login{Org: org, Login: login, Pass: []byte(pass), Source: netip.IPv6Loopback()})
		must(t, err)
		return n, string(token)
	}
	used, token := in("clerk", goodPass)
	out, _ := in("clerk", goodPass)
	must(t, h.directory.LogOut(ctx, out))
	own, _ := in("shop", goodPass)
	h.directory.Authenticate(org, []byte(w.first.APIKey))
	h.advance(6 * time.Minute)
	if _, live := h.directory.Session(org, []byte(token), ledger.MicrosOf(h.clock.Now())); !live {
		t.Fatal("the session is over")
	}
	h.runtime.Quiesce()
	_, err = h.directory.PatchUser(ctx, org, clerk.ID, words.UserPatch{Active: new(bool)}, nil)
	must(t, err)
	_, err = h.directory.RotateAdminToken(ctx, []byte("an-administration-token"))
	must(t, err)
	_, err = h.directory.RotateAllAdminTokens(ctx)
	must(t, err)
	p.clerk = ledger.Source{Kind: ledger.User, ID: clerk.ID}
	p.session = ledger.Source{Kind: ledger.Session, ID: used.ID}
	p.partners = ledger.Source{Kind: ledger.Session, ID: own.ID}
	p.stranger = w.second.Partner
	return p
}

func TestPeopleAndTheirSessionsAreSound(t *testing.T) {
	w := settle(t)
	w.populate(t)
	wantBroken(t, w.check(t, snapshots.Inputs{}))
}

func TestEveryFaultOfAPersonBreaksItsRule(t *testing.T) {
	someone := uuid.New()
	for _, f := range []struct {
		name   string
		source func(*people) ledger.Source
		field  string
		value  func(*people) any
	}{
		{"a user who is on, though switched off", clerks, "active", of(true)},
		{"a user without a role", clerks, "roles", of(nil)},
		{"a user of an unknown role", clerks, "roles", of([]string{"client", "partner", "root"})},
		{"a user with a role twice", clerks, "roles", of([]string{"client", "client", "partner"})},
		{"a user who acts as nobody", clerks, "partner", of(nil)},
		{"a user who acts without the role", clerks, "roles", of([]string{"client"})},
		{"a user who acts as who is not there", clerks, "partner", of(99)},
		{"a user who acts as another organization's partner", clerks, "partner", func(p *people) any { return p.stranger }},
		{"a session that is revoked without an event", sessions, "revoked", of(1)},
		{"a session of a user who is not there", sessions, "user", of(someone[:])},
		{"a session of what is no user", sessions, "user", of([]byte{1})},
		{"a session without a role", sessions, "roles", of(nil)},
		{"a partner's session that acts as another organization's", partners, "partner", func(p *people) any { return p.stranger }},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := settle(t)
			p := w.populate(t)
			w.amend(t, f.source(&p), f.field, f.value(&p))
			wantBroken(t, w.check(t, snapshots.Inputs{}), 3)
		})
	}
}

func of(value any) func(*people) any { return func(*people) any { return value } }

func clerks(p *people) ledger.Source   { return p.clerk }
func sessions(p *people) ledger.Source { return p.session }
func partners(p *people) ledger.Source { return p.partners }

// Every user and every partner has its login, and every login its one owner.
func TestALoginWithoutItsClaimBreaksTheRule(t *testing.T) {
	for name, login := range map[string]string{"a user's": "clerk", "a partner's": "shop"} {
		t.Run(name, func(t *testing.T) {
			w := settle(t)
			w.populate(t)
			w.plant(t, func(p *planter) {
				p.deleteAll(store.KeyClaim(nil, w.first.Org, ledger.ClaimLogin, login))
			})
			wantBroken(t, w.check(t, snapshots.Inputs{}), 4)
		})
	}
	t.Run("another's", func(t *testing.T) {
		w := settle(t)
		p := w.populate(t)
		w.amend(t, p.clerk, "login", "shop")
		wantBroken(t, w.check(t, snapshots.Inputs{}), 4)
	})
}

func TestARetiredTokenInForceBreaksItsRule(t *testing.T) {
	for _, field := range []string{"admin_tokens", "retired"} {
		t.Run(field, func(t *testing.T) {
			w := settle(t)
			w.populate(t)
			w.plant(t, func(p *planter) {
				p.record(words.PlatformOrg, ledger.Source{Kind: ledger.Platform, ID: words.PlatformID}, func(_ *store.Envelope, payload []byte) []byte {
					var fields map[string]any
					must(t, msgpack.Unmarshal(payload[1:], &fields))
					fields[field] = append(fields["admin_tokens"].([]any), fields["retired"].([]any)...)
					changed, err := msgpack.Marshal(fields)
					must(t, err)
					return append([]byte{1}, changed...)
				})
			})
			wantBroken(t, w.check(t, snapshots.Inputs{}), 3)
		})
	}
}
