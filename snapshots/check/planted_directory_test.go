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

// oneOfEach returns a record of every kind in the directory, and its organization.
func oneOfEach(t *testing.T, w *fixture.Store) (sources map[ledger.Source]ledger.ID) {
	t.Helper()
	sources = map[ledger.Source]ledger.ID{{Kind: ledger.Platform, ID: directory.PlatformID}: directory.PlatformOrg}
	for name, a := range administeredRecords(t, w) {
		switch name {
		case "velocity", "opening balance", "settlement with a provider":
		case "organization":
			sources[a.source] = a.source.ID
		default:
			sources[a.source] = w.First.Org
		}
	}
	j := fixture.OpenJournal(t, w, clock.NewManual(fixture.StartTime), nil)
	v := j.View()
	fixture.Must(t, v.RowsWith(store.KeyRecords(nil, w.First.Org, ledger.Session), func(key, _ []byte) (bool, error) {
		_, session, _ := store.ParseRecordKey(key)
		sources[session] = w.First.Org
		return false, nil
	}))
	v.Close()
	fixture.Must(t, j.Close())
	if len(sources) != len(directory.Types) {
		t.Fatalf("%d of %d kinds", len(sources), len(directory.Types))
	}
	return sources
}

// A record of the directory can't be read without a column that every record of its kind has.
func TestARecordWithoutANeededColumnIsFound(t *testing.T) {
	for n, more := 0, true; more; n++ { // the nth needed column of each kind
		w := fixture.Copy(t)
		sources := oneOfEach(t, w)
		var lacks []string
		more = false
		w.Plant(t, func(p *fixture.Planter) {
			for source, org := range sources {
				needed := slices.DeleteFunc(fixture.StoredColumns(source.Kind), func(c *schema.Column) bool { return !c.Required || c.Secret })
				if n < len(needed) {
					p.Column(org, source, needed[n].Name, nil)
					lacks = append(lacks, scan.Named(source)+" can't be read: "+schema.ErrStored.Error()+": no column "+needed[n].Name)
				}
				more = more || n+1 < len(needed)
			}
		})
		report := w.Check(t, check.Inputs{})
		for _, says := range lacks {
			if !slices.ContainsFunc(report.Rules[findings.RuleStates-1].Details, func(detail string) bool { return strings.HasSuffix(detail, says) }) {
				t.Errorf("it is not said that %s", says)
			}
		}
	}
}
