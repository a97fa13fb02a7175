package directory

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// newUser creates the auditor Anna. If change is not nil, it changes the draft before the creation.
func newUser(t *testing.T, change func(*User)) (*User, ledger.Event, error) {
	t.Helper()
	d := User{ID: testID(1), Org: testID(2), Login: "anna", PassHash: "hash", Name: "Anna", Roles: Roles{"auditor"}, Active: true}
	if change != nil {
		change(&d)
	}
	return NewUser(d)
}

func TestNewUserNamesTheWrongField(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*User)
		field  string
	}{
		"valid":                      {nil, ""},
		"no login":                   {func(d *User) { d.Login = "" }, "login"},
		"white space in a login":     {func(d *User) { d.Login = "an na" }, "login"},
		"the longest login":          {func(d *User) { d.Login = strings.Repeat("я", 255) }, ""},
		"a login too long":           {func(d *User) { d.Login = strings.Repeat("я", 256) }, "login"},
		"no name":                    {func(d *User) { d.Name = " " }, "name"},
		"a name too long":            {func(d *User) { d.Name = strings.Repeat("n", 256) }, "name"},
		"not an e-mail address":      {func(d *User) { d.Email = "anna" }, "email"},
		"an e-mail address":          {func(d *User) { d.Email = "anna@bank.example" }, ""},
		"no role":                    {func(d *User) { d.Roles = nil }, "roles"},
		"an unknown role":            {func(d *User) { d.Roles = Roles{"root"} }, "roles"},
		"a role with a capital":      {func(d *User) { d.Roles = Roles{"Admin"} }, "roles"},
		"a role twice":               {func(d *User) { d.Roles = Roles{"client", "admin", "client"} }, "roles"},
		"all roles":                  {func(d *User) { d.Roles, d.Partner = Roles{"partner", "client", "auditor", "admin"}, 7 }, ""},
		"role without a partner":     {func(d *User) { d.Roles = Roles{"partner"} }, "partner_id"},
		"a partner below one":        {func(d *User) { d.Roles, d.Partner = Roles{"partner"}, -1 }, "partner_id"},
		"a partner without the role": {func(d *User) { d.Partner = 7 }, "partner_id"},
	} {
		u, event, err := newUser(t, c.change)
		wantField(t, name, err, c.field)
		if err == nil && (event.Name != "create" || event.To != "active" || !u.Active || !u.Roles.IsValid()) {
			t.Errorf("%s: %+v %+v", name, u, event)
		}
	}
	u, _, err := newUser(t, func(d *User) { d.Roles, d.Partner = Roles{"partner", "client", "auditor", "admin"}, 7 })
	if err != nil || !slices.Equal(u.Roles, Roles{Admin, Auditor, Client, PartnerRole}) {
		t.Errorf("roles %v (%v) are not in the order of their names", u.Roles, err)
	}
	if inactive, event, err := newUser(t, func(d *User) { d.Active = false }); err != nil || inactive.Active || event.To != "inactive" {
		t.Errorf("%v %+v %v", inactive, event, err)
	}
}

func TestRequestsForAUserNameTheWrongField(t *testing.T) {
	const minimal = `{"login":"anna","name":"Anna","roles":["auditor"]}`
	newUserWithPass := func(draft User) (*User, error) {
		draft.PassHash = "hash"
		u, _, err := NewUser(draft)
		return u, err
	}
	for changes, field := range map[string]string{
		`{}`:                                   "",
		`{"login":null}`:                       "login",
		`{"name":""}`:                          "name",
		`{"roles":null}`:                       "roles",
		`{"roles":[]}`:                         "roles",
		`{"roles":"auditor"}`:                  "roles",
		`{"roles":[null]}`:                     "roles",
		`{"roles":["root"]}`:                   "roles",
		`{"roles":["Admin"]}`:                  "roles",
		`{"roles":["client","client"]}`:        "roles",
		`{"roles":["partner"]}`:                "partner_id",
		`{"partner_id":7}`:                     "partner_id",
		`{"partner_id":-1}`:                    "partner_id",
		`{"partner_id":"7"}`:                   "partner_id",
		`{"partner_id":0}`:                     "",
		`{"partner_id":null}`:                  "",
		`{"email":"anna"}`:                     "email",
		`{"email":""}`:                         "",
		`{"active":7}`:                         "active",
		`{"roles":["partner"],"partner_id":7}`: "",
	} {
		_, err := createByRequest(t, Users, mergeObjects(t, minimal, changes), newUserWithPass)
		wantField(t, changes, err, field)
	}
	u, err := createByRequest(t, Users, mergeObjects(t, minimal, `{"roles":["partner","client"],"partner_id":7}`), newUserWithPass)
	if err != nil || !u.Active || u.Partner != 7 || !slices.Equal(u.Roles, Roles{Client, PartnerRole}) {
		t.Errorf("%+v, %v", u, err)
	}
	for body, field := range map[string]string{
		`{"login":"anna"}`: "", `{"login":"other"}`: "login", `{"roles":null}`: "roles", `{"roles":["root"]}`: "roles", `{"partner_id":null}`: "partner_id",
		`{"active":null}`: "active", `{"name":null}`: "name", `{"email":null}`: "", `{"id":"x"}`: "id",
	} {
		_, _, err := u.Patch(changeOf(t, Users, body))
		wantField(t, body, err, field)
	}
}

// A user's sessions end when the user is switched off or gets another password, role or partner. No other change
// ends them.
func TestWhatEndsAUsersSessions(t *testing.T) {
	anna, _, err := newUser(t, func(d *User) { d.Roles, d.Partner = Roles{"partner"}, 7 })
	if err != nil {
		t.Fatal(err)
	}
	otherText, inactive, active, anotherPartner := "other", false, true, int64(8)
	twoRoles, auditorOnly := Roles{"partner", "auditor"}, Roles{"auditor"}
	for name, c := range map[string]struct {
		patch        schema.Change[User]
		event        string
		endsSessions bool
	}{
		"no change":                {func(_ *User, _ *schema.Faults) {}, "", false},
		"the same values":          {func(r *User, _ *schema.Faults) { r.Active = active; r.Roles = Roles{"partner"} }, "", false},
		"another name":             {func(r *User, _ *schema.Faults) { r.Name = otherText }, "update", false},
		"another password":         {func(r *User, _ *schema.Faults) { r.PassHash = otherText }, "update", true},
		"one more role":            {func(r *User, _ *schema.Faults) { r.Roles = twoRoles }, "update", true},
		"another role":             {func(r *User, _ *schema.Faults) { r.Roles = auditorOnly }, "update", true},
		"another partner":          {func(r *User, _ *schema.Faults) { r.Partner = anotherPartner }, "update", true},
		"switched off":             {func(r *User, _ *schema.Faults) { r.Active = inactive }, "deactivate", true},
		"switched off and renamed": {func(r *User, _ *schema.Faults) { r.Active = inactive; r.Name = otherText }, "deactivate", true},
	} {
		session, _ := anna.BeginSession(Session{ID: testID(3), Hash: [32]byte{1}}, 1)
		next, event, err := anna.Patch(c.patch)
		if err != nil || event.Name != c.event || (event.Name == "") != (next == anna) {
			t.Errorf("%s: %+v %v", name, event, err)
			continue
		}
		if ended := !next.AllowsSession(session); ended != c.endsSessions {
			t.Errorf("%s: ended %v, want %v", name, ended, c.endsSessions)
		}
	}
	deactivated, _, _ := anna.Patch(func(r *User, _ *schema.Faults) { r.Active = inactive })
	session, _ := anna.BeginSession(Session{ID: testID(3), Hash: [32]byte{1}}, 1)
	if restored, event, err := deactivated.Patch(func(r *User, _ *schema.Faults) { r.Active = active }); err != nil || event.Name != "activate" || restored.AllowsSession(session) {
		t.Error("a session is valid again after its user was activated again", event, err)
	}
	if auditor, _, err := anna.Patch(func(r *User, _ *schema.Faults) { r.Roles = auditorOnly }); err != nil || auditor.Partner != 0 {
		t.Error("a user without the role partner still has a partner", err)
	}
	if _, _, err := anna.Patch(func(r *User, _ *schema.Faults) { r.Roles = auditorOnly; r.Partner = anotherPartner }); err == nil {
		t.Error("a partner without the role was accepted")
	}
	var noPartner int64
	_, _, err = anna.Patch(func(r *User, _ *schema.Faults) { r.Partner = noPartner })
	wantField(t, "the role without its partner", err, "partner_id")
}

func TestANewPasswordEndsAPartnersSessions(t *testing.T) {
	partner, _, err := NewPartner(Partner{ID: testID(1), Org: testID(2), Number: 7, Name: "P", Login: "p", PassHash: "hash", Active: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	session, event := partner.BeginSession(Session{ID: testID(3), Hash: [32]byte{1}}, 5)
	if event.Name != "create" || !partner.AllowsSession(session) || session.Partner != 7 || !slices.Equal(session.Roles, Roles{PartnerRole}) {
		t.Fatalf("%+v %+v", session, event)
	}
	switchedOff, otherHash := false, "other"
	if deactivated, _, err := partner.Patch(func(r *Partner, _ *schema.Faults) { r.Active = switchedOff }, false); err != nil || !deactivated.AllowsSession(session) {
		t.Error("a deactivated partner's session must be allowed here: the caller refuses it", err)
	}
	if next, event, err := partner.Patch(func(r *Partner, _ *schema.Faults) { r.PassHash = otherHash }, false); err != nil || event.Name != "update" || next.AllowsSession(session) || next.PassHash != otherHash {
		t.Error("a session is valid after the password changed", err)
	}
	otherPartner, _, _ := NewPartner(Partner{ID: testID(9), Org: testID(2), Number: 8, Name: "P", Login: "q", Active: true}, false)
	anna, _, _ := newUser(t, func(d *User) { d.Roles, d.Partner = Roles{"partner"}, 7 })
	userSession, _ := anna.BeginSession(Session{ID: testID(4), Hash: [32]byte{2}}, 5)
	if otherPartner.AllowsSession(session) || partner.AllowsSession(userSession) || anna.AllowsSession(session) {
		t.Error("a session is accepted for a user or partner that it does not belong to")
	}
}

// A session ends after 12 hours, and after 30 minutes without a use.
func TestSessionValidity(t *testing.T) {
	const second = 1_000_000
	anna, _, err := newUser(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := ledger.MicrosOf(time.Date(2026, 9, 3, 10, 0, 0, 0, time.UTC))
	session, _ := anna.BeginSession(Session{ID: testID(3), Hash: [32]byte{1}}, begun)
	if end := begun + 12*3600*second; !session.IsValid(end-1) || session.IsValid(end) {
		t.Error("the session doesn't end after 12 hours")
	}
	maxIdle := ledger.Micros(30 * 60 * second)
	usedAt := begun + 3600*second
	if session.IdleTooLong(0, begun+maxIdle-1) || !session.IdleTooLong(0, begun+maxIdle) || session.IdleTooLong(usedAt, usedAt+maxIdle-1) || !session.IdleTooLong(usedAt, usedAt+maxIdle) {
		t.Error("the session doesn't end after 30 minutes without a use")
	}
	usedSession, event := session.RecordUse(usedAt)
	if event.Name != "use" || usedSession.IdleTooLong(0, usedAt+maxIdle-1) || session.LastUsedAt != begun {
		t.Error("the use was not recorded", event)
	}
	if unchanged, event := usedSession.RecordUse(usedAt); unchanged != usedSession || event.Name != "" {
		t.Error("the same use was recorded twice")
	}
	revoked, event := usedSession.Revoke(usedAt)
	if event.Name != "revoke" || revoked.IsValid(usedAt) || usedSession.RevokedAt != 0 {
		t.Error("the session is not revoked", event)
	}
	if unchanged, event := revoked.Revoke(usedAt + 1); unchanged != revoked || event.Name != "" {
		t.Error("a revoked session was revoked again")
	}
	if unchanged, event := revoked.RecordUse(usedAt + 1); unchanged != revoked || event.Name != "" {
		t.Error("a use of a revoked session was recorded")
	}
}

func TestKeyUsesAreRecorded(t *testing.T) {
	key := &APIKey{ID: testID(1)}
	usedKey, event := key.RecordUse(5)
	if usedKey.LastUsedAt != 5 || key.LastUsedAt != 0 || event.Name != "use" || event.From != "active" || event.To != "active" {
		t.Errorf("%+v %+v", usedKey, event)
	}
	if unchanged, event := usedKey.RecordUse(4); unchanged != usedKey || event.Name != "" {
		t.Error("an older use was recorded")
	}
	revoked, _ := usedKey.Revoke(6)
	if unchanged, event := revoked.RecordUse(7); unchanged != revoked || event.Name != "" {
		t.Error("a use of a revoked key was recorded")
	}
}

func TestRotatedAdminTokenIsNeverAcceptedAgain(t *testing.T) {
	platform, err := NewPlatform().AcceptAdminToken([32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	if platform, err = platform.AcceptAdminToken([32]byte{2}); err != nil {
		t.Fatal(err)
	}
	next, err := platform.RotateAdminToken([32]byte{1}, [32]byte{3})
	if err != nil || !slices.Equal(next.AdminTokens, [][32]byte{{2}, {3}}) || !slices.Equal(next.RetiredTokens, [][32]byte{{1}}) {
		t.Fatal(next, err)
	}
	if len(platform.AdminTokens) != 2 || platform.AdminTokens[0] != [32]byte{1} || len(platform.RetiredTokens) != 0 {
		t.Error("the old record changed")
	}
	if _, err := next.RotateAdminToken([32]byte{1}, [32]byte{4}); wantRefusal(t, err).Code != ledger.Unauthorized {
		t.Error("a retired token was rotated", err)
	}
	if _, err := next.AcceptAdminToken([32]byte{1}); wantRefusal(t, err).Code != ledger.Conflict {
		t.Error("a retired token was accepted", err)
	}
	rotated := next.RotateAllAdminTokens([32]byte{5})
	if !slices.Equal(rotated.AdminTokens, [][32]byte{{5}}) || !slices.Equal(rotated.RetiredTokens, [][32]byte{{1}, {2}, {3}}) {
		t.Error(rotated)
	}
	if e := rotated.RotationEvent(); e.Name != "rotate" || !IsLegalTransition(ledger.Platform, e.Name, e.From, e.To) {
		t.Error(e)
	}
	for i := range MaxRetiredTokens {
		rotated = rotated.RotateAllAdminTokens([32]byte{9, byte(i), byte(i >> 8)})
	}
	if len(rotated.RetiredTokens) != MaxRetiredTokens || slices.Contains(rotated.RetiredTokens, [32]byte{1}) || !slices.Contains(rotated.RetiredTokens, [32]byte{5}) {
		t.Errorf("%d retired tokens are stored, want the latest %d", len(rotated.RetiredTokens), MaxRetiredTokens)
	}
}
