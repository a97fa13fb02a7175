package directory

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// update rewrites the committed report: go test ./ledger/directory -update.
var update = flag.Bool("update", false, "rewrite the reports in testdata")

func TestMachinesAreAsReported(t *testing.T) {
	var out strings.Builder
	for _, m := range []struct {
		name    string
		machine machine
	}{
		{"organization", organizationMachine},
		{"partner, terminal, user, limit, block", activationMachine},
		{"API key, session", keyMachine},
		{"platform", platformMachine},
		{"settlement", settlementMachine},
	} {
		fmt.Fprintf(&out, "## %s\n%s\n", m.name, m.machine.Report())
	}
	const file = "testdata/machines.txt"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != string(want) {
		t.Errorf("the machines changed; review and run with -update:\n%s", got)
	}
}

// organizationGrid is written by hand. For each current and each requested status, it has the name of the expected event or
// the code of the expected refusal. An archived organization stays archived.
var organizationGrid = map[OrgStatus]map[OrgStatus]string{
	Provisioning: {Provisioning: "unchanged", Active: "activate", Maintenance: "suspend", Archived: "archive"},
	Active:       {Provisioning: "withdraw", Active: "unchanged", Maintenance: "suspend", Archived: "archive"},
	Maintenance:  {Provisioning: "withdraw", Active: "activate", Maintenance: "unchanged", Archived: "archive"},
	Archived:     {Provisioning: "illegal_transition", Active: "illegal_transition", Maintenance: "illegal_transition", Archived: "unchanged"},
}

func TestEachChangeOfAnOrganizationsStatus(t *testing.T) {
	for from, row := range organizationGrid {
		for to, want := range row {
			o, _, err := NewOrganization(Organization{ID: testID(1), Name: "Org", Status: from, Type: Merchant})
			if err != nil {
				t.Fatal(err)
			}
			next, event, err := o.Patch(func(r *Organization, _ *schema.Faults) { r.Status = to })
			got := event.Name
			switch {
			case err != nil:
				got = string(wantRefusal(t, err).Code)
			case got == "":
				got = "unchanged"
				if next != o {
					t.Errorf("%s to %s: nothing changed, but the returned record is a different one", from, to)
				}
			case next.Status != to || event.From != string(from) || event.To != string(to):
				t.Errorf("%s to %s: status %s, event %+v", from, to, next.Status, event)
			}
			if got != want {
				t.Errorf("%s to %s = %s, want %s", from, to, got, want)
			}
			if o.Status != from {
				t.Fatalf("the old record changed to %s", o.Status)
			}
		}
	}
}

func TestLegalEvents(t *testing.T) {
	for _, c := range []struct {
		kind            ledger.Kind
		event, from, to string
		want            bool
	}{
		{ledger.Organization, "create", "", "maintenance", true},
		{ledger.Organization, "archive", "active", "archived", true},
		{ledger.Organization, "activate", "archived", "active", false},
		{ledger.Organization, "archive", "active", "maintenance", false},
		{ledger.Partner, "create", "", "inactive", true},
		{ledger.Partner, "deactivate", "active", "inactive", true},
		{ledger.Partner, "deactivate", "inactive", "inactive", false},
		{ledger.Terminal, "update", "inactive", "inactive", true},
		{ledger.APIKey, "revoke", "active", "revoked", true},
		{ledger.APIKey, "create", "", "revoked", false},
		{ledger.APIKey, "revoke", "revoked", "revoked", false},
		{ledger.Session, "create", "", "active", true},
		{ledger.Session, "update", "active", "active", false},
		{ledger.Session, "use", "active", "active", true},
		{ledger.Session, "revoke", "active", "revoked", true},
		{ledger.Session, "use", "revoked", "revoked", false},
		{ledger.APIKey, "use", "active", "active", true},
		{ledger.APIKey, "use", "revoked", "revoked", false},
		{ledger.User, "create", "", "inactive", true},
		{ledger.User, "deactivate", "active", "inactive", true},
		{ledger.User, "use", "active", "active", false},
		{ledger.Platform, "rotate", "open", "open", true},
		{ledger.Platform, "rotate", "", "open", false},
		{ledger.Platform, "create", "", "open", true},
		{ledger.Limit, "create", "", "active", true},
		{ledger.Limit, "create", "", "inactive", true},
		{ledger.Limit, "update", "active", "active", true},
		{ledger.Limit, "deactivate", "active", "inactive", true},
		{ledger.Limit, "activate", "inactive", "active", true},
		{ledger.Limit, "activate", "active", "active", false},
		{ledger.Block, "create", "", "active", true},
		{ledger.Block, "create", "", "inactive", false},
		{ledger.Block, "deactivate", "active", "inactive", true},
		{ledger.Block, "activate", "inactive", "active", true},
		{ledger.Block, "deactivate", "inactive", "inactive", false},
		{ledger.Settlement, "settle", "", "settled", true},
		{ledger.Settlement, "settle", "settled", "settled", true},
		{ledger.Settlement, "create", "", "settled", false},
		{ledger.AdminReply, "give", "", "given", true},
		{ledger.AdminReply, "create", "", "given", false},
		{ledger.AdminReply, "give", "given", "given", false},
		{ledger.Transaction, "create", "", "new", false},
		{ledger.Rate, "create", "", "92.5", true},
		{ledger.Rate, "create", "", "92.50", false},
		{ledger.Rate, "create", "", "0", false},
		{ledger.Rate, "create", "", "active", false},
		{ledger.Rate, "create", "1", "92.5", false},
		{ledger.Rate, "update", "92.5", "93", true},
		{ledger.Rate, "update", "92.5", "92.5", false},
		{ledger.Rate, "update", "", "93", false},
		{ledger.Rate, "update", "92.50", "93", false},
		{ledger.Rate, "update", "92.5", "93.0", false},
		{ledger.Rate, "deactivate", "92.5", "93", false},
	} {
		if got := IsLegalTransition(c.kind, c.event, c.from, c.to); got != c.want {
			t.Errorf("IsLegalTransition(%c, %s, %q, %q) = %v, want %v", c.kind, c.event, c.from, c.to, got, c.want)
		}
	}
}
