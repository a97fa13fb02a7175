package directory

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// dailyLimit returns a draft of a daily limit of the partner, in cents.
func dailyLimit(partner int64, cents uint64) directory.Limit {
	return directory.Limit{
		Partner: partner, Kind: directory.DailyVolume, MaxAmount: money.FromUint64(cents), Asset: money.Asset{Currency: "USD", Env: money.Prod},
		Scope: directory.ScopePartner, Active: true,
	}
}

func (f *fixture) newLimit(p *directory.Partner, cents uint64) *directory.Limit {
	f.t.Helper()
	return must(f.CreateLimit(f.t.Context(), p.Org, dailyLimit(p.Number, cents)))
}

// wantLimits checks the amounts of a partner's active limits, in their order.
func (f *fixture) wantLimits(p *directory.Partner, want ...uint64) {
	f.t.Helper()
	var got []uint64
	for _, l := range f.Limits(p.Org, p.Number) {
		cents, _ := l.MaxAmount.Uint64()
		got = append(got, cents)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.t.Errorf("limits %v in force, want %v", got, want)
	}
}

func deactivation() schema.Change[directory.Limit] {
	return func(r *directory.Limit, _ *schema.Faults) { r.Active = false }
}

func TestActiveLimitsAreInForceOldestFirst(t *testing.T) {
	f := open(t)
	ctx, org := t.Context(), f.newOrganization("One")
	partner, otherPartner := f.newPartner(org.ID, "a"), f.newPartner(org.ID, "b")
	if f.Limits(org.ID, partner.Number) != nil || f.Limits(uuid.New(), partner.Number) != nil {
		t.Error("a partner has limits before any was made")
	}
	first, second := f.newLimit(partner, 1), f.newLimit(partner, 2)
	inactiveDraft := dailyLimit(partner.Number, 3)
	inactiveDraft.Active = false
	third := must(f.CreateLimit(ctx, org.ID, inactiveDraft))
	f.newLimit(otherPartner, 9)
	f.wantLimits(partner, 1, 2)
	f.wantLimits(otherPartner, 9)
	listed := f.Limits(org.ID, partner.Number)

	amount, active := money.FromUint64(11), true
	must(f.PatchLimit(ctx, org.ID, first.ID, func(r *directory.Limit, _ *schema.Faults) { r.MaxAmount = amount }))
	f.wantLimits(partner, 11, 2)
	must(f.PatchLimit(ctx, org.ID, third.ID, func(r *directory.Limit, _ *schema.Faults) { r.Active = active }))
	must(f.PatchLimit(ctx, org.ID, first.ID, deactivation()))
	f.wantLimits(partner, 2, 3)
	if len(listed) != 2 || listed[0] != first || listed[1] != second {
		t.Error("a slice that was handed out has changed")
	}
	f.restart()
	f.wantLimits(partner, 2, 3)
	f.wantLimits(otherPartner, 9)

	must(f.PatchLimit(ctx, org.ID, first.ID, func(r *directory.Limit, _ *schema.Faults) { r.Active = active }))
	f.wantLimits(partner, 11, 2, 3)
	for _, l := range f.Limits(org.ID, partner.Number) {
		must(f.PatchLimit(ctx, org.ID, l.ID, deactivation()))
	}
	if f.Limits(org.ID, partner.Number) != nil {
		t.Error("limits are in force that were switched off")
	}
	if l, ok := f.Limit(org.ID, first.ID); !ok || l.Active || l.CreatedAt != first.CreatedAt || l.MaxAmount != amount {
		t.Errorf("%+v %v", l, ok)
	}
	want := "[o:create p:create p:create l:create l:create l:create l:create l:update l:activate l:deactivate l:activate l:deactivate l:deactivate l:deactivate]"
	if got := fmt.Sprint(f.events(org.ID)); got != want {
		t.Errorf("journal %s, want %s", got, want)
	}
}

// Every new transaction looks up its partner's limits, so the lookup must cost next to nothing.
func TestLimitsAllocatesNothing(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	p := f.newPartner(o.ID, "a")
	f.newLimit(p, 1)
	payer := directory.Payer{Email: "a@b.c"}
	org, partner := o.ID, p.Number
	if n := testing.AllocsPerRun(100, func() {
		if len(f.Limits(org, partner)) != 1 || f.Limits(org, 1<<40) != nil || f.HasBlocks(org) {
			t.Error("not the limits and blocks that there are")
		}
		if _, blocked := f.Blocked(org, &payer); blocked {
			t.Error("blocked by an empty list")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRefusedLimits(t *testing.T) {
	f := open(t)
	ctx, org, other := t.Context(), f.newOrganization("One"), f.newOrganization("Two")
	partner, foreignPartner := f.newPartner(org.ID, "a"), f.newPartner(other.ID, "b")
	limit := f.newLimit(partner, 1)
	terminal := f.newTerminal(foreignPartner, "")
	foreignTerminalLimit := dailyLimit(partner.Number, 1)
	foreignTerminalLimit.Terminal = terminal.ID
	for name, c := range map[string]struct {
		draft directory.Limit
		field string
	}{
		"a partner that does not exist":      {dailyLimit(99, 1), "partner_id"},
		"a partner of another organization":  {dailyLimit(foreignPartner.Number, 1), "partner_id"},
		"a terminal of another organization": {foreignTerminalLimit, "terminal_id"},
		"no amount":                          {dailyLimit(partner.Number, 0), "max_amount"},
	} {
		_, err := f.CreateLimit(ctx, org.ID, c.draft)
		wantCode(t, name, err, ledger.Invalid, c.field)
	}
	_, err := f.CreateLimit(ctx, uuid.New(), dailyLimit(partner.Number, 1))
	wantCode(t, "no organization", err, ledger.NotFound, "")
	_, err = f.PatchLimit(ctx, other.ID, limit.ID, deactivation())
	wantCode(t, "a limit of another organization", err, ledger.NotFound, "")
	if _, ok := f.Limit(other.ID, limit.ID); ok {
		t.Error("a limit is seen from another organization")
	}
	_, _, err = f.ListLimits(uuid.New(), Page{})
	wantCode(t, "a list of no organization", err, ledger.NotFound, "")
	archived := directory.Archived
	must(f.PatchOrganization(ctx, org.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = archived }))
	_, err = f.CreateLimit(ctx, org.ID, dailyLimit(partner.Number, 1))
	wantCode(t, "in an archived organization", err, ledger.Conflict, "")
	_, err = f.PatchLimit(ctx, org.ID, limit.ID, deactivation())
	wantCode(t, "in an archived organization", err, ledger.Conflict, "")
	f.wantLimits(partner, 1)
}

func TestMaximumOfActiveLimits(t *testing.T) {
	f := open(t)
	ctx, org := t.Context(), f.newOrganization("One")
	partner, otherPartner := f.newPartner(org.ID, "a"), f.newPartner(org.ID, "b")
	var wait sync.WaitGroup
	refusals := make(chan error, directory.MaxLimits+20)
	for range directory.MaxLimits + 20 {
		wait.Go(func() {
			if _, err := f.CreateLimit(ctx, org.ID, dailyLimit(partner.Number, 1)); err != nil {
				refusals <- err
			}
		})
	}
	wait.Wait()
	close(refusals)
	if len(refusals) != 20 || len(f.Limits(org.ID, partner.Number)) != 100 {
		t.Errorf("%d refused, %d in force", len(refusals), len(f.Limits(org.ID, partner.Number)))
	}
	for err := range refusals {
		wantCode(t, "one too many", err, ledger.Conflict, "")
	}
	f.newLimit(otherPartner, 1)
	inactiveDraft := dailyLimit(partner.Number, 2)
	inactiveDraft.Active = false
	extraLimit, active := must(f.CreateLimit(ctx, org.ID, inactiveDraft)), true
	_, err := f.PatchLimit(ctx, org.ID, extraLimit.ID, func(r *directory.Limit, _ *schema.Faults) { r.Active = active })
	wantCode(t, "one too many switched on", err, ledger.Conflict, "")
	amount := money.FromUint64(7)
	last := f.Limits(org.ID, partner.Number)[99]
	must(f.PatchLimit(ctx, org.ID, last.ID, func(r *directory.Limit, _ *schema.Faults) { r.MaxAmount = amount }))
	must(f.PatchLimit(ctx, org.ID, last.ID, deactivation()))
	must(f.PatchLimit(ctx, org.ID, extraLimit.ID, func(r *directory.Limit, _ *schema.Faults) { r.Active = active }))
	if n := len(f.Limits(org.ID, partner.Number)); n != 100 {
		t.Errorf("%d in force", n)
	}
}

func TestLimitsAreListedNewestFirst(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	p, otherPartner := f.newPartner(org.ID, "a"), f.newPartner(org.ID, "b")
	var want []*directory.Limit
	for i := range 5 {
		l := f.newLimit(p, uint64(i+1))
		f.newLimit(otherPartner, 9)
		want = append([]*directory.Limit{l}, want...)
	}
	want[1] = must(f.PatchLimit(t.Context(), org.ID, want[1].ID, deactivation()))
	got, count := readPages(t, 2, func(page Page) ([]*directory.Limit, Cursor, error) {
		page.Partner = p.Number
		return f.ListLimits(org.ID, page)
	})
	if !slices.Equal(got, want) || count != 3 {
		t.Errorf("%v on %d pages, want %v", got, count, want)
	}
}
