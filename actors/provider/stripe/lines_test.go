package stripe_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"testing"
	"time"

	"mizan/internal/stripestub"
)

// reportOf imports what Stripe has booked since the last report.
func (f *serverFixture) reportOf(terminal string) (report struct {
	ID                          string
	Lines, Matched, Differences int
}) {
	f.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range map[string]string{"terminal_id": terminal, "format": "stripe"} {
		if err := form.WriteField(name, value); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		f.t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, f.BaseURL+v1+"/reconciliation/reports", &body)
	if err != nil {
		f.t.Fatal(err)
	}
	request.Header.Set("content-type", form.FormDataContentType())
	request.Header.Set("authorization", "Bearer "+f.Sandbox.AdminToken)
	request.Header.Set("x-organization-id", f.Sandbox.OrganizationID)
	answer, err := f.client().Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	var decoded struct{ Data any }
	decoded.Data = &report
	if err != nil || answer.StatusCode != 201 || json.Unmarshal(content, &decoded) != nil {
		f.t.Fatalf("%d %s %v", answer.StatusCode, content, err)
	}
	return report
}

// What Stripe has booked is matched with our entries: charges, partial captures and refunds. Another terminal of the account has
// its own lines. Money that moved at Stripe only is a difference.
func TestStripesBalanceTransactionsAreReconciled(t *testing.T) {
	f := startServer(t, nil)
	first := f.terminal
	f.create(goodCard, "1000", "first")
	id := f.create(goodCard, "2000", "second")
	f.create(declinedCard, "4000", "declined")
	f.want(200)(f.Partner().Put(transactions+"/"+id, `{"params":{"type":"refund","amount":"500"}}`))
	f.stub.Settle()
	f.advance(10 * time.Minute)
	report := f.reportOf(first)
	if report.Lines != 3 || report.Matched != 3 || report.Differences != 0 {
		t.Errorf("%+v\n%s", report, f.want(200)(f.admin().Get(v1+"/reconciliation/differences?terminal_id="+first)))
	}
	if again := f.reportOf(first); again.Lines != 0 && again.ID != report.ID {
		t.Errorf("the same period again: %+v", again)
	}
	f.want(200)(f.admin().Do("PATCH", v1+"/terminal/"+first, `{"is_active":false}`))
	f.addTerminal(nil)
	f.create(goodCard, "700", "of the other terminal")
	f.stub.Settle()
	f.advance(10 * time.Minute)
	if of := f.reportOf(first); of.Lines != 0 {
		t.Errorf("the first terminal has %+v of another one", of)
	}
	if of := f.reportOf(f.terminal); of.Matched != 1 {
		t.Errorf("the other terminal has %+v", of)
	}

	// A dispute belongs to the terminal of its charge, whose metadata it lacks, and what belongs to none is in the lines of
	// the older one.
	before := f.reportOf(first).Lines
	f.advance(10 * time.Minute)
	disputed := f.create(goodCard, "800", "disputed")
	if _, err := f.stub.OpenDispute(f.stub.Movements(disputed).Charged[0].ID, "fraudulent"); err != nil {
		t.Fatal(err)
	}
	moveAtStripe(t, f.stub)
	f.stub.Settle()
	f.advance(10 * time.Minute)
	if ofFirst, ofOther := f.reportOf(first), f.reportOf(f.terminal); before != 0 || ofFirst.Lines != 1 || ofOther.Lines != 2 {
		t.Errorf("the terminals have %d and %d lines", ofFirst.Lines, ofOther.Lines)
	}
	f.verify()
}

// moveAtStripe makes a charge that none of our terminals has asked for.
func moveAtStripe(t *testing.T, stub *stripestub.Stub) {
	t.Helper()
	(&suiteAccount{t: t, stub: stub}).post("/v1/payment_intents", url.Values{
		"amount": {"900"}, "currency": {"usd"}, "payment_method_types[]": {"card"}, "payment_method": {"pm_card_visa"}, "confirm": {"true"},
	})
}
