package directory

import (
	"log/slog"
	"reflect"
	"slices"

	"mizan/ledger"
)

// OrgType is the kind of an organization. The zero value is invalid.
type OrgType string

// The types of organizations.
const (
	Bank     OrgType = "bank"
	Merchant OrgType = "merchant"
)

// Valid tells whether t is one of the types.
func (t OrgType) Valid() bool { return t == Bank || t == Merchant }

// OrgStatus is an organization's state. The zero value is invalid.
type OrgStatus string

// The states of organizations. Keys and sessions are accepted only while it is active.
const (
	Provisioning OrgStatus = "provisioning"
	Active       OrgStatus = "active"
	Maintenance  OrgStatus = "maintenance"
	Archived     OrgStatus = "archived" // final
)

// Valid tells whether s is one of the states.
func (s OrgStatus) Valid() bool {
	switch s {
	case Provisioning, Active, Maintenance, Archived:
		return true
	}
	return false
}

// Modules that can be switched on for an organization.
const (
	ParticipatoryFinance = "participatory_finance"
	IslamicFinance       = "islamic_finance"
)

var modules = []string{ParticipatoryFinance, IslamicFinance}

// MaxRegions bounds an organization's allowed regions.
const MaxRegions = 100

// Organization is the unit of isolation: every record belongs to exactly one, except the
// platform's own.
type Organization struct {
	ID      ledger.ID
	Name    string
	Type    OrgType
	Status  OrgStatus
	Modules []string // sorted
	Regions []string // ISO 3166-1 alpha-2, sorted; empty: all
	Created ledger.Micros
}

// Active tells whether the organization's keys and sessions are accepted.
func (o *Organization) Active() bool { return o.Status == Active }

// Has tells whether the module is on.
func (o *Organization) Has(module string) bool { return slices.Contains(o.Modules, module) }

// Allows tells whether the organization works in the region.
func (o *Organization) Allows(region string) bool {
	return len(o.Regions) == 0 || slices.Contains(o.Regions, region)
}

// LogValue implements slog.LogValuer.
func (o *Organization) LogValue() slog.Value { return slog.StringValue(o.ID.String()) }

// OrganizationDraft is a request for a new organization. An empty type means Merchant, an empty
// status Active.
type OrganizationDraft struct {
	Name    string
	Type    OrgType
	Status  OrgStatus
	Modules []string
	Regions []string
}

// NewOrganization decides the creation of an organization. The error is Join's.
func NewOrganization(id ledger.ID, d OrganizationDraft) (*Organization, ledger.Event, error) {
	if d.Type == "" {
		d.Type = Merchant
	}
	if d.Status == "" {
		d.Status = Active
	}
	o := &Organization{ID: id, Name: d.Name, Type: d.Type, Status: d.Status, Modules: sorted(d.Modules), Regions: sorted(d.Regions)}
	if err := o.check("directory.CreateOrganization"); err != nil {
		return nil, ledger.Event{}, err
	}
	return o, began(ledger.Organization, id, State(o.Status)), nil
}

// OrganizationPatch is a request to change an organization. Nil leaves a field unchanged; a list
// is replaced as a whole.
type OrganizationPatch struct {
	Name    *string
	Type    *OrgType
	Status  *OrgStatus
	Modules *[]string
	Regions *[]string
}

// Patch decides a change. The error is Join's, or an IllegalTransition if the organization can't
// go to the requested status.
func (o *Organization) Patch(p OrganizationPatch) (*Organization, ledger.Event, error) {
	const op = "directory.PatchOrganization"
	next := *o
	assign(&next.Name, p.Name)
	assign(&next.Type, p.Type)
	assign(&next.Status, p.Status)
	if p.Modules != nil {
		next.Modules = sorted(*p.Modules)
	}
	if p.Regions != nil {
		next.Regions = sorted(*p.Regions)
	}
	if err := next.check(op); err != nil {
		return nil, ledger.Event{}, err
	}
	action := toward(o.Status, next.Status)
	if _, legal := organizationMachine.Next(State(o.Status), action); !legal {
		return nil, ledger.Event{}, ledger.Refuse(op, ledger.IllegalTransition, "an %s organization can't become %s", o.Status, next.Status)
	}
	if reflect.DeepEqual(next, *o) {
		return o, ledger.Event{}, nil
	}
	return &next, moved(ledger.Organization, o.ID, action, State(o.Status), State(next.Status)), nil
}

func (o *Organization) check(op string) error {
	unknown := func(module string) bool { return !slices.Contains(modules, module) }
	return Join(
		checkText(op, "name", o.Name),
		check(o.Type.Valid(), op, "type", "must be bank or merchant"),
		check(o.Status.Valid(), op, "status", "must be provisioning, active, maintenance or archived"),
		check(!slices.ContainsFunc(o.Modules, unknown), op, "modules", "names an unknown module"),
		o.checkRegions(op),
	)
}

func (o *Organization) checkRegions(op string) error {
	if len(o.Regions) > MaxRegions {
		return ledger.RefuseField(op, "allowed_regions", "has more than %d entries", MaxRegions)
	}
	for _, region := range o.Regions {
		if len(region) != 2 || !allUpper(region) {
			return ledger.RefuseField(op, "allowed_regions", "must hold two-letter region codes in upper case")
		}
	}
	return nil
}
