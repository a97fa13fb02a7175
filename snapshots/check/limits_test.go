package check_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// limitSources name the limits of the first organization's partner and the entries of the organization's block list.
type limitSources struct {
	dailyLimit, velocityLimit ledger.Source
	cardEntry, countryEntry   ledger.Source // entries of the block list
	foreignTerminal           ledger.ID     // a terminal of another organization
}

// addLimits gives the first organization limits and entries of the block list, and switches each of them off
// and on again.
func addLimits(t *testing.T, w *fixture.Store) (sources limitSources) {
	t.Helper()
	server := fixture.Start(t, w)
	defer server.Close()
	ctx, org := t.Context(), w.FirstDemo.Org
	terminal := server.Directory.Terminals(org, w.FirstDemo.Partner)[0]
	sources.foreignTerminal = server.Directory.Terminals(w.SecondDemo.Org, w.SecondDemo.Partner)[0].ID
	for source, draft := range map[*ledger.Source]directory.Limit{
		&sources.dailyLimit: {
			Partner: w.FirstDemo.Partner, Terminal: terminal.ID, Kind: directory.DailyVolume, Scope: directory.ScopePartner,
			Asset: money.Asset{Currency: "USD", Env: terminal.Env}, MaxAmount: money.FromUint64(1000), Active: true,
		},
		&sources.velocityLimit: {
			Partner: w.FirstDemo.Partner, Kind: directory.Velocity, Scope: directory.ScopeIP, Asset: money.Asset{Env: money.Prod},
			MaxCount: 5, Window: time.Hour, Active: true,
		},
	} {
		l, err := server.Directory.CreateLimit(ctx, org, draft)
		fixture.Must(t, err)
		for _, active := range []bool{false, true} {
			_, err = server.Directory.PatchLimit(ctx, org, l.ID, func(l *directory.Limit, _ *schema.Faults) { l.Active = active })
			fixture.Must(t, err)
		}
		*source = ledger.Source{Kind: ledger.Limit, ID: l.ID}
	}
	for source, draft := range map[*ledger.Source]directory.BlockDraft{
		&sources.cardEntry:    {Kind: directory.BlockCard, Value: "0123456789abcdef0123456789abcdef", Masked: "424242******4242"},
		&sources.countryEntry: {Kind: directory.BlockCountry, Value: "RU"},
	} {
		entry, err := server.Directory.CreateBlock(ctx, org, draft)
		fixture.Must(t, err)
		_, err = server.Directory.DeleteBlock(ctx, org, entry.ID)
		fixture.Must(t, err)
		_, err = server.Directory.CreateBlock(ctx, org, draft)
		fixture.Must(t, err)
		*source = ledger.Source{Kind: ledger.Block, ID: entry.ID}
	}
	return sources
}

// changeRecord changes a column of a stored record of the first organization; nil removes the value.
func changeRecord(t *testing.T, w *fixture.Store, source ledger.Source, column string, value any) {
	t.Helper()
	w.Corrupt(t, func(p *fixture.Corrupter) { p.ChangeColumn(w.FirstDemo.Org, source, column, value) })
}

func TestLimitsAndBlocklistBreakNoRule(t *testing.T) {
	w := fixture.Copy(t)
	addLimits(t, w)
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

func TestEveryLimitFaultBreaksItsRule(t *testing.T) {
	unknownID := uuid.New()
	for _, f := range []struct {
		name     string
		source   func(*limitSources) ledger.Source
		column   string
		value    func(*limitSources) any
		wantText string
	}{
		{"a limit that is inactive, though it was switched on", (*limitSources).daily, "active", fixedValue(false), "events lead to"},
		{"a limit of a partner who does not exist", (*limitSources).daily, "partner_id", fixedValue(int64(99)), "bounds "}, // rule 3 also reports its terminal, which does not belong to that partner
		{"a limit of another organization's partner", (*limitSources).velocity, "partner_id", fixedValue(int64(2)), "bounds partner 2, who does not exist"},
		{"a limit of a partner without a number", (*limitSources).velocity, "partner_id", fixedValue(int64(-1)), "has a partner number below 1"},
		{"a limit of no partner", (*limitSources).velocity, "partner_id", fixedValue(nil), "no column partner_id"},
		{"a limit of a terminal that does not exist", (*limitSources).daily, "terminal_id", fixedValue(unknownID), "bounds a terminal that its partner does not have"},
		{"a limit of another organization's terminal", (*limitSources).daily, "terminal_id", func(s *limitSources) any { return s.foreignTerminal }, "bounds a terminal that its partner does not have"},
		{"a limit with an unreadable terminal", (*limitSources).daily, "terminal_id", fixedValue(fixture.Raw{1}), "can't be read: schema: unknown stored form: column terminal_id"},
		{"a limit in the other environment than its terminal", (*limitSources).daily, "env", fixedValue("test"), "bounds a terminal that its partner does not have"},
		{"a limit in no environment", (*limitSources).daily, "env", fixedValue("none"), "column env"},
		{"a limit of an unknown kind", (*limitSources).daily, "kind", fixedValue("weekly_volume"), "column kind"},
		{"a limit for an unknown type of transaction", (*limitSources).daily, "type", fixedValue("merchant"), "column type"},
		{"a limit of an unknown scope", (*limitSources).daily, "scope", fixedValue("country"), "column scope"},
		{"a limit without an amount", (*limitSources).daily, "max_amount", fixedValue(nil), "bounds nothing"},
		{"a limit whose amount is zero", (*limitSources).daily, "max_amount", fixedValue(money.Amount{}), "bounds nothing"},
		{"a limit above the maximal amount", (*limitSources).daily, "max_amount", fixedValue(fixture.MustAdd(ledger.MaxAmount, 1)), "has a bound that is out of range"},
		{"a volume limit without a currency", (*limitSources).daily, "currency", fixedValue(nil), "bounds no currency"},
		{"a volume limit with a count", (*limitSources).daily, "max_count", fixedValue(int64(5)), "bounds nothing"},
		{"a volume limit with a sliding window", (*limitSources).daily, "window", fixedValue("hour"), "bounds nothing"},
		{"a velocity without a count", (*limitSources).velocity, "max_count", fixedValue(nil), "bounds nothing"},
		{"a velocity with a count below zero", (*limitSources).velocity, "max_count", fixedValue(int64(-1)), "has a bound that is out of range"},
		{"a velocity with a count above the maximum", (*limitSources).velocity, "max_count", fixedValue(int64(directory.MaxCount + 1)), "has a bound that is out of range"},
		{"a velocity with an amount", (*limitSources).velocity, "max_amount", fixedValue(money.FromUint64(1)), "bounds nothing"},
		{"a velocity in an unknown window", (*limitSources).velocity, "window", fixedValue("day"), "column window"},
		{"a velocity in no window", (*limitSources).velocity, "window", fixedValue(nil), "bounds nothing"},
		{"an entry that is inactive, though it was listed again", (*limitSources).country, "active", fixedValue(false), "events lead to"},
		{"an entry stored under the id of another value", (*limitSources).country, "compared", fixedValue("KZ"), "lies in another value's place"},
		{"an entry of an unknown kind", (*limitSources).country, "kind", fixedValue("name"), "column kind"},
		{"an entry of another kind", (*limitSources).country, "kind", fixedValue("ip"), "is no address"},
		{"a card without its masked number", (*limitSources).card, "masked", fixedValue(nil), "is no fingerprint of a card"},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := fixture.Copy(t)
			sources := addLimits(t, w)
			changeRecord(t, w, f.source(&sources), f.column, f.value(&sources))
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, 3)
			wantDetail(t, report, f.wantText)
		})
	}
}

// fixedValue returns a function that returns the value.
func fixedValue(value any) func(*limitSources) any { return func(*limitSources) any { return value } }

func (s *limitSources) daily() ledger.Source    { return s.dailyLimit }
func (s *limitSources) velocity() ledger.Source { return s.velocityLimit }
func (s *limitSources) country() ledger.Source  { return s.countryEntry }
func (s *limitSources) card() ledger.Source     { return s.cardEntry }
