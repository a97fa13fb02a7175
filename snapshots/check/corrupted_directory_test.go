package check_test

import (
	"slices"
	"strings"
	"testing"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
	"mizan/snapshots/fixture"
)

// recordsOfEachKind returns one record of each kind in the directory, with the record's organization.
func recordsOfEachKind(t *testing.T, w *fixture.Store) (sources map[ledger.Source]ledger.ID) {
	t.Helper()
	sources = map[ledger.Source]ledger.ID{{Kind: ledger.Platform, ID: directory.PlatformID}: directory.PlatformOrg}
	for name, a := range createShownRecords(t, w) {
		switch name {
		case "velocity", "opening balance", "settlement with a provider":
		case "organization":
			sources[a.source] = a.source.ID
		default:
			sources[a.source] = w.FirstDemo.Org
		}
	}
	j := fixture.OpenJournal(t, w, clock.NewManual(fixture.StartTime), nil)
	v := j.View()
	fixture.Must(t, v.RowsWith(store.KeyRecords(nil, w.FirstDemo.Org, ledger.Session), func(key, _ []byte) (bool, error) {
		_, session, _ := store.ParseRecordKey(key)
		sources[session] = w.FirstDemo.Org
		return false, nil
	}))
	v.Close()
	fixture.Must(t, j.Close())
	if len(sources) != len(directory.Types) {
		t.Fatalf("%d of %d kinds", len(sources), len(directory.Types))
	}
	return sources
}

// A record of the directory can't be read if it lacks a column that every record of its kind must have.
func TestRecordWithoutARequiredColumnIsFound(t *testing.T) {
	for n, hasMore := 0, true; hasMore; n++ { // removes the nth required column from a record of each kind
		w := fixture.Copy(t)
		sources := recordsOfEachKind(t, w)
		var wantTexts []string
		hasMore = false
		w.Corrupt(t, func(p *fixture.Corrupter) {
			for source, org := range sources {
				requiredColumns := slices.DeleteFunc(fixture.StoredColumns(source.Kind), func(c *schema.Column) bool { return !c.Required || c.Secret })
				if n < len(requiredColumns) {
					p.ChangeColumn(org, source, requiredColumns[n].Name, nil)
					wantTexts = append(wantTexts, scan.NameOf(source)+" can't be read: "+schema.ErrStored.Error()+": no column "+requiredColumns[n].Name)
				}
				hasMore = hasMore || n+1 < len(requiredColumns)
			}
		})
		report := w.Check(t, check.Inputs{})
		for _, wantText := range wantTexts {
			if !slices.ContainsFunc(report.Rules[findings.RuleStates-1].Details, func(detail string) bool { return strings.HasSuffix(detail, wantText) }) {
				t.Errorf("it is not said that %s", wantText)
			}
		}
	}
}

func TestEveryDirectoryRecordFaultBreaksItsRule(t *testing.T) {
	for _, f := range []struct {
		name, recordName, column string
		value                    any
		brokenRules              []int
		wantText                 string
	}{
		{"an organization that is archived without an event", "organization", "status", "archived", []int{3}, `says "archived", and its events lead to "active"`},
		{"an organization of an unknown type", "organization", "type", "shop", []int{3}, "column type"},
		{"a terminal that is inactive, though nobody switched it off", "terminal", "is_active", false, []int{3}, `says "inactive", and its events lead to "active"`},
		{"a terminal of an unknown type", "terminal", "type", "loan", []int{3}, ""}, // the limit on this terminal is reported too
		{"a terminal with a fee below zero", "terminal", "provider_params", []byte(`{"fee_bps":"-1"}`), []int{3}, ""},
		{"a terminal with an unreadable address", "terminal", "merchant_params", []byte(`{"notify_url":1}`), []int{3}, ""},
		{"a terminal of nobody", "terminal", "partner_id", int64(0), []int{3}, ""},
		{"a key that is revoked without an event", "key", "revoked_at", ledger.Micros(1), []int{3}, `says "revoked", and its events lead to "active"`},
		{"a key that ends before 1970", "key", "expires_at", ledger.Micros(-1), unreadableRules, "has a time before 1970"},
		{"a key of nobody", "key", "partner_id", int64(-1), unreadableRules, "has a partner number below 1"},
		{"a key with a hash of another length", "key", "hash", fixture.Raw{1}, unreadableRules, "column hash"},
		{"a key with another hash", "key", "hash", [32]byte{1}, []int{4}, "key"},
		{"a partner with another login", "partner", "login", "other", []int{4}, "key"},
		{"a partner whose overdraft can't be read", "partner", "overdraft_limit", fixture.Raw{1, 9}, unreadableRules, ""}, // the limit and the user of this partner are reported too
		{"a partner whose addresses can't be read", "partner", "source_addresses", fixture.Raw("\x01x"), unreadableRules, ""},
		{"a partner with another number", "partner", "id", int64(99), []int{3, 4}, ""}, // the limit and the user of this partner then belong to nobody, and the new number has no claim
	} {
		t.Run(f.name, func(t *testing.T) {
			w := fixture.Copy(t)
			shown := createShownRecords(t, w)[f.recordName]
			org := w.FirstDemo.Org
			if shown.source.Kind == ledger.Organization {
				org = shown.source.ID
			}
			w.Corrupt(t, func(p *fixture.Corrupter) { p.ChangeColumn(org, shown.source, f.column, f.value) })
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, f.brokenRules...)
			wantReason(t, report, f.brokenRules, f.wantText)
		})
	}
}
