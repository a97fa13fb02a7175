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

// limitIDs are the limits of the first organization's partner and the entries of its block list.
type limitIDs struct {
	daily, velocity, card, country ledger.Source
	foreignTerminal                ledger.ID // a terminal of another organization
}

// addLimits gives the first organization limits and entries of the block list, and switches each of them off
// and on again.
func addLimits(t *testing.T, w *fixture.Store) (b limitIDs) {
	t.Helper()
	server := fixture.Start(t, w)
	defer server.Close()
	ctx, org := t.Context(), w.FirstDemo.Org
	terminal := server.Directory.Terminals(org, w.FirstDemo.Partner)[0]
	b.foreignTerminal = server.Directory.Terminals(w.SecondDemo.Org, w.SecondDemo.Partner)[0].ID
	for source, draft := range map[*ledger.Source]directory.Limit{
		&b.daily: {
			Partner: w.FirstDemo.Partner, Terminal: terminal.ID, Kind: directory.DailyVolume, Scope: directory.ScopePartner,
			Asset: money.Asset{Currency: "USD", Env: terminal.Env}, MaxAmount: money.FromUint64(1000), Active: true,
		},
		&b.velocity: {
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
		&b.card:    {Kind: directory.BlockCard, Value: "0123456789abcdef0123456789abcdef", Masked: "424242******4242"},
		&b.country: {Kind: directory.BlockCountry, Value: "RU"},
	} {
		entry, err := server.Directory.CreateBlock(ctx, org, draft)
		fixture.Must(t, err)
		_, err = server.Directory.DeleteBlock(ctx, org, entry.ID)
		fixture.Must(t, err)
		_, err = server.Directory.CreateBlock(ctx, org, draft)
		fixture.Must(t, err)
		*source = ledger.Source{Kind: ledger.Block, ID: entry.ID}
	}
	return b
}

// changeRecord changes a column of a stored record of the first organization; nil takes its value away.
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
		source   func(*limitIDs) ledger.Source
		column   string
		value    func(*limitIDs) any
		wantText string
	}{
		{"a limit that is inactive, though it was switched on", (*limitIDs).dailySource, "active", sameValue(false), "events lead to"},
		{"a limit of a partner who does not exist", (*limitIDs).dailySource, "partner_id", sameValue(int64(99)), "bounds "}, // rule 3 also reports its terminal, which does not belong to that partner
		{"a limit of another organization's partner", (*limitIDs).velocitySource, "partner_id", sameValue(int64(2)), "bounds partner 2, who does not exist"},
		{"a limit of a partner without a number", (*limitIDs).velocitySource, "partner_id", sameValue(int64(-1)), "has a partner number below 1"},
		{"a limit of no partner", (*limitIDs).velocitySource, "partner_id", sameValue(nil), "no column partner_id"},
		{"a limit of a terminal that does not exist", (*limitIDs).dailySource, "terminal_id", sameValue(unknownID), "bounds a terminal that its partner does not have"},
		{"a limit of another organization's terminal", (*limitIDs).dailySource, "terminal_id", func(b *limitIDs) any { return b.foreignTerminal }, "bounds a terminal that its partner does not have"},
		{"a limit with an unreadable terminal", (*limitIDs).dailySource, "terminal_id", sameValue(fixture.Raw{1}), "can't be read: schema: unknown stored form: column terminal_id"},
		{"a limit in the other environment than its terminal", (*limitIDs).dailySource, "env", sameValue("test"), "bounds a terminal that its partner does not have"},
		{"a limit in no environment", (*limitIDs).dailySource, "env", sameValue("none"), "column env"},
		{"a limit of an unknown kind", (*limitIDs).dailySource, "kind", sameValue("weekly_volume"), "column kind"},
		{"a limit of unknown transactions", (*limitIDs).dailySource, "type", sameValue("merchant"), "column type"},
		{"a limit of an unknown scope", (*limitIDs).dailySource, "scope", sameValue("country"), "column scope"},
		{"a limit without an amount", (*limitIDs).dailySource, "max_amount", sameValue(nil), "bounds nothing"},
		{"a limit of nothing", (*limitIDs).dailySource, "max_amount", sameValue(money.Amount{}), "bounds nothing"},
		{"a limit above every amount", (*limitIDs).dailySource, "max_amount", sameValue(fixture.MustAdd(ledger.MaxAmount, 1)), "has a bound that is out of range"},
		{"a sum without a currency", (*limitIDs).dailySource, "currency", sameValue(nil), "bounds no currency"},
		{"a sum with a count", (*limitIDs).dailySource, "max_count", sameValue(int64(5)), "bounds nothing"},
		{"a sum in a sliding window", (*limitIDs).dailySource, "window", sameValue("hour"), "bounds nothing"},
		{"a velocity without a count", (*limitIDs).velocitySource, "max_count", sameValue(nil), "bounds nothing"},
		{"a velocity of a count below zero", (*limitIDs).velocitySource, "max_count", sameValue(int64(-1)), "has a bound that is out of range"},
		{"a velocity above every count", (*limitIDs).velocitySource, "max_count", sameValue(int64(directory.MaxCount + 1)), "has a bound that is out of range"},
		{"a velocity with an amount", (*limitIDs).velocitySource, "max_amount", sameValue(money.FromUint64(1)), "bounds nothing"},
		{"a velocity in an unknown window", (*limitIDs).velocitySource, "window", sameValue("day"), "column window"},
		{"a velocity in no window", (*limitIDs).velocitySource, "window", sameValue(nil), "bounds nothing"},
		{"an entry that is inactive, though it was listed again", (*limitIDs).countrySource, "active", sameValue(false), "events lead to"},
		{"an entry in another value's place", (*limitIDs).countrySource, "compared", sameValue("KZ"), "lies in another value's place"},
		{"an entry of an unknown kind", (*limitIDs).countrySource, "kind", sameValue("name"), "column kind"},
		{"an entry of another kind", (*limitIDs).countrySource, "kind", sameValue("ip"), "is no address"},
		{"a card of which nothing may be shown", (*limitIDs).cardSource, "masked", sameValue(nil), "is no fingerprint of a card"},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := fixture.Copy(t)
			b := addLimits(t, w)
			changeRecord(t, w, f.source(&b), f.column, f.value(&b))
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, 3)
			wantDetail(t, report, f.wantText)
		})
	}
}

func sameValue(value any) func(*limitIDs) any { return func(*limitIDs) any { return value } }

func (b *limitIDs) dailySource() ledger.Source    { return b.daily }
func (b *limitIDs) velocitySource() ledger.Source { return b.velocity }
func (b *limitIDs) countrySource() ledger.Source  { return b.country }
func (b *limitIDs) cardSource() ledger.Source     { return b.card }
