package contract

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

func TestTextWithoutVisibleCharactersIsBlank(t *testing.T) {
	fixture := activeSafekeeping(t)
	for _, invisible := range []string{"", " ", "\t\n", "\u00a0", "\u200b", "\ufeff", "\u2060", "\u00ad", "\u180e", "\u202e", "\u3164", "\u115f", "\u1160", "\uffa0", "\u2800", "\u034f", "\ufe0f", " \u200b\u2800 "} {
		fixture.wantRefused("granted_by", GrantHibah, "amount", `"1"`, "granted_by", `"`+strings.NewReplacer("\t", `\t`, "\n", `\n`).Replace(invisible)+`"`)
		fixture.wantRefused("closed_by", Close, "closed_by", `"`+strings.NewReplacer("\t", `\t`, "\n", `\n`).Replace(invisible)+`"`)
	}
	for _, visible := range []string{"a", ".", "é", "ا", "漢", "🙂", "\u200ba"} {
		fixture.do(GrantHibah, "amount", `"1"`, "granted_by", `"`+visible+`"`)
	}
}

func TestATextHasNoControlCharacters(t *testing.T) {
	fixture := activeSafekeeping(t)
	for _, wrong := range []string{`"a\u0000"`, `"\u0001a"`, `"a\u001bb"`, `"a\u001f"`, "\"a\xff\""} {
		fixture.wantRefused("note", GrantHibah, "amount", `"1"`, "granted_by", `"a"`, "note", wrong)
	}
	fixture.do(GrantHibah, "amount", `"1"`, "granted_by", `"a"`, "note", `"one\ttwo\r\nthree"`)
}

// A description has more than ten characters, not counting the blanks around it.
func TestLengthOfADescriptionIgnoresBlankEnds(t *testing.T) {
	for _, c := range []struct {
		product *Product
		field   string
		body    schema.Input
	}{{Certificate, "underlying_asset", issueBody()}, {Lease, "asset_description", leaseBody()}, {InstalmentSale, "asset_description", saleBody()}} {
		openWithChanges(t, c.product, Secular, c.body, []fieldCase{
			{c.field, `"0123456789"`, c.field},
			{c.field, `"0123456789      "`, c.field},
			{c.field, "\"\u200b\u200b0123456789\u2060\"", c.field},
			{c.field, `"01234567890"`, ""},
			{c.field, `"  01234567890  "`, ""},
		})
	}
}

func TestDatesAreFromYear1970To9000(t *testing.T) {
	for text, want := range map[string]string{
		`"1969-12-31"`: "must be a date from 1970-01-01 to 9000-12-31", `"9001-01-01"`: "must be a date from 1970-01-01 to 9000-12-31",
		`"0000-01-01"`: "must be a date from 1970-01-01 to 9000-12-31", `"9999-12-31"`: "must be a date from 1970-01-01 to 9000-12-31",
		`"2026-02-30"`: "must be a date, YYYY-MM-DD", `"2026-9-3"`: "must be a date, YYYY-MM-DD", `"10000-01-01"`: "must be a date, YYYY-MM-DD",
	} {
		fixture := openContract(t, Certificate, Secular, issueBody())
		if got := fixture.message(Offer, "subscription_start", text, "subscription_end", `"9000-12-31"`); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	fixture := openContract(t, Certificate, Secular, issueBody())
	fixture.do(Offer, "subscription_start", `"1970-01-01"`, "subscription_end", `"9000-12-31"`)
}

func TestAReviewIsSignedOnADateOrAtATime(t *testing.T) {
	for _, text := range []string{`"2026-01-01"`, `"2026-01-01T10:15:30Z"`, `"2026-01-01T10:15:30.5+04:00"`} {
		fixture := openContract(t, Lease, Religious, leaseBody())
		fixture.do(Approve, "approved_by", `"a"`, "fatwa_reference", `"F-7"`, "signed_at", text)
	}
	fixture := openContract(t, Lease, Religious, leaseBody())
	for _, text := range []string{`""`, `" "`, `"yesterday"`, `"2026-02-30"`, `"2026-02-30T10:15:30Z"`, `"2026-01-01 10:15:30"`, `"2026-01-01T25:00:00Z"`, `"2026-01-01T10:15:30"`,
		`"9999-01-01"`, `"9999-01-01T00:00:00Z"`, `"2026-01-01T10:15:30.` + strings.Repeat("0", schema.MaxText) + `Z"`} {
		fixture.wantRefused("signed_at", Approve, "approved_by", `"a"`, "fatwa_reference", `"F-7"`, "signed_at", text)
	}
}

// A document of ownership is a text or an object, and not blank.
func TestOwnershipDocumentMustNotBeEmpty(t *testing.T) {
	lease := openContract(t, Lease, Secular, leaseBody())
	sale := openContract(t, InstalmentSale, Secular, saleBody())
	sale.do(OrderAsset)
	for _, wrong := range []string{`1`, `0`, `1.5`, `true`, `false`, `null`, `""`, `"  "`, "\"\u200b\"", `{}`, `{ }`, `[]`, `["deed"]`, `"` + strings.Repeat("x", 256) + `"`, `"a\u0000"`} {
		for _, list := range []string{"[" + wrong + "]", `["deed",` + wrong + "]"} {
			lease.wantRefused("ownership_documents", Acquire, "ownership_documents", list)
			sale.wantRefused("ownership_documents", PurchaseAsset, "ownership_documents", list)
		}
	}
	lease.do(Acquire, "ownership_documents", `["`+strings.Repeat("é", 255)+`", {"no":7}]`)
	sale.do(PurchaseAsset, "ownership_documents", `[{"no":null}]`)
}

// A minimum above the number of certificates is refused.
func TestMinimumSubscriptionIsAtMostTheIssue(t *testing.T) {
	openWithChanges(t, Certificate, Secular, issueBody(), []fieldCase{
		{"min_subscription", "100", ""}, {"min_subscription", "101", "min_subscription"}, {"min_subscription", "9007199254740991", "min_subscription"},
	})
}

// A refusal names an action by its name in the URL of the request.
func TestRefusalUsesTheReadingsActionName(t *testing.T) {
	for reading, want := range map[*Reading]string{
		Secular:   "review is not possible in status review_passed",
		Religious: "approve is not possible in status review_passed",
	} {
		fixture := openContract(t, Lease, reading, leaseBody())
		if reading == Secular {
			fixture.do(Submit)
		}
		fixture.do(Approve, pairsOf(boardReview())...)
		if _, err := fixture.record.Act(Approve, boardReview(), fixture.now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", reading.Name, err, want)
		}
	}
}

// An event has its action's name, for every transition of the action.
func TestAnEventHasItsActionsName(t *testing.T) {
	wantEventName := func(fixture *contractFixture, status Status, want string) {
		t.Helper()
		if got := fixture.decision.Events[0].Name; got != want || fixture.record.Status != status {
			t.Errorf("%s has the event %s", fixture.record.Status, got)
		}
	}
	fixture := activePartnership(t)
	fixture.do(Buyout, "units", "10")
	wantEventName(fixture, Completed, "buyout")
	fixture = activeSale(t)
	fixture.do(RecordPayment, "amount", `"1100"`)
	wantEventName(fixture, Completed, "record_payment")
	fixture = openContract(t, Managed, Secular, managedBody)
	fixture.do(Fund)
	fixture.do(Activate)
	fixture.do(Loss, "amount", largest)
	wantEventName(fixture, Liquidated, "loss")
	for _, p := range Products {
		for _, handler := range p.Handlers {
			for _, action := range handler.Transitions {
				if p.Event(action) != handler.Name {
					t.Errorf("%s has the event %s", action, p.Event(action))
				}
			}
		}
	}
}

// Responses show a reason outside the member metadata, except where the specification puts the reason inside metadata.
func TestReasonsAreShownWhereTheSpecificationPutsThem(t *testing.T) {
	metadataColumns := map[string]schema.Visibility{
		"certificate-issues default_reason": schema.Metadata, "partnerships rejection_reason": schema.Metadata,
		"partnerships last_loss": schema.Metadata, "managed-investments losses": schema.Metadata, "managed-investments final_settlement": schema.Metadata,
		"investment-deposits early_withdrawal": schema.Metadata,
	}
	for _, p := range Products {
		for _, c := range p.Columns.Columns {
			name := p.Variants[Secular].Name + " " + c.Name
			if (c.Visibility == schema.Metadata) != (metadataColumns[name] == schema.Metadata) {
				t.Errorf("%s is shown at place %d", name, c.Visibility)
			}
			if c.Sparse != (c.Visibility == schema.Detail && strings.HasSuffix(c.Name, "_reason")) {
				t.Errorf("%s is omitted from responses if it is empty: %v", name, c.Sparse)
			}
			delete(metadataColumns, name)
		}
	}
	if len(metadataColumns) > 0 {
		t.Errorf("no product has the columns %v", metadataColumns)
	}
	for _, p := range []*Product{Partnership, Lease} {
		fixture := openContract(t, p, Secular, map[*Product]schema.Input{Partnership: partnershipBody(), Lease: leaseBody()}[p])
		fixture.do(Submit)
		fixture.do(Reject, "reason", `"no"`)
		fixture.wantColumns("rejection_reason", "no")
		if RejectionReason.Get(fixture.record.Values) != "no" {
			t.Error("the column RejectionReason does not have the reason")
		}
	}
}

// Rent begins with activation, and its last period ends on or before the expected end.
func TestAPartnershipsRentEndsWithItsTerm(t *testing.T) {
	fixture := openContract(t, Partnership, Secular, withChanges(partnershipBody(), "term_months", "3", "rental_amount", `"7"`))
	fixture.do(Fund)
	fixture.passDays(10)
	fixture.do(Activate)
	fixture.wantColumns("expected_end_date", "2026-04-01", "rental_paid_total", "0") // two periods of 30 days from 2026-01-11 on
	fixture.passDays(30)
	fixture.wantColumns("rental_paid_total", "7")
	fixture.passDays(30)
	fixture.wantColumns("rental_paid_total", "14")
	if fixture.decision.Due != 0 {
		t.Error("another timer is due after the last period")
	}
	fixture.passDays(4_000)
	fixture.wantColumns("rental_paid_total", "14")
	activatedLate := openContract(t, Partnership, Secular, withChanges(partnershipBody(), "term_months", "1", "rental_amount", `"7"`))
	activatedLate.do(Fund)
	activatedLate.passDays(31)
	activatedLate.do(Activate)
	activatedLate.passDays(300)
	activatedLate.wantColumns("rental_paid_total", "0")
}

// Responses show the rent for a period at present. It shrinks with the institution's percentage.
func TestTheCurrentRentIsShown(t *testing.T) {
	fixture := openContract(t, Partnership, Secular, withChanges(partnershipBody(), "rental_amount", `"100"`))
	fixture.wantColumns("current_rental_amount", "100")
	fixture.do(Fund)
	fixture.do(Activate)
	fixture.wantColumns("current_rental_amount", "100")
	fixture.do(Buyout, "units", "5")
	fixture.wantColumns("bank_ownership_percent", "40", "current_rental_amount", "50") // the percentage was 80 at the start
	fixture.do(Buyout, "units", "5")
	fixture.wantColumns("current_rental_amount", "0", "rental_amount", "100")
	activePartnership(t).wantColumns("current_rental_amount", "")
}

// A contract's number has the year of the clock when the contract was opened, even if the opening is booked in the
// next year.
func TestYearInAContractNumberIsTheClocks(t *testing.T) {
	org := newOrgFixture(t, "2026-12-31")
	d, err := Open(Proposal{ID: uuid.New(), Product: Lease, Reading: Secular, Env: money.Prod, Input: leaseBody(), Now: org.now})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Record.Number(org.now+oneDay, 7); got != "LS-2026-000007" {
		t.Error(got)
	}
}
