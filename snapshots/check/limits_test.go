package check_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/vmihailenco/msgpack/v5"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// bounds are the limits on the first organization's partner.
type bounds struct {
	daily, velocity, card, country ledger.Source
	strange                        ledger.ID // a terminal of another organization
}

// addLimits gives the first organization limits and a block list, each switched off and on
// again.
func addLimits(t *testing.T, w *fixture.Store) (b bounds) {
	t.Helper()
	h := fixture.Start(t, w)
	defer h.Close()
	ctx, org := t.Context(), w.First.Org
	terminal := h.Directory.Terminals(org, w.First.Partner)[0]
	b.strange = h.Directory.Terminals(w.Second.Org, w.Second.Partner)[0].ID
	amount, count, on := money.FromUint64(1000), int64(5), true
	for source, draft := range map[*ledger.Source]directory.Limit{
		&b.daily: {
			Partner: w.First.Partner, Terminal: &terminal.ID, Kind: directory.DailyVolume, Currency: "USD",
			Env: terminal.Env.String(), MaxAmount: &amount,
		},
		&b.velocity: {Partner: w.First.Partner, Kind: directory.Velocity, MaxCount: &count, Window: "hour", Scope: directory.ScopeIP},
	} {
		l, err := h.Directory.CreateLimit(ctx, org, draft)
		fixture.Must(t, err)
		for _, patch := range []schema.Change[directory.Limit]{{Active: new(bool)}, {Active: &on}} {
			_, err = h.Directory.PatchLimit(ctx, org, l.ID, patch)
			fixture.Must(t, err)
		}
		*source = ledger.Source{Kind: ledger.Limit, ID: l.ID}
	}
	for source, draft := range map[*ledger.Source]directory.BlockDraft{
		&b.card:    {Kind: directory.BlockCard, Value: "0123456789abcdef0123456789abcdef", Masked: "424242******4242"},
		&b.country: {Kind: directory.BlockCountry, Value: "RU"},
	} {
		entry, err := h.Directory.CreateBlock(ctx, org, draft)
		fixture.Must(t, err)
		_, err = h.Directory.DeleteBlock(ctx, org, entry.ID)
		fixture.Must(t, err)
		_, err = h.Directory.CreateBlock(ctx, org, draft)
		fixture.Must(t, err)
		*source = ledger.Source{Kind: ledger.Block, ID: entry.ID}
	}
	return b
}

// amendRecord changes a field of a stored record of the first organization; nil removes the
// field.
func amendRecord(t *testing.T, w *fixture.Store, source ledger.Source, field string, value any) {
	t.Helper()
	w.Plant(t, func(p *fixture.Planter) {
		p.Record(w.First.Org, source, func(_ *store.Envelope, payload []byte) []byte {
			var fields map[string]any
			fixture.Must(t, msgpack.Unmarshal(payload[1:], &fields))
			fields[field] = value
			if value == nil {
				delete(fields, field)
			}
			changed, err := msgpack.Marshal(fields)
			fixture.Must(t, err)
			return append([]byte{1}, changed...)
		})
	})
}

func TestLimitsAndTheBlocklistAreSound(t *testing.T) {
	w := fixture.Copy(t)
	addLimits(t, w)
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

func TestEveryFaultOfALimitBreaksItsRule(t *testing.T) {
	someone := uuid.New()
	for _, f := range []struct {
		name   string
		source func(*bounds) ledger.Source
		field  string
		value  func(*bounds) any
	}{
		{"a limit that is off, though it was switched on", (*bounds).ofDaily, "active", sameValue(false)},
		{"a limit of a partner who is not there", (*bounds).ofDaily, "partner", sameValue(99)},
		{"a limit of another organization's partner", (*bounds).ofVelocity, "partner", sameValue(2)},
		{"a limit of a terminal that is not there", (*bounds).ofDaily, "terminal", sameValue(someone[:])},
		{"a limit of another organization's terminal", (*bounds).ofDaily, "terminal", func(b *bounds) any { return b.strange[:] }},
		{"a limit of what is no terminal", (*bounds).ofDaily, "terminal", sameValue([]byte{1})},
		{"a limit in the other environment than its terminal", (*bounds).ofDaily, "env", sameValue("none")},
		{"a limit of an unknown kind", (*bounds).ofDaily, "kind", sameValue("weekly_volume")},
		{"a limit of an unknown scope", (*bounds).ofDaily, "scope", sameValue("country")},
		{"a limit without an amount", (*bounds).ofDaily, "max_amount", sameValue(nil)},
		{"a limit of nothing", (*bounds).ofDaily, "max_amount", sameValue([]byte{0})},
		{"a sum without a currency", (*bounds).ofDaily, "currency", sameValue(nil)},
		{"a velocity without a count", (*bounds).ofVelocity, "max_count", sameValue(nil)},
		{"a velocity in a window that there is not", (*bounds).ofVelocity, "window", sameValue(1)},
		{"an entry that is off, though it was listed again", (*bounds).ofCountry, "active", sameValue(false)},
		{"an entry in another value's place", (*bounds).ofCountry, "value", sameValue("KZ")},
		{"an entry of an unknown kind", (*bounds).ofCountry, "kind", sameValue("name")},
		{"a card of which nothing may be shown", (*bounds).ofCard, "masked", sameValue(nil)},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := fixture.Copy(t)
			b := addLimits(t, w)
			amendRecord(t, w, f.source(&b), f.field, f.value(&b))
			fixture.WantBroken(t, w.Check(t, check.Inputs{}), 3)
		})
	}
}

func sameValue(value any) func(*bounds) any { return func(*bounds) any { return value } }

func (b *bounds) ofDaily() ledger.Source    { return b.daily }
func (b *bounds) ofVelocity() ledger.Source { return b.velocity }
func (b *bounds) ofCountry() ledger.Source  { return b.country }
func (b *bounds) ofCard() ledger.Source     { return b.card }
