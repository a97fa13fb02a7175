package directory

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/schema"
)

func newUser(t *testing.T, change func(*User)) (*User, ledger.Event, error) {
	t.Helper()
	d := User{ID: testID(1), Org: testID(2), Login: "anna", PassHash: "hash", Name: "Anna", Roles: Roles{"auditor"}, Active: true}
	if change != nil {
		change(&d)
	}
	return NewUser(d)
}

func TestFieldsOfAUser(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*User)
		field  string
	}{
		"valid":                    {nil, ""},
		"no login":                 {func(d *User) { d.Login = "" }, "login"},
		"white space in a login":   {func(d *User) { d.Login = "an na" }, "login"},
		"the longest login":        {func(d *User) { d.Login = strings.Repeat("я", 255) }, ""},
		"a login too long":         {func(d *User) { d.Login = strings.Repeat("я", 256) }, "login"},
		"no name":                  {func(d *User) { d.Name = " " }, "name"},
		"a name too long":          {func(d *User) { d.Name = strings.Repeat("n", 256) }, "name"},
		"no e-mail address":        {func(d *User) { d.Email = "anna" }, "email"},
		"an e-mail address":        {func(d *User) { d.Email = "anna@bank.example" }, ""},
		"no role":                  {func(d *User) { d.Roles = nil }, "roles"},
		"an unknown role":          {func(d *User) { d.Roles = Roles{"root"} }, "roles"},
		"a role in another case":   {func(d *User) { d.Roles = Roles{"Admin"} }, "roles"},
		"a role twice":             {func(d *User) { d.Roles = Roles{"client", "admin", "client"} }, "roles"},
		"all roles":                {func(d *User) { d.Roles, d.Partner = Roles{"partner", "client", "auditor", "admin"}, 7 }, ""},
		"role partner of nobody":   {func(d *User) { d.Roles = Roles{"partner"} }, "partner_id"},
		"a partner below one":      {func(d *User) { d.Roles, d.Partner = Roles{"partner"}, -1 }, "partner_id"},
		"a partner without a role": {func(d *User) { d.Partner = 7 }, "partner_id"},
	} {
		u, event, err := newUser(t, c.change)
		wantField(t, name, err, c.field)
		if err == nil && (event.Name != "create" || event.To != "active" || !u.Active || !u.Roles.Valid()) {
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

func TestTheRequestForAUser(t *testing.T) {
	const minimal = `{"login":"anna","name":"Anna","roles":["auditor"]}`
	newUser := func(draft User) (*User, error) {
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
		_, err := createByRequest(t, Users, mergeObjects(t, minimal, changes), newUser)
		wantField(t, changes, err, field)
	}
	u, err := createByRequest(t, Users, mergeObjects(t, minimal, `{"roles":["partner","client"],"partner_id":7}`), newUser)
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
	text, off, on, anotherPartner := "other", false, true, int64(8)
	twoRoles, auditorOnly := Roles{"partner", "auditor"}, Roles{"auditor"}
	for name, c := range map[string]struct {
		patch schema.Change[User]
		event string
		ends  bool
	}{
		"nothing":                  {func(_ *User, _ *schema.Faults) {}, "", false},
		"the same":                 {func(r *User, _ *schema.Faults) { r.Active = on; r.Roles = Roles{"partner"} }, "", false},
		"another name":             {func(r *User, _ *schema.Faults) { r.Name = text }, "update", false},
		"a password":               {func(r *User, _ *schema.Faults) { r.PassHash = text }, "update", true},
		"one more role":            {func(r *User, _ *schema.Faults) { r.Roles = twoRoles }, "update", true},
		"another role":             {func(r *User, _ *schema.Faults) { r.Roles = auditorOnly }, "update", true},
		"a partner":                {func(r *User, _ *schema.Faults) { r.Partner = anotherPartner }, "update", true},
		"switched off":             {func(r *User, _ *schema.Faults) { r.Active = off }, "deactivate", true},
		"switched off and renamed": {func(r *User, _ *schema.Faults) { r.Active = off; r.Name = text }, "deactivate", true},
	} {
		session, _ := anna.BeginSession(testID(3), [32]byte{1}, 1)
		next, event, err := anna.Patch(c.patch)
		if err != nil || event.Name != c.event || (event.Name == "") != (next == anna) {
			t.Errorf("%s: %+v %v", name, event, err)
			continue
		}
		if ended := !next.AllowsSession(session); ended != c.ends {
			t.Errorf("%s: ended %v, want %v", name, ended, c.ends)
		}
	}
	inactive, _, _ := anna.Patch(func(r *User, _ *schema.Faults) { r.Active = off })
	session, _ := anna.BeginSession(testID(3), [32]byte{1}, 1)
	if restored, event, err := inactive.Patch(func(r *User, _ *schema.Faults) { r.Active = on }); err != nil || event.Name != "activate" || restored.AllowsSession(session) {
		t.Error("a session came back with its user", event, err)
	}
	if auditing, _, err := anna.Patch(func(r *User, _ *schema.Faults) { r.Roles = auditorOnly }); err != nil || auditing.Partner != 0 {
		t.Error("who is no partner's any more still has one", err)
	}
	if _, _, err := anna.Patch(func(r *User, _ *schema.Faults) { r.Roles = auditorOnly; r.Partner = anotherPartner }); err == nil {
		t.Error("a partner without the role was taken")
	}
	var noPartner int64
	_, _, err = anna.Patch(func(r *User, _ *schema.Faults) { r.Partner = noPartner })
	wantField(t, "the role without its partner", err, "partner_id")
}

func TestAPartnersPasswordEndsItsSessions(t *testing.T) {
	p, _, err := NewPartner(Partner{ID: testID(1), Org: testID(2), Number: 7, Name: "P", Login: "p", PassHash: "hash", Active: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	session, event := p.BeginSession(testID(3), [32]byte{1}, 5)
	if event.Name != "create" || !p.AllowsSession(session) || session.Partner != 7 || !slices.Equal(session.Roles, Roles{PartnerRole}) {
		t.Fatalf("%+v %+v", session, event)
	}
	off, hash := false, "other"
	if switched, _, err := p.Patch(func(r *Partner, _ *schema.Faults) { r.Active = off }, false); err != nil || !switched.AllowsSession(session) {
		t.Error("a deactivated partner's sessions are for the caller to refuse, with 403", err)
	}
	if next, event, err := p.Patch(func(r *Partner, _ *schema.Faults) { r.PassHash = hash }, false); err != nil || event.Name != "update" || next.AllowsSession(session) || next.PassHash != hash {
		t.Error("a session outlived its password", err)
	}
	otherPartner, _, _ := NewPartner(Partner{ID: testID(9), Org: testID(2), Number: 8, Name: "P", Login: "q", Active: true}, false)
	anna, _, _ := newUser(t, func(d *User) { d.Roles, d.Partner = Roles{"partner"}, 7 })
	userSession, _ := anna.BeginSession(testID(4), [32]byte{2}, 5)
	if otherPartner.AllowsSession(session) || p.AllowsSession(userSession) || anna.AllowsSession(session) {
		t.Error("a session is of more than one")
	}
}

// A session ends after 12 hours, and after 30 minutes without a use. A sandbox's session has no limits.
func TestSessionValidity(t *testing.T) {
	const second = 1_000_000
	anna, _, err := newUser(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := ledger.MicrosOf(time.Date(2026, 9, 3, 10, 0, 0, 0, time.UTC))
	s, _ := anna.BeginSession(testID(3), [32]byte{1}, begun)
	if end := begun + 12*3600*second; !s.Valid(end-1) || s.Valid(end) {
		t.Error("the session doesn't end after 12 hours")
	}
	maxIdle := ledger.Micros(30 * 60 * second)
	used := begun + 3600*second
	if s.IdleTooLong(0, begun+maxIdle-1) || !s.IdleTooLong(0, begun+maxIdle) || s.IdleTooLong(used, used+maxIdle-1) || !s.IdleTooLong(used, used+maxIdle) {
		t.Error("the session doesn't end after 30 minutes of rest")
	}
	withUse, event := s.RecordUse(used)
	if event.Name != "use" || withUse.IdleTooLong(0, used+maxIdle-1) || s.Used != begun {
		t.Error("what was noted is no use", event)
	}
	if unchanged, event := withUse.RecordUse(used); unchanged != withUse || event.Name != "" {
		t.Error("noted twice")
	}
	revoked, event := withUse.Revoke(used)
	if event.Name != "revoke" || revoked.Valid(used) || withUse.Revoked != 0 {
		t.Error("not revoked", event)
	}
	if unchanged, event := revoked.Revoke(used + 1); unchanged != revoked || event.Name != "" {
		t.Error("revoked twice")
	}
	if unchanged, event := revoked.RecordUse(used + 1); unchanged != revoked || event.Name != "" {
		t.Error("a use of a revoked session was noted")
	}
}

func TestKeyUsesAreRecorded(t *testing.T) {
	k := &APIKey{ID: testID(1)}
	withUse, event := k.RecordUse(5)
	if withUse.Used != 5 || k.Used != 0 || event.Name != "use" || event.From != "active" || event.To != "active" {
		t.Errorf("%+v %+v", withUse, event)
	}
	if unchanged, event := withUse.RecordUse(4); unchanged != withUse || event.Name != "" {
		t.Error("an older use was noted")
	}
	revoked, _ := withUse.Revoke(6)
	if unchanged, event := revoked.RecordUse(7); unchanged != revoked || event.Name != "" {
		t.Error("a use of a revoked key was noted")
	}
}

func TestRotatedTokenIsNeverAcceptedAgain(t *testing.T) {
	p, err := NewPlatform().AcceptAdminToken([32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.AcceptAdminToken([32]byte{2}); err != nil {
		t.Fatal(err)
	}
	next, err := p.RotateAdminToken([32]byte{1}, [32]byte{3})
	if err != nil || !slices.Equal(next.AdminTokens, [][32]byte{{2}, {3}}) || !slices.Equal(next.Retired, [][32]byte{{1}}) {
		t.Fatal(next, err)
	}
	if len(p.AdminTokens) != 2 || p.AdminTokens[0] != [32]byte{1} || len(p.Retired) != 0 {
		t.Error("the old record changed")
	}
	if _, err := next.RotateAdminToken([32]byte{1}, [32]byte{4}); wantRefusal(t, err).Code != ledger.Unauthorized {
		t.Error("a retired token was rotated", err)
	}
	if _, err := next.AcceptAdminToken([32]byte{1}); wantRefusal(t, err).Code != ledger.Conflict {
		t.Error("a retired token was admitted", err)
	}
	rotated := next.RotateAllAdminTokens([32]byte{5})
	if !slices.Equal(rotated.AdminTokens, [][32]byte{{5}}) || !slices.Equal(rotated.Retired, [][32]byte{{1}, {2}, {3}}) {
		t.Error(rotated)
	}
	if e := rotated.RotationEvent(); e.Name != "rotate" || !Legal(ledger.Platform, e.Name, e.From, e.To) {
		t.Error(e)
	}
	for i := range MaxRetiredTokens {
		rotated = rotated.RotateAllAdminTokens([32]byte{9, byte(i), byte(i >> 8)})
	}
	if len(rotated.Retired) != MaxRetiredTokens || slices.Contains(rotated.Retired, [32]byte{1}) || !slices.Contains(rotated.Retired, [32]byte{5}) {
		t.Errorf("%d retired tokens are remembered, want the latest %d", len(rotated.Retired), MaxRetiredTokens)
	}
}
