package api_test

import (
	"strings"
	"sync"
	"testing"
)

// untouched are the product types whose contracts begin as drafts.
var untouched = []string{"murabaha", "mudaraba", "ijara", "sukuk"}

// Specification, "Difference between readings": a review is mandatory before any transition
// that moves money. A draft refuses every action except the review, even with a valid body, and
// posts nothing.
func TestNoReligiousActionIsAllowedBeforeTheReview(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, productType := range untouched {
		d := h.createReligious(productType)
		h.wantNothingStored(t, func() {
			for name, body := range religiousActions[productType] {
				switch a := d.actWith(name, withoutConclusion(name, body)); {
				case name == "approve", name == "reject":
					a.want(422, "")
				case name == "subscribe": // its checks have another order
					a.wantFaults("status")
				default:
					a.wantConflict()
				}
			}
		})
		d.wantEntries()
		d.read().wantData("status", "draft", "compliance_review", "(absent)")
		d.get(d.path+"/review").want(200, "").wantData("conclusion", "null", "reviewed_at", "(absent)")
	}
}

// withoutConclusion removes the conclusion from a review's body.
func withoutConclusion(name string, body members) members {
	if name == "approve" || name == "reject" {
		return nil
	}
	return body
}

// After a negative review nothing is possible either: the state has no transitions.
func TestNoActionIsAllowedAfterANegativeReview(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, productType := range []string{"mudaraba", "ijara", "sukuk"} { // murabaha has no reject action
		d := h.createReligious(productType)
		d.actWith("reject", refusal).want(200, "").wantData("status", "rejected", "rejection_reason", "not permitted")
		h.wantNothingStored(t, func() {
			for name, body := range religiousActions[productType] {
				if a := d.actWith(name, body); name == "subscribe" {
					a.wantFaults("status")
				} else {
					a.wantConflict()
				}
			}
		})
		d.wantEntries()
	}
}

// Only after the review each first action posts, or leads to one that posts.
func TestActionsAreAllowedAfterTheReview(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for productType, first := range map[string]string{"murabaha": "order_asset", "mudaraba": "fund", "ijara": "acquire_asset", "sukuk": "start_offering"} {
		d := h.createReligious(productType)
		d.actWith(first, religiousActions[productType][first]).wantConflict()
		d.approved().read().wantData("status", "review_passed")
		d.actWith(first, religiousActions[productType][first]).want(200, "")
	}
}

// Specification, "Actions": approved_by and fatwa_reference are required and must not be blank;
// an approval without a reference is refused, and the service fills in nothing.
func TestApprovalWithoutAReferenceIsRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, productType := range untouched {
		d := h.createReligious(productType)
		h.wantNothingStored(t, func() {
			d.act("approve").wantFaults("approved_by", "fatwa_reference")
			for _, name := range []string{"approved_by", "fatwa_reference"} {
				for _, said := range []string{"", "null", `""`, `" "`, `"\t\n"`, "7", "true", "{}", `["F-7"]`, `"` + strings.Repeat("F", 2001) + `"`} {
					d.actWith("approve", fatwa.with(name, said)).wantFaults(name)
				}
			}
		})
		d.read().wantData("status", "draft")
		d.actWith("approve", fatwa.with("signed_at", `"2026-09-01"`, "document_ref", `"minutes 12"`, "note", `"with one condition"`)).want(200, "").
			wantData("compliance_review", `{"approved_by":"Dr. Amin","document_ref":"minutes 12","fatwa_reference":"F-7/2026","note":"with one condition","signed_at":"2026-09-01"}`)
	}
}

// The service never fills in a review: fields that were not sent are absent.
func TestServiceNeverFillsInAReview(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, productType := range untouched {
		d := h.createReligious(productType, "compliance_review", reviewed) // a creation is not a review for a type with an approve action
		d.read().wantData("status", "draft", "compliance_review", "(absent)")
		d.actWith("approve", fatwa).want(200, "").wantData("compliance_review", reviewed)
	}
	for _, productType := range []string{"musharaka", "wadiah"} {
		h.createReligious(productType).read().wantData("compliance_review", reviewed)
	}
}

// DECISIONS, 6: creations of musharaka and wadiah must contain their review.
func TestMusharakaAndWadiahNeedTheirReviewOnCreate(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, productType := range []string{"musharaka", "wadiah"} {
		form := religiousForm(productType)
		h.wantNothingStored(t, func() {
			create := func(review string) *answer {
				return h.session().post(islamic+productType, form.with("compliance_review", review).json())
			}
			for _, review := range []string{"", "null", `"yes"`, "[]", "7"} {
				create(review).wantFaults("compliance_review")
			}
			create("{}").wantFaults("compliance_review.approved_by", "compliance_review.fatwa_reference")
			for _, name := range []string{"approved_by", "fatwa_reference"} {
				for _, said := range []string{"", "null", `""`, `"  "`, "7"} {
					create(fatwa.with(name, said).json()).wantFaults("compliance_review." + name)
				}
			}
		})
	}
	if a := h.session().get(islamic+"stats").want(200, ""); a.at("data.total") != "0" {
		t.Errorf("there are %s", a.body)
	}
}

// A creation with review, funding and activation is one durable step, in that order.
func TestCreateWithReviewIsOneAtomicStep(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for productType, want := range map[string][]string{"musharaka": {"create", "review", "fund", "activate"}, "wadiah": {"create", "review", "activate"}} {
		d := h.createReligious(productType)
		id := d.path[strings.LastIndex(d.path, "/")+1:]
		events := h.auditor().get(ledgerPath+"/events?source="+id).want(200, "")
		if events.rows() != len(want) {
			t.Fatalf("%s: %s", productType, events.body)
		}
		for i, name := range want {
			if got := events.at("data." + string(rune('0'+len(want)-1-i)) + ".event"); got != name {
				t.Errorf("%s: event %d is %s, want %s", productType, i, got, name)
			}
		}
	}
}

// Specification: sukuk also accepts board_id. For other types it is an unknown field.
func TestOnlySukukAcceptsBoardID(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, productType := range untouched {
		d := h.createReligious(productType)
		if productType == "sukuk" {
			d.actWith("approve", fatwa.with("board_id", `" "`)).wantFaults("board_id")
			d.actWith("approve", fatwa.with("board_id", "7")).wantFaults("board_id")
		}
		a := d.actWith("approve", fatwa.with("board_id", `"SB-1"`)).want(200, "")
		want := "(absent)"
		if productType == "sukuk" {
			want = "SB-1"
		}
		if got := a.at("data.compliance_review.board_id"); got != want {
			t.Errorf("%s: board_id is %s", productType, got)
		}
		if got := d.get(d.path + "/review").at("data.board_id"); got != want {
			t.Errorf("%s: the report's board_id is %s", productType, got)
		}
	}
}

// Specification, "Errors": a second approval is 409, and so is any other conclusion after one.
func TestReviewIsConcludedOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, productType := range untouched {
		d := h.createReligious(productType).approved()
		h.wantNothingStored(t, func() {
			d.actWith("approve", fatwa).wantConflict()
			d.actWith("approve", nil).wantConflict() // the state is checked before the body
			if productType != "murabaha" {
				d.actWith("reject", refusal).wantConflict()
			}
		})
	}
}

// Of 64 concurrent conclusions one is accepted.
func TestConcurrentReviewsHaveOneConclusion(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for range 4 {
		d := h.createReligious("mudaraba")
		const n = 64
		statuses := make([]int, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if i%2 == 0 {
					statuses[i] = d.actWith("approve", fatwa).status
				} else {
					statuses[i] = d.actWith("reject", refusal).status
				}
			})
		}
		all.Wait()
		won := -1
		for i, status := range statuses {
			switch {
			case status == 200 && won < 0:
				won = i
			case status != 409:
				t.Errorf("request %d was answered %d beside %d", i, status, won)
			}
		}
		if want := []string{"review_passed", "rejected"}; won < 0 || d.read().at("data.status") != want[won%2] {
			t.Errorf("request %d has won, and it is %s", won, d.read().at("data.status"))
		}
	}
}

// A negative review needs a reason: one that is missing or blank is refused.
func TestNegativeReviewNeedsAReason(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, productType := range []string{"mudaraba", "ijara", "sukuk"} {
		d := h.createReligious(productType)
		for _, said := range []string{"", "null", `""`, `"  "`, "7"} {
			d.actWith("reject", members{"x": "1"}.with("reason", said)).wantFaults("reason")
		}
		d.read().wantData("status", "draft")
	}
}

// The report for the board: who approved what, when, on which reference.
func TestReviewReportShowsWhoApprovedWhatAndWhen(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	screening := h.session().get(islamic+"screen?subject=asset&region=AE&asset_type=tower").want(200, "").at("data.screening_id")
	d := h.createReligious("sukuk", "screening_id", `"`+screening+`"`)
	id := d.path[strings.LastIndex(d.path, "/")+1:]
	const screened = `"screening":{"screening_id":"SCREENING","decision":"pass","ruleset_version":1,"screened_at":"2026-09-03T10:15:30.123456+00:00"}}}`
	report := func(rest string) string {
		return strings.NewReplacer("SCREENING", screening).Replace(`{"data":{"id":"` + id + `","contract_number":"SUK-2026-000001","product_type":"sukuk",` + rest)
	}
	d.get(d.path+"/review").want(200, report(`"status":"draft","conclusion":null,`+screened))
	h.advanceDays(1)
	d.actWith("approve", fatwa.with("board_id", `"SB-1"`, "signed_at", `"2026-09-02"`)).want(200, "")
	h.advanceDays(1)
	d.actWith("start_offering", religiousActions["sukuk"]["start_offering"]).want(200, "")
	d.get(d.path+"/review").want(200, report(`"status":"offering","conclusion":"approved","approved_by":"Dr. Amin","signed_at":"2026-09-02",`+
		`"fatwa_reference":"F-7/2026","board_id":"SB-1","reviewed_at":"2026-09-04T10:15:30.123456+00:00",`+screened))

	refused := h.createReligious("ijara")
	h.advanceDays(1)
	refused.actWith("reject", refusal).want(200, "")
	h.advanceDays(1)
	a := refused.get(refused.path+"/review").want(200, "")
	a.wantData("conclusion", "rejected", "reason", "not permitted", "status", "rejected", "approved_by", "(absent)", "screening", "(absent)")
	if at := a.at("data.reviewed_at"); !strings.HasPrefix(at, "2026-09-06T10:15:30.") {
		t.Errorf("refused at %s", at)
	}
	for _, productType := range []string{"musharaka", "wadiah"} {
		opened := h.createReligious(productType)
		opened.get(opened.path+"/review").want(200, "").wantData("conclusion", "approved", "approved_by", "Dr. Amin", "fatwa_reference", "F-7/2026", "status", "active")
	}
}
