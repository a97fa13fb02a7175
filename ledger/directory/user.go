package directory

import (
	"log/slog"
	"reflect"
	"slices"

	"mizan/ledger"
)

// User is a person who logs in to an organization. A partner logs in by a login
// of its own and is none.
type User struct {
	ID       ledger.ID
	Org      ledger.ID
	Login    string
	PassHash string // PHC string
	Email    string
	Name     string
	Roles    Roles
	Partner  int64 // whom a user with PartnerRole acts as; else 0
	Active   bool
	Created  ledger.Micros

	// Epoch is raised by whatever ends all of the user's sessions: a session is
	// of the epoch in which it was begun.
	Epoch uint32
}

// String names the record and shows nothing of it: it holds what must not be printed.
func (u *User) String() string { return "user " + u.ID.String() }

// LogValue implements slog.LogValuer.
func (u *User) LogValue() slog.Value { return slog.StringValue(u.String()) }

// UserDraft is what a new user was asked to be. Fields are as they were sent;
// PassHash is made of a password that CheckPass let through.
type UserDraft struct {
	Login    string
	PassHash string
	Email    string
	Name     string
	Roles    []string
	Partner  int64 // 0: none
	Inactive bool
}

// Check reports what is wrong with the draft before a hash is spent on it. The
// error is Join's.
func (d *UserDraft) Check() error {
	_, _, err := NewUser(ledger.ID{}, ledger.ID{}, *d)
	return err
}

// NewUser decides a creation. That the login is free is for its claim to say,
// and that the partner is there for who knows the partners. The error is
// Join's.
func NewUser(id, org ledger.ID, d UserDraft) (*User, ledger.Event, error) {
	const op = "directory.CreateUser"
	u := &User{
		ID: id, Org: org, Login: d.Login, PassHash: d.PassHash, Email: d.Email, Name: d.Name, Partner: d.Partner,
		Active: !d.Inactive, Epoch: 1,
	}
	if err := Join(checkLogin(op, d.Login), u.fill(op, d.Roles)); err != nil {
		return nil, ledger.Event{}, err
	}
	return u, began(ledger.User, id, onOff(u.Active)), nil
}

// UserPatch is what a user was asked to become; nil leaves a field as it is, a
// list is replaced as a whole. The login never changes.
type UserPatch struct {
	PassHash *string // of a password that CheckPass let through
	Email    *string
	Name     *string
	Roles    *[]string
	Partner  *int64
	Active   *bool
}

// Patch decides a change. Whoever loses PartnerRole has no partner any more. A
// change of the password, the roles or the partner and being switched off end
// the user's sessions. The error is Join's.
func (u *User) Patch(patch UserPatch) (*User, ledger.Event, error) {
	next := *u
	assign(&next.PassHash, patch.PassHash)
	assign(&next.Email, patch.Email)
	assign(&next.Name, patch.Name)
	assign(&next.Active, patch.Active)
	names := u.Roles.Strings()
	assign(&names, patch.Roles)
	if patch.Roles != nil && !slices.Contains(names, string(PartnerRole)) {
		next.Partner = 0
	}
	assign(&next.Partner, patch.Partner)
	if err := next.fill("directory.PatchUser", names); err != nil {
		return nil, ledger.Event{}, err
	}
	if reflect.DeepEqual(&next, u) {
		return u, ledger.Event{}, nil
	}
	if next.PassHash != u.PassHash || !slices.Equal(next.Roles, u.Roles) || next.Partner != u.Partner || !next.Active {
		next.Epoch++
	}
	return &next, moved(ledger.User, u.ID, switching(u.Active, next.Active), onOff(u.Active), onOff(next.Active)), nil
}

// fill checks every field but the login and reads the roles.
func (u *User) fill(op string, roles []string) error {
	parsed, err := parseRoles(op, roles)
	if u.Roles = parsed; err == nil {
		err = u.checkPartner(op)
	}
	return Join(checkText(op, "name", u.Name), checkEmail(op, "email", u.Email), err)
}

// checkPartner wants a partner where the roles do, and only there.
func (u *User) checkPartner(op string) error {
	switch acts := u.Roles.Has(PartnerRole); {
	case acts && u.Partner <= 0:
		return ledger.RefuseField(op, "partner_id", "is required with the role partner")
	case !acts && u.Partner != 0:
		return ledger.RefuseField(op, "partner_id", "only goes with the role partner")
	}
	return nil
}
