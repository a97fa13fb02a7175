package directory

import (
	"reflect"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

var settlementAsset = money.Asset{Currency: "USD", Env: money.Test}

func settlementDraft(amount uint64, reference string) directory.SettlementDraft {
	return directory.SettlementDraft{Currency: settlementAsset.Currency, Env: settlementAsset.Env, Amount: money.FromUint64(amount), Reference: reference}
}

// settle books money that came in from the partner's bank.
func (f *fixture) settle(p *directory.Partner, amount uint64, reference string) *directory.Settlement {
	f.t.Helper()
	settlement, repeated, err := f.SettlePartner(f.t.Context(), p.Org, p.Number, false, settlementDraft(amount, reference))
	if err != nil || repeated {
		f.t.Fatal(repeated, err)
	}
	return settlement
}

func TestReferenceBelongsToOneSettlement(t *testing.T) {
	f := open(t)
	org := f.newOrganization("A")
	partner := f.newPartner(org.ID, "p")
	first := f.settle(partner, 500, "wire")
	if first.CreatedAt == 0 || first.Seq == 0 {
		t.Errorf("%+v", first)
	}
	before := f.events(org.ID)
	repeated, isRepeated, err := f.SettlePartner(t.Context(), org.ID, partner.Number, false, settlementDraft(500, "wire"))
	if err != nil || !isRepeated || !reflect.DeepEqual(repeated, first) {
		t.Errorf("%+v, %v, %v", repeated, isRepeated, err)
	}
	_, _, err = f.SettlePartner(t.Context(), org.ID, partner.Number, true, settlementDraft(500, "wire"))
	wantCode(t, "another settlement", err, ledger.Conflict, "")
	if after := f.events(org.ID); len(after) != len(before) {
		t.Errorf("%v after %v", after, before)
	}
	f.restart()
	repeated, isRepeated, err = f.SettlePartner(t.Context(), org.ID, partner.Number, false, settlementDraft(500, "wire"))
	if err != nil || !isRepeated || !reflect.DeepEqual(repeated, first) {
		t.Errorf("after a restart: %+v, %v, %v", repeated, isRepeated, err)
	}
	if settlement, found, err := f.Settlement(org.ID, first.ID); err != nil || !found || !reflect.DeepEqual(settlement, first) {
		t.Errorf("it is read as %+v, %v, %v", settlement, found, err)
	}
}

func TestRefusedSettlements(t *testing.T) {
	f := open(t)
	org, otherOrg := f.newOrganization("A"), f.newOrganization("B")
	partner := f.newPartner(org.ID, "p")
	providerTerminal := must(f.CreateTerminal(t.Context(), org.ID, directory.Terminal{
		Partner: partner.Number, Name: "T", Provider: directory.Simulator, Type: directory.PayoutTerminal, Env: money.Test, Active: true,
	}))
	settle := func(orgID ledger.ID, number int64, paysOut bool, d directory.SettlementDraft) error {
		_, _, err := f.SettlePartner(t.Context(), orgID, number, paysOut, d)
		return err
	}
	collect := func(orgID, terminal ledger.ID, fee uint64, d directory.SettlementDraft) error {
		_, _, err := f.SettleProvider(t.Context(), orgID, terminal, money.FromUint64(fee), d)
		return err
	}
	before := len(f.events(org.ID))
	wantCode(t, "more than is available", settle(org.ID, partner.Number, true, settlementDraft(1, "r")), ledger.Invalid, "amount")
	wantCode(t, "a partner of another organization", settle(otherOrg.ID, partner.Number, false, settlementDraft(1, "r")), ledger.NotFound, "")
	wantCode(t, "a partner that is not there", settle(org.ID, 99, false, settlementDraft(1, "r")), ledger.NotFound, "")
	wantCode(t, "an organization that is not there", settle(uuid.New(), partner.Number, false, settlementDraft(1, "r")), ledger.NotFound, "")
	wantCode(t, "a terminal of another organization", collect(otherOrg.ID, providerTerminal.ID, 0, settlementDraft(1, "r")), ledger.NotFound, "")
	wantCode(t, "a fee above gross", collect(org.ID, providerTerminal.ID, 2, settlementDraft(1, "r")), ledger.Invalid, "fee")
	must(f.PatchOrganization(t.Context(), org.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = directory.Archived }))
	before++
	wantCode(t, "an archived organization", settle(org.ID, partner.Number, false, settlementDraft(1, "r")), ledger.Conflict, "")
	wantCode(t, "an archived organization's terminal", collect(org.ID, providerTerminal.ID, 0, settlementDraft(1, "r")), ledger.Conflict, "")
	if after := f.events(org.ID); len(after) != before {
		t.Errorf("%v", after)
	}
	for _, page := range []SettlementPage{{Env: money.Test, Limit: -1}, {Env: money.Test, Limit: MaxPage + 1}} {
		_, _, err := f.PartnerSettlements(org.ID, partner.Number, page)
		wantCode(t, "a page that is too long", err, ledger.Invalid, "limit")
	}
}

// The headroom is the amount by which the totals of all accounts can still grow. All movements of money share its
// counter, which refuses a larger amount.
func TestASettlementBeyondTheHeadroomIsOutOfRange(t *testing.T) {
	f := open(t)
	o := f.newOrganization("A")
	p := f.newPartner(o.ID, "p")
	nearlyAll, err := money.Max.Sub(money.FromUint64(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.commit(&posting.Change{Counters: []ledger.CounterGuard{ledger.ReserveHeadroom(o.ID, settlementAsset, nearlyAll)}}); err != nil {
		t.Fatal(err)
	}
	f.settle(p, 99, "fits")
	_, _, err = f.SettlePartner(t.Context(), o.ID, p.Number, false, settlementDraft(1, "does not"))
	wantCode(t, "one beyond", err, ledger.Invalid, "amount")
}

func TestDeactivatedPartnerCanBeSettled(t *testing.T) {
	f := open(t)
	o := f.newOrganization("A")
	p := f.newPartner(o.ID, "p")
	f.settle(p, 500, "in")
	must(f.PatchPartner(t.Context(), o.ID, p.Number, func(r *directory.Partner, _ *schema.Faults) { r.Active = false }))
	if _, _, err := f.SettlePartner(t.Context(), o.ID, p.Number, true, settlementDraft(500, "out")); err != nil {
		t.Error(err)
	}
}

// A claimed reference whose settlement cannot be found is an error, and nothing is booked.
func TestReferenceWithoutItsSettlementIsRefused(t *testing.T) {
	f := open(t)
	o := f.newOrganization("A")
	p := f.newPartner(o.ID, "p")
	for reference, owner := range map[string][]byte{"gone": make([]byte, 16), "malformed": {1}} {
		claim := ledger.Claim{Org: o.ID, Kind: ledger.ClaimSettlement, Key: directory.SettlementKey(p.Number, reference), Owner: owner}
		if err := f.commit(&posting.Change{Claims: []ledger.Claim{claim}}); err != nil {
			t.Fatal(err)
		}
		if made, repeated, err := f.SettlePartner(t.Context(), o.ID, p.Number, false, settlementDraft(5, reference)); err == nil {
			t.Errorf("%s: %+v, %v", reference, made, repeated)
		}
	}
}
