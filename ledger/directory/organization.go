package directory

import (
	"log/slog"
	"slices"

	"mizan/ledger/columns"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// OrgType is the kind of an organization. The zero value is invalid.
type OrgType string

// The types of organizations.
const (
	Bank     OrgType = "bank"
	Merchant OrgType = "merchant"
)

// IsValid tells whether t is one of the types.
func (t OrgType) IsValid() bool { return t == Bank || t == Merchant }

// OrgStatus is an organization's state. The zero value is invalid.
type OrgStatus string

// The states of organizations. An organization's keys and sessions are accepted only while it is
// active.
const (
	Provisioning OrgStatus = "provisioning"
	Active       OrgStatus = "active"
	Maintenance  OrgStatus = "maintenance"
	Archived     OrgStatus = "archived" // cannot be left
)

// IsValid tells whether s is one of the states.
func (s OrgStatus) IsValid() bool {
	switch s {
	case Provisioning, Active, Maintenance, Archived:
		return true
	}
	return false
}

// Modules (groups of functions) that can be switched on for an organization.
const (
	ParticipatoryFinance = "participatory_finance"
	IslamicFinance       = "islamic_finance"
	DualControl          = "dual_control" // a contract must be approved by a user who has neither created nor submitted it
)

var modules = []string{ParticipatoryFinance, IslamicFinance, DualControl}

// MaxRegions is the largest number of regions in an organization's list of allowed regions.
const MaxRegions = 100

// Organization is the unit of isolation: every record belongs to exactly one organization, except the
// platform's own records.
type Organization struct {
	ID        ledger.ID
	Name      string
	Type      OrgType
	Status    OrgStatus
	Modules   []string // sorted
	Regions   []string // ISO 3166-1 alpha-2, sorted; empty: all
	CreatedAt ledger.Micros
}

// Active tells whether the organization's keys and sessions are accepted.
func (o *Organization) Active() bool { return o.Status == Active }

// HasModule tells whether the module is switched on for the organization.
func (o *Organization) HasModule(module string) bool { return slices.Contains(o.Modules, module) }

// AllowsRegion tells whether the organization may make contracts in the region.
func (o *Organization) AllowsRegion(region string) bool {
	return len(o.Regions) == 0 || slices.Contains(o.Regions, region)
}

// LogValue implements slog.LogValuer.
func (o *Organization) LogValue() slog.Value { return slog.StringValue(o.ID.String()) }

// Organizations are the columns of organizations.
var Organizations = schema.NewType[Organization]("organization",
	columns.IDColumn(func(o *Organization) *ledger.ID { return &o.ID }),
	schema.Field(schema.Text(1, "name", schema.Required, schema.OneLine,
		schema.Help("name of the organization")), func(o *Organization) *string { return &o.Name }),
	schema.TextField(schema.Word(2, "type", []string{string(Bank), string(Merchant)}, schema.Required, schema.DefaultTo(string(Merchant)),
		schema.Help("kind of organization")), func(o *Organization) *OrgType { return &o.Type }),
	schema.TextField(schema.Word(3, "status", []string{string(Provisioning), string(Active), string(Maintenance), string(Archived)}, schema.Required,
		schema.DefaultTo(string(Active)), schema.Help("keys and sessions are accepted only while the organization is active; the status archived is final")),
		func(o *Organization) *OrgStatus { return &o.Status }),
	schema.Field(schema.Texts(4, "modules", schema.Flag("module"), schema.Settable, schema.NotNull, schema.Rule(modulesRule),
		schema.Help("any of participatory_finance, islamic_finance and dual_control")), func(o *Organization) *[]string { return &o.Modules }),
	schema.Field(schema.Texts(5, "allowed_regions", schema.Flag("region"), schema.Settable, schema.NotNull, schema.AtMost(MaxRegions), schema.Rule(regionsRule),
		schema.Help("two-letter codes of the regions in which the organization works; an empty list means all")), func(o *Organization) *[]string { return &o.Regions }),
	columns.CreatedColumn(func(o *Organization) *ledger.Micros { return &o.CreatedAt }),
).WithRowMetadata(func(o *Organization, metadata schema.RowMetadata) {
	o.ID, o.CreatedAt = metadata.ID, metadata.CreatedAt
})

// modulesRule refuses a list with an unknown module.
func modulesRule(value any) string {
	if slices.ContainsFunc(value.([]string), func(module string) bool { return !slices.Contains(modules, module) }) {
		return "names an unknown module"
	}
	return ""
}

// regionsRule refuses a list that contains anything but two-letter codes in upper case.
func regionsRule(value any) string {
	if slices.ContainsFunc(value.([]string), func(region string) bool { return len(region) != 2 || !isUpper(region) }) {
		return "must hold two-letter region codes in upper case"
	}
	return ""
}

// NewOrganization returns a new organization with the fields of the draft, and the event of its creation. If the draft is
// invalid, the error names all wrong fields.
func NewOrganization(draft Organization) (*Organization, ledger.Event, error) {
	o := &draft
	if err := o.check("directory.CreateOrganization", nil, new(schema.Faults)); err != nil {
		return nil, ledger.Event{}, err
	}
	return o, createdEvent(ledger.Organization, o.ID, State(o.Status)), nil
}

// Patch returns a changed copy of the organization, and the event of this change. If the change is invalid, the error names
// all wrong fields. If the organization's status cannot change to the requested one, the error has the code
// IllegalTransition.
func (o *Organization) Patch(change schema.Change[Organization]) (*Organization, ledger.Event, error) {
	const op = "directory.PatchOrganization"
	next, faults := *o, new(schema.Faults)
	change(&next, faults)
	if err := next.check(op, o, faults); err != nil {
		return nil, ledger.Event{}, err
	}
	action := statusAction(o.Status, next.Status)
	if _, legal := organizationMachine.Next(State(o.Status), action); !legal {
		return nil, ledger.Event{}, ledger.Refuse(op, ledger.IllegalTransition, "an %s organization can't become %s", o.Status, next.Status)
	}
	if Organizations.Equal(&next, o) {
		return o, ledger.Event{}, nil
	}
	return &next, laterEvent(ledger.Organization, o.ID, action, State(o.Status), State(next.Status)), nil
}

// check sorts the lists of an organization and checks the fields. old is the organization before the change, or nil if the
// organization is new.
func (o *Organization) check(op string, old *Organization, f *schema.Faults) error {
	o.Modules, o.Regions = sortedUnique(o.Modules), sortedUnique(o.Regions)
	Organizations.Check(old, o, f)
	return FaultsAsRefusals(op, f)
}
