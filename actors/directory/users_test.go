package directory

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

func TestUsersSurviveARestart(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	org, otherOrg := f.newOrganization("One"), f.newOrganization("Two")
	partner := f.newPartner(org.ID, "shop")
	draft := directory.User{Login: "anna", Name: "Anna", Email: "anna@bank.example", Roles: directory.Roles{"partner", "client"}, Partner: partner.Number, Active: true}
	created := must(f.CreateUser(ctx, org.ID, draft, []byte(goodPass)))
	name := "Anna B"
	must(f.PatchUser(ctx, org.ID, created.ID, func(r *directory.User, _ *schema.Faults) { r.Name = name }, nil))
	checkUser := func() {
		t.Helper()
		got, ok := f.User(org.ID, created.ID)
		if !ok || got.Login != "anna" || got.Name != name || got.Email != draft.Email || len(got.Roles) != 2 || got.Partner != partner.Number ||
			!got.Active || got.CreatedAt != created.CreatedAt || got.CreatedAt == 0 || !matches(t, got.PassHash, goodPass) {
			t.Errorf("%+v", got)
		}
		if _, ok := f.User(otherOrg.ID, created.ID); ok {
			t.Error("a user of another organization")
		}
		if _, ok := f.User(org.ID, partner.ID); ok {
			t.Error("a partner is a user")
		}
		if rows, _, err := f.ListUsers(org.ID, Page{Partner: partner.Number}); err != nil || len(rows) != 1 {
			t.Error(rows, err)
		}
		if rows, _, err := f.ListUsers(org.ID, Page{Partner: partner.Number + 1}); err != nil || len(rows) != 0 {
			t.Error(rows, err)
		}
	}
	checkUser()
	f.restart()
	checkUser()
}

func TestRefusalsOfUsers(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	org, otherOrg := f.newOrganization("One"), f.newOrganization("Two")
	partner := f.newPartner(org.ID, "shop")
	otherPartner := f.newPartner(otherOrg.ID, "unknown")
	anna := f.newUser(org.ID, "anna", "client")
	archived, status := f.newOrganization("Old"), directory.Archived
	must(f.PatchOrganization(ctx, archived.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = status }))
	create := func(orgID ledger.ID, d directory.User, pass string) error {
		_, err := f.CreateUser(ctx, orgID, d, []byte(pass))
		return err
	}
	validUser := directory.User{Login: "new", Name: "N", Roles: directory.Roles{"client"}, Active: true}
	validUserBut := func(change func(*directory.User)) directory.User {
		d := validUser
		change(&d)
		return d
	}
	eventsBefore := len(f.events(org.ID))
	wantCode(t, "an unknown organization", create(uuid.New(), validUser, goodPass), ledger.NotFound, "")
	wantCode(t, "an archived organization", create(archived.ID, validUser, goodPass), ledger.Conflict, "")
	wantCode(t, "an unknown role", create(org.ID, validUserBut(func(d *directory.User) { d.Roles = directory.Roles{"root"} }), goodPass), ledger.Invalid, "roles")
	for what, number := range map[string]int64{"an unknown partner": 99, "another organization's partner": otherPartner.Number} {
		d := validUserBut(func(d *directory.User) { d.Roles, d.Partner = directory.Roles{"partner"}, number })
		wantCode(t, what, create(org.ID, d, goodPass), ledger.Invalid, "partner_id")
		_, err := f.PatchUser(ctx, org.ID, anna.ID, func(r *directory.User, _ *schema.Faults) { r.Roles = d.Roles; r.Partner = number }, nil)
		wantCode(t, what, err, ledger.Invalid, "partner_id")
	}
	wantCode(t, "a user's login", create(org.ID, validUserBut(func(d *directory.User) { d.Login = "anna" }), goodPass), ledger.Conflict, "login")
	wantCode(t, "a partner's login", create(org.ID, validUserBut(func(d *directory.User) { d.Login = "shop" }), goodPass), ledger.Conflict, "login")
	_, err := f.CreatePartner(ctx, org.ID, directory.Partner{Name: "A", Login: "anna", Active: true}, []byte("nine-Lions-paint"))
	wantCode(t, "a partner with a user's login", err, ledger.Conflict, "login")
	_, err = f.PatchUser(ctx, org.ID, uuid.New(), func(_ *directory.User, _ *schema.Faults) {}, nil)
	wantCode(t, "an unknown user", err, ledger.NotFound, "")
	_, err = f.PatchUser(ctx, otherOrg.ID, anna.ID, func(_ *directory.User, _ *schema.Faults) {}, nil)
	wantCode(t, "another organization's user", err, ledger.NotFound, "")
	_, err = f.PatchUser(ctx, org.ID, partner.ID, func(_ *directory.User, _ *schema.Faults) {}, nil)
	wantCode(t, "a partner's id as a user's", err, ledger.NotFound, "")
	for what, pass := range map[string]string{
		"empty": "", "a word": "password", "a row of keys": "qwertyuiop", "short": "a1", "a name and a year": "anna1999",
		"one character": strings.Repeat("a", 256), "too long": goodPass + strings.Repeat("x", 256),
	} {
		wantCode(t, what+" password", create(org.ID, validUser, pass), ledger.Invalid, "pass")
		_, err := f.PatchUser(ctx, org.ID, anna.ID, func(_ *directory.User, _ *schema.Faults) {}, []byte(pass))
		wantCode(t, what+" password of a user", err, ledger.Invalid, "pass")
	}
	if after := len(f.events(org.ID)); after != eventsBefore {
		t.Errorf("%d events, were %d: something was stored", after, eventsBefore)
	}
}

// Of many concurrent requests to create a user or partner with the same login, exactly one succeeds.
func TestConcurrentUsersAndPartnersCannotShareALogin(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	var created, conflicts atomic.Int64
	var running sync.WaitGroup
	for i := range 24 {
		running.Go(func() {
			var err error
			if i%2 == 0 {
				_, err = f.CreateUser(t.Context(), o.ID, directory.User{Login: "one", Name: "U", Roles: directory.Roles{"client"}, Active: true}, []byte(goodPass))
			} else {
				_, err = f.CreatePartner(t.Context(), o.ID, directory.Partner{Name: "P", Login: "one", Active: true}, []byte("nine-Lions-paint"))
			}
			switch {
			case err == nil:
				created.Add(1)
			case ledger.IsRefusal(err, ledger.Conflict):
				conflicts.Add(1)
			}
		})
	}
	running.Wait()
	if created.Load() != 1 || conflicts.Load() != 23 {
		t.Errorf("%d got it, %d conflicts", created.Load(), conflicts.Load())
	}
}

func TestRotationOfAdminTokens(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	_, err := f.RotateAllAdminTokens(ctx)
	wantCode(t, "nothing to rotate", err, ledger.Conflict, "")
	firstToken, otherToken := must(f.CreateAdminToken(ctx)), must(f.CreateAdminToken(ctx))
	rotations := 0
	f.OnRotation(func(retired, _ secret.Text) {
		if rotations++; retired != firstToken {
			t.Error("another token was retired")
		}
	})
	var newToken atomic.Pointer[secret.Text]
	var succeeded, refused atomic.Int64
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			token, err := f.RotateAdminToken(ctx, text(firstToken))
			switch {
			case err == nil:
				succeeded.Add(1)
				newToken.Store(&token)
			case ledger.IsRefusal(err, ledger.Unauthorized):
				refused.Add(1)
			}
		})
	}
	running.Wait()
	if succeeded.Load() != 1 || refused.Load() != 15 || rotations != 1 {
		t.Fatalf("%d rotations, %d refused, %d reported", succeeded.Load(), refused.Load(), rotations)
	}
	successor := *newToken.Load()
	checkTokens := func() {
		t.Helper()
		if f.AdminToken(text(firstToken)) || !f.AdminToken(text(successor)) || !f.AdminToken(text(otherToken)) {
			t.Error("not exactly the token that was rotated is refused")
		}
		if !f.AdminTokenRetired(text(firstToken)) || f.AdminTokenRetired(text(otherToken)) || f.AdminTokenRetired(nil) {
			t.Error("not exactly the token that was rotated is retired")
		}
	}
	checkTokens()
	wantCode(t, "a retired token", f.AdmitAdminToken(ctx, text(firstToken)), ledger.Conflict, "")
	f.restart()
	checkTokens()
	lastToken := must(f.RotateAllAdminTokens(ctx))
	for _, old := range []secret.Text{firstToken, successor, otherToken} {
		if f.AdminToken(text(old)) || !f.AdminTokenRetired(text(old)) {
			t.Error("an old token is in force")
		}
	}
	if !f.AdminToken(text(lastToken)) {
		t.Error("the new token is not in force")
	}
}
