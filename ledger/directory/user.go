package directory

import (
	"log/slog"
	"math"
	"slices"

	"mizan/ledger/columns"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// User is a person who logs in to an organization. A partner can also log in, but is not a User.
type User struct {
	ID        ledger.ID
	Org       ledger.ID
	Login     string
	PassHash  string // hash of the password, as a PHC string
	Email     string
	Name      string
	Roles     Roles
	Partner   int64 // number of the partner for which a user with PartnerRole acts; otherwise 0
	Active    bool
	CreatedAt ledger.Micros
	FirstSeq  uint64 // journal number (Seq) of the event that created the user; actors/directory sets it on reading
	Lang      string // language in which the console is shown; empty: the browser's language

	// Epoch increases when all of the user's sessions must end: a session is valid only in the epoch in which it began.
	Epoch uint32
}

// ConsoleLanguages are the languages in which the console can be shown.
var ConsoleLanguages = []string{"en", "ru", "ar"}

// String returns only the ID, because other fields are secret.
func (u *User) String() string { return "user " + u.ID.String() }

// LogValue implements slog.LogValuer.
func (u *User) LogValue() slog.Value { return slog.StringValue(u.String()) }

// Users are the columns of users.
var Users = schema.NewType[User]("user",
	columns.IDColumn(func(u *User) *ledger.ID { return &u.ID }),
	schema.Field(schema.Text(1, "login", schema.Required, schema.Fixed, schema.OneLine, schema.Rule(noSpaces),
		schema.Help("name to log in with, unique in the organization")), func(u *User) *string { return &u.Login }),
	passwordColumn(),
	schema.Field(schema.Text(2, "email", schema.Settable, schema.AtMost(MaxEmail), schema.Rule(textRule(checkEmail)),
		schema.Help("e-mail address")), func(u *User) *string { return &u.Email }),
	schema.Field(schema.Text(3, "name", schema.Required, schema.OneLine, schema.ShownAfter("login"),
		schema.Help("name of the user")), func(u *User) *string { return &u.Name }),
	schema.Field(rolesColumn(4, "roles", schema.Required, schema.Flag("role"),
		schema.Help("one or more of admin, auditor, client and partner")), func(u *User) *Roles { return &u.Roles }),
	schema.Field(schema.Integer(5, "partner_id", 0, math.MaxInt64, schema.Settable, schema.Flag("partner"),
		schema.Help("number of the partner for which the user acts; 0 means none")), func(u *User) *int64 { return &u.Partner }),
	schema.Field(schema.Bool(6, "active", schema.NotNull, schema.DefaultTo(true),
		schema.Help("whether the user can log in")), func(u *User) *bool { return &u.Active }),
	schema.TextField(schema.Word(9, "lang", ConsoleLanguages, schema.Settable,
		schema.Help("language of the console; null is the language of the browser")), func(u *User) *string { return &u.Lang }),
	columns.CreatedColumn(func(u *User) *ledger.Micros { return &u.CreatedAt }),
	schema.Field(schema.Text(7, "pass_hash", schema.NotShown, schema.RequiredInStore), func(u *User) *string { return &u.PassHash }),
	schema.NumberField(schema.DerivedInteger(8, "epoch", schema.NotShown, schema.RequiredInStore), func(u *User) *uint32 { return &u.Epoch }),
).CrossCheck(crossCheckUser).
	Invariant(func(u *User) string { return partnerRoleProblem(u.Roles, u.Partner) }).
	WithRowMetadata(func(u *User, metadata schema.RowMetadata) {
		u.Org, u.ID, u.CreatedAt = metadata.Org, metadata.ID, metadata.CreatedAt
	})

// crossCheckUser refuses a user who has PartnerRole without a partner, or a partner without PartnerRole.
func crossCheckUser(_, u *User, f *schema.Faults) {
	isPartner := u.Roles.Has(PartnerRole)
	switch {
	case f.Has("roles") || f.Has("partner_id"):
	case isPartner && u.Partner == 0:
		f.Add("partner_id", "is required with the role partner")
	case !isPartner && u.Partner != 0:
		f.Add("partner_id", "only goes with the role partner")
	}
}

// NewUser returns a new user with the fields of the draft, and the event of the creation. PassHash must be the hash of a
// password that CheckPassword accepted. The caller checks that the partner exists. NewUser does not check whether the login
// is free: the claim (a unique key) on the login ensures that when the user is stored. If the draft is invalid, the error
// names all wrong fields.
func NewUser(draft User) (*User, ledger.Event, error) {
	u, faults := &draft, new(schema.Faults)
	u.Epoch, u.Roles = 1, u.Roles.sorted()
	Users.Check(nil, u, faults)
	if err := FaultsAsRefusals("directory.CreateUser", faults); err != nil {
		return nil, ledger.Event{}, err
	}
	return u, createdEvent(ledger.User, u.ID, stateOf(u.Active)), nil
}

// Patch returns a changed copy of the user, and the event of this change. If a user loses PartnerRole, Patch also clears
// the partner. If the password, the roles or the partner change, or if the user is switched off, all of the user's sessions
// end. If the change is invalid, the error names all wrong fields.
func (u *User) Patch(change schema.Change[User]) (*User, ledger.Event, error) {
	next, faults := *u, new(schema.Faults)
	change(&next, faults)
	if next.Roles = next.Roles.sorted(); next.Partner == u.Partner && u.Roles.Has(PartnerRole) && !next.Roles.Has(PartnerRole) {
		next.Partner = 0
	}
	Users.Check(u, &next, faults)
	if err := FaultsAsRefusals("directory.PatchUser", faults); err != nil {
		return nil, ledger.Event{}, err
	}
	if Users.Equal(&next, u) {
		return u, ledger.Event{}, nil
	}
	if next.PassHash != u.PassHash || !slices.Equal(next.Roles, u.Roles) || next.Partner != u.Partner || !next.Active {
		next.Epoch++
	}
	return &next, laterEvent(ledger.User, u.ID, switchAction(u.Active, next.Active), stateOf(u.Active), stateOf(next.Active)), nil
}

// Role names a set of rights. The zero value is invalid.
type Role string

// The roles.
const (
	Admin       Role = "admin"
	Client      Role = "client"
	Auditor     Role = "auditor" // may read the ledger but write nothing
	PartnerRole Role = "partner" // may read the data of one partner, which User.Partner names
)

// AllRoles lists the roles.
var AllRoles = Roles{Admin, Auditor, Client, PartnerRole}

// IsValid tells whether r is one of the roles.
func (r Role) IsValid() bool {
	switch r {
	case Admin, Client, Auditor, PartnerRole:
		return true
	}
	return false
}

// Roles is a set of roles, ordered by name and without repetitions.
type Roles []Role

// IsValid tells whether s contains at least one role and only valid roles, ordered by name and without repetitions.
func (s Roles) IsValid() bool {
	for i, r := range s {
		if !r.IsValid() || i > 0 && s[i-1] >= r {
			return false
		}
	}
	return len(s) > 0
}

// Has tells whether at least one of the given roles is in the set.
func (s Roles) Has(anyOf ...Role) bool {
	for _, r := range anyOf {
		if slices.Contains(s, r) {
			return true
		}
	}
	return false
}

// Strings returns the names of the roles.
func (s Roles) Strings() []string {
	names := make([]string, len(s))
	for i, r := range s {
		names[i] = string(r)
	}
	return names
}

// sorted returns a copy of the roles, ordered by name. It keeps repetitions, so that IsValid can refuse them later.
func (s Roles) sorted() Roles {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

func rolesOf(names []string) Roles {
	roles := make(Roles, len(names))
	for i, name := range names {
		roles[i] = Role(name)
	}
	return roles
}
