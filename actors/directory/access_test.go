package directory

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

func TestRevocationIsSeenAtOnce(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	p := f.newPartner(org.ID, "one")
	for range 50 {
		k, value := f.issueKey(p)
		if _, _, ok := f.Authenticate(org.ID, value); !ok {
			t.Fatal("a new key isn't taken")
		}
		revoked := must(f.RevokeAPIKey(t.Context(), org.ID, k.ID))
		if _, _, ok := f.Authenticate(org.ID, value); ok {
			t.Fatal("a revoked key is taken")
		}
		if again := must(f.RevokeAPIKey(t.Context(), org.ID, k.ID)); *again != *revoked {
			t.Fatal("revoked twice")
		}
	}
	revocations := 0
	for _, event := range f.events(org.ID) {
		if event == "k:revoke" {
			revocations++
		}
	}
	if revocations != 50 {
		t.Errorf("%d revocations in the journal", revocations)
	}
	if keys, _, err := f.ListAPIKeys(org.ID, Page{Limit: MaxPage}); err != nil || len(keys) != 50 {
		t.Errorf("%d keys listed (%v); a revocation is no deletion", len(keys), err)
	}
}

func TestWhichKeysAreAccepted(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	org, other := f.newOrganization("One"), f.newOrganization("Two")
	partner := f.newPartner(org.ID, "one")
	_, value := f.issueKey(partner)
	revoked, revokedValue := f.issueKey(partner)
	must(f.RevokeAPIKey(ctx, org.ID, revoked.ID))
	expiry := startTime.Add(time.Minute)
	shortLived := must(f.CreateAPIKey(ctx, org.ID, directory.APIKey{Partner: partner.Number, Name: "short", ExpiresAt: ledger.MicrosOf(expiry)})).Value
	check := func(what string, orgID ledger.ID, key []byte, want bool) {
		t.Helper()
		k, p, ok := f.Authenticate(orgID, key)
		if ok != want || (k != nil) != want || (p != nil) != want {
			t.Errorf("%s: %v", what, ok)
		}
	}
	check("the key", org.ID, value, true)
	check("the key before it expires", org.ID, []byte(shortLived), true)
	check("no key", org.ID, nil, false)
	check("an unknown key", org.ID, []byte("mzk_unknown"), false)
	check("a key with a character more", org.ID, append(value[:len(value):len(value)], 'x'), false)
	check("a revoked key", org.ID, revokedValue, false)
	check("another organization", other.ID, value, false)
	check("no organization", ledger.ID{}, value, false)
	check("an unknown organization", uuid.New(), value, false)

	if err := f.Clock.Set(expiry.Add(-time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	check("a key in its last microsecond", org.ID, []byte(shortLived), true)
	if err := f.Clock.Set(expiry); err != nil {
		t.Fatal(err)
	}
	check("an expired key", org.ID, []byte(shortLived), false)

	must(f.PatchPartner(ctx, org.ID, partner.Number, func(r *directory.Partner, _ *schema.Faults) { r.Active = false }))
	if _, p, ok := f.Authenticate(org.ID, value); !ok || p.Active {
		t.Error("a partner that is switched off is for the caller to refuse, with 403")
	}
	for _, status := range []directory.OrgStatus{directory.Provisioning, directory.Maintenance, directory.Active, directory.Archived} {
		must(f.PatchOrganization(ctx, org.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = status }))
		check("an organization in "+string(status), org.ID, value, status == directory.Active)
	}
}

// Every refusal takes the same steps, and so the same time. The test breaks each step in turn, and
// every refusal must reach the broken step. The test does not measure time, which depends on the machine
// and its load.
func TestRejectedLookupsTakeTheSameSteps(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	p := f.newPartner(org.ID, "one")
	revoked, value := f.issueKey(p)
	must(f.RevokeAPIKey(t.Context(), org.ID, revoked.ID))
	inactive := f.newOrganization("Off")
	_, inactiveValue := f.issueKey(f.newPartner(inactive.ID, "off"))
	status := directory.Maintenance
	must(f.PatchOrganization(t.Context(), inactive.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = status }))
	unknown := []byte(secret.NewToken(keyPrefix, rand.Reader))
	for what, c := range map[string]struct {
		orgID ledger.ID
		key   []byte
	}{
		"a revoked key":                  {org.ID, value},
		"an unknown key":                 {org.ID, unknown},
		"an unknown organization":        {uuid.New(), value},
		"no organization":                {ledger.ID{}, value},
		"an organization in maintenance": {inactive.ID, inactiveValue},
	} {
		if _, _, ok := f.Authenticate(c.orgID, c.key); ok {
			t.Fatalf("%s is not refused", what)
		}
		for step, makeInvalid := range f.lookupSteps(c.orgID, c.key) {
			undo := makeInvalid()
			if !panics(func() { f.Authenticate(c.orgID, c.key) }) {
				t.Errorf("%s is refused without a look at %s", what, step)
			}
			undo()
		}
	}
}

// lookupSteps returns the steps of looking up a key, by name. Each step has a function that breaks it and
// returns the function that repairs it.
func (f *fixture) lookupSteps(org ledger.ID, key []byte) map[string]func() (undo func()) {
	o, known := f.org(org)
	if !known {
		o = f.absentOrganization
	}
	hash, ownerNumber := secret.HashToken(key), noKey.Partner
	found, hasKey := o.key(hash)
	if hasKey {
		ownerNumber = found.record().Partner
	}
	savedIndex, savedRecord := o.globalIndex, o.ownRecord
	undo := func() { o.globalIndex, o.ownRecord = savedIndex, savedRecord }
	return map[string]func() func(){
		"the key": func() func() {
			o.globalIndex = new(globalIndex)
			o.globalIndex.keys.put(keyIndexKey{o.id, hash}, new(viewRecord[directory.APIKey])) // reading an empty record panics
			return undo
		},
		"its partner": func() func() {
			o.globalIndex = new(globalIndex)
			if hasKey {
				o.globalIndex.keys.put(keyIndexKey{o.id, hash}, found)
			}
			o.globalIndex.partners.put(partnerIndexKey{o.id, ownerNumber}, new(viewRecord[directory.Partner]))
			return undo
		},
		"the organization": func() func() {
			o.ownRecord = nil
			return undo
		},
	}
}

// panics tells whether fn panics, as it does when it reaches a broken step.
func panics(fn func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	fn()
	return false
}

func TestLastUseOfAKeyIsShown(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	partner := f.newPartner(org.ID, "one")
	_, value := f.issueKey(partner)
	lastUse := func() ledger.Micros {
		keys, _, err := f.ListAPIKeys(org.ID, Page{})
		if err != nil || len(keys) != 1 {
			t.Fatal(keys, err)
		}
		return keys[0].LastUsedAt
	}
	if lastUse() != 0 {
		t.Error("used before its first use")
	}
	f.Authenticate(org.ID, []byte("mzk_unknown"))
	if lastUse() != 0 {
		t.Error("another key's use was counted")
	}
	if owner, ok := f.APIKeyInForce(org.ID, value); !ok || owner.Number != partner.Number {
		t.Error("the key is not in force")
	}
	if _, ok := f.APIKeyInForce(org.ID, []byte("mzk_unknown")); ok {
		t.Error("an unknown key is in force")
	}
	if lastUse() != 0 {
		t.Error("a look at the key was counted as its use")
	}
	f.Authenticate(org.ID, value)
	if want := ledger.MicrosOf(startTime); lastUse() != want {
		t.Errorf("last used %v, want %v", lastUse(), want)
	}
	if err := f.Clock.Set(startTime.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.Authenticate(org.ID, value)
	if want := ledger.MicrosOf(startTime.Add(time.Hour)); lastUse() != want {
		t.Errorf("last used %v, want %v", lastUse(), want)
	}
}

func TestSandboxTokensBeginSessionsInTheirOrganization(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	sandbox := must(f.Seed(ctx, SeedInput{}))
	now := ledger.MicrosOf(startTime)
	check := func(what string, org ledger.ID, token secret.Text, role directory.Role) {
		t.Helper()
		session, ok := f.Session(org, text(token), now)
		if ok != (role != "") || (ok && !session.Roles.Has(role)) {
			t.Errorf("%s: %v %v", what, session, ok)
		}
	}
	check("admin", sandbox.First.Org, sandbox.First.SessionToken, directory.Admin)
	check("auditor", sandbox.First.Org, sandbox.First.AuditorToken, directory.Auditor)
	check("another organization", sandbox.Second.Org, sandbox.First.SessionToken, "")
	check("an unknown organization", uuid.New(), sandbox.First.SessionToken, "")
	check("a key", sandbox.First.Org, sandbox.First.APIKey, "")
	check("no token", sandbox.First.Org, "", "")
	now += 1 << 60
	check("in the far future", sandbox.First.Org, sandbox.First.SessionToken, directory.Admin)
	status := directory.Maintenance
	must(f.PatchOrganization(ctx, sandbox.First.Org, func(r *directory.Organization, _ *schema.Faults) { r.Status = status }))
	check("in maintenance", sandbox.First.Org, sandbox.First.SessionToken, "")
}

func TestAdminTokensAreMintedAndAdmitted(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	if f.AdminTokens() != 0 || f.AdminToken([]byte("mza_")) || f.AdminToken(nil) {
		t.Error("an administration token out of nothing")
	}
	minted := must(f.CreateAdminToken(ctx))
	operatorsToken := []byte("0123456789abcdef")
	if err := f.AdmitAdminToken(ctx, operatorsToken); err != nil {
		t.Fatal(err)
	}
	if err := f.AdmitAdminToken(ctx, operatorsToken); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a short token", f.AdmitAdminToken(ctx, operatorsToken[:MinAdminToken-1]), ledger.Invalid, "")
	if f.AdminTokens() != 2 || !f.AdminToken(text(minted)) || !f.AdminToken(operatorsToken) || f.AdminToken(operatorsToken[1:]) {
		t.Error("not exactly the two tokens are taken")
	}
	if events := f.events(directory.PlatformOrg); len(events) != 2 {
		t.Errorf("journal %v: a token in force was written again", events)
	}
	if minted[:4] != "mza_" {
		t.Error("the token has no prefix")
	}
	f.restart()
	if !f.AdminToken(text(minted)) || !f.AdminToken(operatorsToken) {
		t.Error("a token is lost")
	}
}
