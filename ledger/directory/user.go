package directory

import (
	"log/slog"
	"reflect"
	"slices"

	"mizan/ledger"
)

// User is a person who logs in to an organization. A partner has its own login and is not a
// User.
type User struct {
	ID       ledger.ID
	Org      ledger.ID
	Login    string
	PassHash string // PHC string
	Email    string
	Name     string
	Roles    Roles
	Partner  int64 // the partner that a user with PartnerRole acts as; else 0
	Active   bool
	Created  ledger.Micros

	// Epoch increases with every change that ends all of the user's sessions. A session has the
	// epoch in which it began.
	Epoch uint32
}

// String returns the record's identity. It shows no field, because fields are secret.
func (u *User) String() string { return "user " + u.ID.String() }

// LogValue implements slog.LogValuer.
func (u *User) LogValue() slog.Value { return slog.StringValue(u.String()) }

// UserDraft is a request for a new user. Fields are as in the request; PassHash is the hash of a
// password that CheckPass accepted.
type UserDraft struct {
	Login    string
	PassHash string
	Email    string
	Name     string
	Roles    []string
	Partner  int64 // 0: none
	Inactive bool
}

// Check reports what is wrong with the draft before the caller computes a hash for it. The error
// is Join's.
func (d *UserDraft) Check() error {
	_, _, err := NewUser(ledger.ID{}, ledger.ID{}, *d)
	return err
}

// NewUser decides the creation of a user. The claim on the login decides whether the login is
// free, and the caller checks that the partner exists. The error is Join's.
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

// UserPatch is a request to change a user. Nil leaves a field unchanged; a list is replaced as a
// whole. The login never changes.
type UserPatch struct {
	PassHash *string // of a password that CheckPass accepted
	Email    *string
	Name     *string
	Roles    *[]string
	Partner  *int64
	Active   *bool
}

// Patch decides a change. A user who loses PartnerRole loses the partner too. A change of the
// password, the roles or the partner, and switching off, end the user's sessions. The error is
// Join's.
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

// fill checks every field except the login, and parses the roles.
func (u *User) fill(op string, roles []string) error {
	parsed, err := parseRoles(op, roles)
	if u.Roles = parsed; err == nil {
		err = u.checkPartner(op)
	}
	return Join(checkText(op, "name", u.Name), checkEmail(op, "email", u.Email), err)
}

// checkPartner requires a partner for PartnerRole, and refuses one otherwise.
func (u *User) checkPartner(op string) error {
	switch acts := u.Roles.Has(PartnerRole); {
	case acts && u.Partner <= 0:
		return ledger.RefuseField(op, "partner_id", "is required with the role partner")
	case !acts && u.Partner != 0:
		return ledger.RefuseField(op, "partner_id", "only goes with the role partner")
	}
	return nil
}
