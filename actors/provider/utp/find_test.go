package utp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// page returns a page of the other platform's list.
func page(nextCursor string, rows ...string) string {
	cursor := "null"
	if nextCursor != "" {
		cursor = `"` + nextCursor + `"`
	}
	return fmt.Sprintf(`{"data":[%s],"cursor":{"cursor_field":"started","cursor_value":%s}}`, strings.Join(rows, ","), cursor)
}

// otherTransaction returns a transaction of the other platform with another txid.
func otherTransaction(status string, members ...string) string {
	return strings.Replace(theirBody(status, members...), reference.String(), uuid.NewString(), 1)
}

// answerPages answers the requests with the bodies in turn, and further requests with the last body.
func answerPages(bodies ...string) func(http.ResponseWriter, receivedRequest, int) {
	return func(w http.ResponseWriter, _ receivedRequest, n int) {
		_, _ = io.WriteString(w, bodies[min(n, len(bodies))-1])
	}
}

// questionWithoutID returns an inquiry about a charge whose id on the other platform is unknown, because the request that
// created it got no response.
func (r *fakePlatform) questionWithoutID(operation actors.Operation) *actors.Inquiry {
	q := r.question(operation, 400)
	q.Meta = nil
	return q
}

func TestChargeWhoseResponseWasLostIsFoundByItsTxid(t *testing.T) {
	platform := startPlatform(t, answerPages(page("c1", otherTransaction("charged"), otherTransaction("failed")), page("c2"), page("c3", otherTransaction("rejected"), theirBody("charged"), otherTransaction("failed"))))
	o := platform.inquire(platform.questionWithoutID(actors.Pay))
	platform.expectVerdict(o, payment.VerdictCharged, false)
	if string(o.Meta) != `{"utp_id":"their-id"}` {
		t.Errorf("kept %s", o.Meta)
	}
	got := platform.requests()
	if len(got) != 3 {
		t.Fatalf("asked %d times", len(got))
	}
	query, err := url.ParseQuery(got[0].query)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"env": "test", "limit": "100", "amount_from": "1000", "amount_to": "1000", "started_from": "2026-09-03T10:00:30.000000Z", "cursor": "",
	} {
		if query.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, query.Get(name), want)
		}
	}
	if !strings.Contains(got[1].query, "cursor=c1") || !strings.Contains(got[2].query, "cursor=c2") {
		t.Errorf("pages were asked for by %s and %s", got[1].query, got[2].query)
	}
}

func TestChargeIsNotFoundOnlyAfterAllPagesWereRead(t *testing.T) {
	platform := startPlatform(t, answerPages(page("c1", otherTransaction("charged")), page("")))
	platform.expectVerdict(platform.inquire(platform.questionWithoutID(actors.Pay)), payment.VerdictNotFound, false)

	platform = startPlatform(t, func(w http.ResponseWriter, got receivedRequest, n int) {
		if n == 2 {
			respond(503, `{"error":"unavailable"}`)(w, got, n)
			return
		}
		answerPages(page("c1", otherTransaction("charged")))(w, got, n)
	})
	platform.expectVerdict(platform.inquire(platform.questionWithoutID(actors.Pay)), payment.VerdictUnknown, true)

	for name, answer := range map[string]func(http.ResponseWriter, receivedRequest, int){
		"a page that can't be read": answerPages(page("c1"), `{"data":"none"}`),
		"a page without a cursor":   answerPages(`{"data":[]}`),
		"a cursor that stays":       answerPages(page("c1")),
		"a list without an end": func(w http.ResponseWriter, got receivedRequest, n int) {
			answerPages(page(fmt.Sprint("c", n)))(w, got, 1)
		},
		"a row that can't be read": answerPages(page("", `{"id":7}`)),
	} {
		platform = startPlatform(t, answer)
		if o := platform.inquire(platform.questionWithoutID(actors.Pay)); o.Verdict != payment.VerdictUnknown {
			t.Errorf("%s: %v", name, o.Verdict)
		}
		if n := len(platform.requests()); n > 200 {
			t.Errorf("%s: %d pages were asked for", name, n)
		}
	}
}

func TestAnInquiryNeverCreates(t *testing.T) {
	platform := startPlatform(t, answerPages(page("")))
	for _, operation := range []actors.Operation{actors.Pay, actors.PayOut, actors.Capture, actors.Void, actors.Refund} {
		platform.expectVerdict(platform.inquire(platform.questionWithoutID(operation)), payment.VerdictNotFound, false)
	}
	for _, got := range platform.requests() {
		if got.method != "GET" {
			t.Errorf("an inquiry makes us ask %s %s", got.method, got.path)
		}
	}
}

func TestOperationFindsAChargeWhoseIDWasLost(t *testing.T) {
	platform := startPlatform(t, func(w http.ResponseWriter, got receivedRequest, n int) {
		if n == 1 {
			answerPages(page("", theirBody("charging")))(w, got, n)
			return
		}
		respond(200, theirBody("failed"))(w, got, n)
	})
	call := platform.followUpCall(actors.Void, 0)
	call.Meta = nil
	platform.expectVerdict(platform.submit(call), payment.VerdictCharged, false)
	if got := platform.requests(); len(got) != 2 || got[1].path != "/api/v1/transactions/their-id" {
		t.Errorf("asked %+v", got)
	}
}

// A response to a request by id must have both our txid and that id.
func TestResponseAboutAnotherTransactionDoesNotCount(t *testing.T) {
	for name, body := range map[string]string{
		"another txid": otherTransaction("charged"), "another id": strings.Replace(theirBody("charged"), "their-id", "other-id", 1),
	} {
		r := startPlatform(t, respond(200, body))
		for _, o := range []actors.Outcome{
			r.inquire(r.question(actors.Pay, 0)), r.submit(r.followUpCall(actors.Refund, 400)), r.submit(r.followUpCall(actors.Complete, 0)),
		} {
			if o.Verdict != payment.VerdictUnknown {
				t.Errorf("%s: %v", name, o.Verdict)
			}
		}
	}
}

func merchantMetaOf(t *directory.Terminal) string {
	return `"merchant_meta":{"utp_terminal":"` + t.ID.String() + `"}`
}

func TestReversalsAndCorrectionsAreReported(t *testing.T) {
	var platform *fakePlatform
	platform = startPlatform(t, func(w http.ResponseWriter, got receivedRequest, n int) {
		query, _ := url.ParseQuery(got.query)
		switch query.Get("status") {
		case "reversed":
			first, second := merchantMetaOf(platform.terminals[0]), merchantMetaOf(platform.terminals[1])
			answerPages(page("", theirBody("reversed", first, `"error_description":"chargeback"`, `"finished":"2026-09-03 10:14:00.250000 Etc/UTC"`),
				otherTransaction("reversed", second), theirBody("reversed"), strings.Replace(theirBody("reversed", first), reference.String(), "not-ours", 1)))(w, got, 1)
		case "failed":
			answerPages(page("", theirBody("failed", merchantMetaOf(platform.terminals[1]), `"finished":"2026-09-03T13:14:00.5+03:00"`)))(w, got, 1)
		}
	})
	secondTerminal := *platform.terminals[0] // a terminal of the same account there
	secondTerminal.ID, secondTerminal.Org = uuid.New(), uuid.New()
	platform.terminals = append(platform.terminals, &secondTerminal)
	found, err := platform.Reports(t.Context(), start.Add(-time.Hour), start)
	if err != nil || len(found) != 3 {
		t.Fatalf("reports are %+v, %v", found, err)
	}
	wantReversal := actors.Report{
		Org: platform.terminals[0].Org, Reference: reference, Terminal: platform.terminals[0].ID, Kind: actors.Reversal, Failure: payment.Failure{Detail: "chargeback"},
		At: time.Date(2026, 9, 3, 10, 14, 0, 250000000, time.UTC),
	}
	if found[0] != wantReversal || found[2].Terminal != secondTerminal.ID || found[2].Org != secondTerminal.Org || found[2].Kind != actors.Reversal {
		t.Errorf("reports are %+v", found)
	}
	if c := found[1]; c.Kind != actors.Correction || c.Terminal != secondTerminal.ID || !c.At.Equal(time.Date(2026, 9, 3, 10, 14, 0, 500000000, time.UTC)) {
		t.Errorf("the correction is %+v", c)
	}
	got := platform.requests()
	if len(got) != 2 || !strings.Contains(got[0].query, "updated_from=2026-09-03T09%3A00%3A30.000000Z") || !strings.Contains(got[0].query, "order_by=updated") {
		t.Errorf("asked %+v", got)
	}
}

func TestFailedPollIsRepeatedAndDelaysNoOtherPlatform(t *testing.T) {
	isUnreachable := true
	var platform *fakePlatform
	platform = startPlatform(t, func(w http.ResponseWriter, got receivedRequest, n int) {
		if isUnreachable {
			respond(503, `{}`)(w, got, n)
			return
		}
		answerPages(page("", theirBody("reversed", merchantMetaOf(platform.terminals[0]))))(w, got, 1)
	})
	other := startPlatform(t, answerPages(page("")))
	other.answer = answerPages(page("", theirBody("reversed", merchantMetaOf(other.terminals[0]))))
	platform.terminals = append(platform.terminals, other.terminals[0])
	since, until := start.Add(-time.Hour), start
	found, err := platform.Reports(t.Context(), since, until)
	if err != nil || len(found) != 2 || found[0].Terminal != other.terminals[0].ID {
		t.Fatalf("reports are %+v, %v", found, err)
	}
	isUnreachable = false
	if found, err = platform.Reports(t.Context(), until, until.Add(time.Hour)); err != nil || len(found) != 4 {
		t.Fatalf("reports are %+v, %v", found, err)
	}
	got := platform.requests()
	if last := got[len(got)-1]; !strings.Contains(last.query, "updated_from=2026-09-03T09%3A00%3A30") {
		t.Errorf("the platform that was down is asked %s", last.query)
	}
}

func TestPlatformsArePolledEveryFiveMinutes(t *testing.T) {
	platform := startPlatform(t, answerPages(page("")))
	if at, ok := platform.NextReport(start); !ok || !at.Equal(start.Add(5*time.Minute)) {
		t.Errorf("the next question is at %v, %v", at, ok)
	}
	platform.terminals = nil
	if _, ok := platform.NextReport(start); ok {
		t.Error("there is a next question, and nobody to ask")
	}
}

func TestAClosedChargeIsExamined(t *testing.T) {
	for status, want := range map[string]actors.ReportKind{"reversed": actors.Reversal, "failed": actors.Correction, "charged": actors.LateSettlement} {
		r := startPlatform(t, respond(200, theirBody(status)))
		report, found := r.InquireReport(t.Context(), r.question(actors.Pay, 0))
		if !found || report.Kind != want || report.Reference != reference || report.Terminal != r.terminals[0].ID || report.Org != r.terminals[0].Org {
			t.Errorf("%s: %+v, %v", status, report, found)
		}
	}
	for name, answer := range map[string]func(http.ResponseWriter, receivedRequest, int){
		"nothing new": respond(200, theirBody("rejected")), "no answer": respond(503, ``), "not found": respond(404, ``),
	} {
		r := startPlatform(t, answer)
		if report, found := r.InquireReport(context.Background(), r.question(actors.Pay, 0)); found {
			t.Errorf("%s: %+v", name, report)
		}
	}
}

// If a list has more pages than the bound, the next poll does not ask for the same period again.
func TestReportsAreBounded(t *testing.T) {
	const bound = 5
	var platform *fakePlatform
	platform = startPlatform(t, func(w http.ResponseWriter, got receivedRequest, n int) {
		answerPages(page(fmt.Sprint("c", n), strings.Replace(theirBody("reversed", merchantMetaOf(platform.terminals[0])), reference.String(), uuid.NewString(), 1)))(w, got, 1)
	})
	platform.BoundReports(bound)
	found, err := platform.Reports(t.Context(), time.Time{}, start)
	if n := len(platform.requests()); err != nil || len(found) != 2*bound || n != 2*bound {
		t.Errorf("%d pages give %d reports, %v", n, len(found), err)
	}
	if got := platform.requests()[0].query; !strings.Contains(got, "updated_from=2026-08-04T10%3A00%3A30") {
		t.Errorf("the first question after a start reaches back so far: %s", got)
	}
	if !strings.Contains(platform.log.String(), "more to report") {
		t.Errorf("the operator reads %q", platform.log)
	}
	platform.answer = answerPages(page(""))
	if _, err := platform.Reports(t.Context(), start, start.Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if got := platform.requests(); !strings.Contains(got[len(got)-1].query, "updated_from=2026-09-03T10%3A00%3A30") {
		t.Errorf("the next question reaches back to %s", got[len(got)-1].query)
	}
}
