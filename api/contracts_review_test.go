package api_test

import (
	"strings"
	"sync"
	"testing"
)

// draftTypes are the product types whose contracts begin as drafts.
var draftTypes = []string{"murabaha", "mudaraba", "ijara", "sukuk"}

// Specification, "Difference between readings": a review is mandatory before any transition
// that moves money. A draft refuses every action except the review, even with a valid body, and
// posts nothing.
func TestNoReligiousActionIsAllowedBeforeTheReview(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, productType := range draftTypes {
		contract := f.createReligious(productType)
		f.wantNothingStored(t, func() {
			for name, body := range religiousActions[productType] {
				switch r := contract.actWith(name, withoutConclusion(name, body)); {
				case name == "approve", name == "reject":
					r.want(422, "")
				case name == "subscribe": // the action subscribe reports a wrong state with 422
					r.wantFaults("status")
				default:
					r.wantConflict()
				}
			}
		})
		contract.wantEntries()
		contract.read().wantData("status", "draft", "compliance_review", "(absent)")
		contract.get(contract.path+"/review").want(200, "").wantData("conclusion", "null", "reviewed_at", "(absent)")
	}
}

// withoutConclusion returns the action's body. For an action that would conclude the review it returns nil, so that the action
// fails.
func withoutConclusion(name string, body members) members {
	if name == "approve" || name == "reject" {
		return nil
	}
	return body
}

// A rejected contract refuses every action: the state rejected has no transitions.
func TestNoActionIsAllowedAfterANegativeReview(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, productType := range []string{"mudaraba", "ijara", "sukuk"} { // murabaha has no reject action
		contract := f.createReligious(productType)
		contract.actWith("reject", refusal).want(200, "").wantData("status", "rejected", "rejection_reason", "not permitted")
		f.wantNothingStored(t, func() {
			for name, body := range religiousActions[productType] {
				if r := contract.actWith(name, body); name == "subscribe" {
					r.wantFaults("status")
				} else {
					r.wantConflict()
				}
			}
		})
		contract.wantEntries()
	}
}

// The first action that posts money, or leads to posting, is refused before the review and accepted after it.
func TestActionsAreAllowedAfterTheReview(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for productType, firstAction := range map[string]string{"murabaha": "order_asset", "mudaraba": "fund", "ijara": "acquire_asset", "sukuk": "start_offering"} {
		contract := f.createReligious(productType)
		contract.actWith(firstAction, religiousActions[productType][firstAction]).wantConflict()
		contract.approve().read().wantData("status", "review_passed")
		contract.actWith(firstAction, religiousActions[productType][firstAction]).want(200, "")
	}
}

// Specification, "Actions": approved_by and fatwa_reference are required and must not be blank;
// an approval without a reference is refused, and the service fills in nothing.
func TestApprovalWithoutAReferenceIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, productType := range draftTypes {
		contract := f.createReligious(productType)
		f.wantNothingStored(t, func() {
			contract.act("approve").wantFaults("approved_by", "fatwa_reference")
			for _, name := range []string{"approved_by", "fatwa_reference"} {
				for _, text := range []string{"", "null", `""`, `" "`, `"\t\n"`, "7", "true", "{}", `["F-7"]`, `"` + strings.Repeat("F", 2001) + `"`} {
					contract.actWith("approve", fatwa.with(name, text)).wantFaults(name)
				}
			}
		})
		contract.read().wantData("status", "draft")
		contract.actWith("approve", fatwa.with("signed_at", `"2026-09-01"`, "document_ref", `"minutes 12"`, "note", `"with one condition"`)).want(200, "").
			wantData("compliance_review", `{"approved_by":"Dr. Amin","document_ref":"minutes 12","fatwa_reference":"F-7/2026","note":"with one condition","signed_at":"2026-09-01"}`)
	}
}

// The service never fills in a review: fields that were not sent are absent.
func TestServiceNeverFillsInAReview(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, productType := range draftTypes {
		contract := f.createReligious(productType, "compliance_review", reviewJSON) // the review in the creation is ignored, because these types have an approve action
		contract.read().wantData("status", "draft", "compliance_review", "(absent)")
		contract.actWith("approve", fatwa).want(200, "").wantData("compliance_review", reviewJSON)
	}
	for _, productType := range []string{"musharaka", "wadiah"} {
		f.createReligious(productType).read().wantData("compliance_review", reviewJSON)
	}
}

// A request that creates a musharaka or wadiah must contain the review.
func TestMusharakaAndWadiahNeedTheirReviewOnCreate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, productType := range []string{"musharaka", "wadiah"} {
		form := religiousForm(productType)
		f.wantNothingStored(t, func() {
			create := func(review string) *response {
				return f.session().post(religiousPath+productType, form.with("compliance_review", review).json())
			}
			for _, review := range []string{"", "null", `"yes"`, "[]", "7"} {
				create(review).wantFaults("compliance_review")
			}
			create("{}").wantFaults("compliance_review.approved_by", "compliance_review.fatwa_reference")
			for _, name := range []string{"approved_by", "fatwa_reference"} {
				for _, text := range []string{"", "null", `""`, `"  "`, "7"} {
					create(fatwa.with(name, text).json()).wantFaults("compliance_review." + name)
				}
			}
		})
	}
	if r := f.session().get(religiousPath+"stats").want(200, ""); r.at("data.total") != "0" {
		t.Errorf("there are %s", r.body)
	}
}

// A creation with review, funding and activation is one durable step, in that order.
func TestCreateWithReviewIsOneAtomicStep(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for productType, want := range map[string][]string{"musharaka": {"create", "review", "fund", "activate"}, "wadiah": {"create", "review", "activate"}} {
		contract := f.createReligious(productType)
		id := contract.path[strings.LastIndex(contract.path, "/")+1:]
		events := f.auditor().get(ledgerPath+"/events?source="+id).want(200, "")
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

// Specification: sukuk also accepts board_id. For other types board_id is an unknown field, which is ignored.
func TestOnlySukukAcceptsBoardID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, productType := range draftTypes {
		contract := f.createReligious(productType)
		if productType == "sukuk" {
			contract.actWith("approve", fatwa.with("board_id", `" "`)).wantFaults("board_id")
			contract.actWith("approve", fatwa.with("board_id", "7")).wantFaults("board_id")
		}
		r := contract.actWith("approve", fatwa.with("board_id", `"SB-1"`)).want(200, "")
		want := "(absent)"
		if productType == "sukuk" {
			want = "SB-1"
		}
		if got := r.at("data.compliance_review.board_id"); got != want {
			t.Errorf("%s: board_id is %s", productType, got)
		}
		if got := contract.get(contract.path + "/review").at("data.board_id"); got != want {
			t.Errorf("%s: the report's board_id is %s", productType, got)
		}
	}
}

// Specification, "Errors": a review has one conclusion. A second approval gets 409, and so does a rejection
// after an approval.
func TestReviewIsConcludedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, productType := range draftTypes {
		contract := f.createReligious(productType).approve()
		f.wantNothingStored(t, func() {
			contract.actWith("approve", fatwa).wantConflict()
			contract.actWith("approve", nil).wantConflict() // the state is checked before the body
			if productType != "murabaha" {
				contract.actWith("reject", refusal).wantConflict()
			}
		})
	}
}

// Of 64 concurrent approvals and rejections of a contract only one is accepted.
func TestConcurrentReviewsHaveOneConclusion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 4 {
		contract := f.createReligious("mudaraba")
		const requests = 64
		statuses := make([]int, requests)
		var wg sync.WaitGroup
		for i := range requests {
			wg.Go(func() {
				if i%2 == 0 {
					statuses[i] = contract.actWith("approve", fatwa).status
				} else {
					statuses[i] = contract.actWith("reject", refusal).status
				}
			})
		}
		wg.Wait()
		winner := -1
		for i, status := range statuses {
			switch {
			case status == 200 && winner < 0:
				winner = i
			case status != 409:
				t.Errorf("request %d got %d beside %d", i, status, winner)
			}
		}
		if want := []string{"review_passed", "rejected"}; winner < 0 || contract.read().at("data.status") != want[winner%2] {
			t.Errorf("request %d has won, and it is %s", winner, contract.read().at("data.status"))
		}
	}
}

// A rejection needs a reason: a missing or blank reason is refused.
func TestNegativeReviewNeedsAReason(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, productType := range []string{"mudaraba", "ijara", "sukuk"} {
		contract := f.createReligious(productType)
		for _, text := range []string{"", "null", `""`, `"  "`, "7"} {
			contract.actWith("reject", members{"x": "1"}.with("reason", text)).wantFaults("reason")
		}
		contract.read().wantData("status", "draft")
	}
}

// The report for the board shows who approved which contract and when, and under which reference.
func TestReviewReportShowsWhoApprovedWhatAndWhen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	screeningID := f.session().get(religiousPath+"screen?subject=asset&region=AE&asset_type=tower").want(200, "").at("data.screening_id")
	contract := f.createReligious("sukuk", "screening_id", `"`+screeningID+`"`)
	id := contract.path[strings.LastIndex(contract.path, "/")+1:]
	const screeningJSON = `"screening":{"screening_id":"SCREENING","decision":"pass","ruleset_version":1,"screened_at":"2026-09-03T10:15:30.123456+00:00"}}}`
	report := func(members string) string {
		return strings.NewReplacer("SCREENING", screeningID).Replace(`{"data":{"id":"` + id + `","contract_number":"SUK-2026-000001","product_type":"sukuk",` + members)
	}
	contract.get(contract.path+"/review").want(200, report(`"status":"draft","conclusion":null,`+screeningJSON))
	f.advanceDays(1)
	contract.actWith("approve", fatwa.with("board_id", `"SB-1"`, "signed_at", `"2026-09-02"`)).want(200, "")
	f.advanceDays(1)
	contract.actWith("start_offering", religiousActions["sukuk"]["start_offering"]).want(200, "")
	contract.get(contract.path+"/review").want(200, report(`"status":"offering","conclusion":"approved","approved_by":"Dr. Amin","signed_at":"2026-09-02",`+
		`"fatwa_reference":"F-7/2026","board_id":"SB-1","reviewed_at":"2026-09-04T10:15:30.123456+00:00",`+screeningJSON))

	rejected := f.createReligious("ijara")
	f.advanceDays(1)
	rejected.actWith("reject", refusal).want(200, "")
	f.advanceDays(1)
	r := rejected.get(rejected.path+"/review").want(200, "")
	r.wantData("conclusion", "rejected", "reason", "not permitted", "status", "rejected", "approved_by", "(absent)", "screening", "(absent)")
	if reviewedAt := r.at("data.reviewed_at"); !strings.HasPrefix(reviewedAt, "2026-09-06T10:15:30.") {
		t.Errorf("refused at %s", reviewedAt)
	}
	for _, productType := range []string{"musharaka", "wadiah"} {
		contract := f.createReligious(productType)
		contract.get(contract.path+"/review").want(200, "").wantData("conclusion", "approved", "approved_by", "Dr. Amin", "fatwa_reference", "F-7/2026", "status", "active")
	}
}
