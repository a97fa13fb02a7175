package api_test

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	paymentactor "mizan/actors/payment"
	"mizan/api"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// fakePayers is a transaction service with one transaction. A test sets its payer action, also to
// actions that the simulator does not have, and the results of commands.
type fakePayers struct {
	id ledger.ID

	mu            sync.Mutex
	record        payment.Record
	due           ledger.Micros // deadline of a hosted transaction
	err           error         // the error of every command
	returnedCalls int           // how often Returned was called
	continued     paymentactor.Continue
}

// change changes the transaction, or the results of commands.
func (r *fakePayers) change(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// setAction sets the payer's action, with the deadline unchanged.
func (r *fakePayers) setAction(action payment.Action) {
	r.change(func() {
		action.Until = r.record.Action.Until
		r.record.Action = &action
	})
}

func (r *fakePayers) result() (paymentactor.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record := r.record
	return paymentactor.Result{Record: &record, Stamp: posting.Stamp{Due: r.due}}, r.err
}

// returnedCount returns how often Returned was called.
func (r *fakePayers) returnedCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.returnedCalls
}

// Find implements checkout.Payers.
func (r *fakePayers) Find(org, id ledger.ID) (paymentactor.Result, error) {
	if id != r.id {
		return paymentactor.Result{}, ledger.Refuse("rail.Find", ledger.NotFound, "no such transaction")
	}
	found, _ := r.result()
	return found, nil
}

// Current implements checkout.Payers.
func (r *fakePayers) Current(c paymentactor.Command, _ bool) (paymentactor.Result, error) {
	return r.Find(c.Org, c.ID)
}

// Returned implements checkout.Payers.
func (r *fakePayers) Returned(org, id ledger.ID) (paymentactor.Result, error) {
	r.change(func() { r.returnedCalls++ })
	return r.result()
}

// Complete implements checkout.Payers.
func (r *fakePayers) Complete(paymentactor.Material) (paymentactor.Result, error) { return r.result() }

// Choose implements checkout.Payers.
func (r *fakePayers) Choose(paymentactor.Choice) (paymentactor.Result, error) { return r.result() }

// Continue implements checkout.Payers.
func (r *fakePayers) Continue(c paymentactor.Continue) (paymentactor.Result, error) {
	r.change(func() { r.continued = c })
	return r.result()
}

// newPayerPage starts a server with fakePayers whose payer has the action, and returns the address of
// the payer's page.
func newPayerPage(t *testing.T, action payment.Action) (*fixture, *fakePayers, string) {
	t.Helper()
	r := &fakePayers{id: uuid.New()}
	r.record = payment.Record{ID: r.id, Partner: 1, Status: payment.ActionRequired}
	r.record.Type, r.record.Amount, r.record.AmountWithFee = payment.Payment, money.MustParse("1250"), money.MustParse("1300")
	r.record.Asset = money.Asset{Currency: "USD", Env: money.Prod}
	r.record.ReturnURL, r.record.FailURL = returnURL, failURL
	f := newFixture(t, func(cfg *api.Config) { cfg.Payers = r })
	expires := f.Clock.Now().Add(actionTTL)
	action.Until = ledger.MicrosOf(expires)
	r.record.Action = &action
	return f, r, f.pages().Address(f.seed.First.Org, r.id, expires)
}

func TestProviderRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	h, r, address := newPayerPage(t, payment.Action{})
	for _, c := range []struct {
		action payment.Action
		want   string
	}{
		{payment.Action{Type: "redirect", Method: "get", URL: "https://acs.example/a?b=c"}, "https://acs.example/a?b=c"},
		{payment.Action{Type: "redirect", Method: "get", URL: "https://acs.example/a", Params: []byte(`{"x":"1 2&","b":"я"}`)}, "https://acs.example/a?b=%D1%8F&x=1+2%26"},
		{payment.Action{Type: "redirect", Method: "get", URL: "https://acs.example/a?b=c#d", Params: []byte(`{"x":"1"}`)}, "https://acs.example/a?b=c&x=1#d"},
		{payment.Action{Type: "redirect", Method: "get", URL: "https://acs.example/a", Page: "https://acs.example/p"}, "https://acs.example/p"},
		{payment.Action{Page: "https://acs.example/qr"}, "https://acs.example/qr"},
		{payment.Action{Type: "auth_3ds_form", Method: "post", URL: "https://acs.example/a", Page: "https://acs.example/p"}, "https://acs.example/p"},
	} {
		r.setAction(c.action)
		h.visit("GET", address, nil).wantRedirect(c.want)
		// After a form of these pages no redirect is used, because a browser would apply the form's policy
		// to it.
		h.visit("GET", address+"&posted", nil).wantPage(200, "Continue to your bank", `<meta http-equiv="refresh" content="0; url=/pay/`)
	}
}

func TestProviderFormIsPosted(t *testing.T) {
	t.Parallel()
	h, _, address := newPayerPage(t, payment.Action{
		Type: "auth_3ds_form", Method: "post", URL: "https://acs.example:8443/step?a=b", Params: []byte(`{"PaReq":"a\"<b>","MD":"1","n":1}`),
	})
	page := h.visit("GET", address, nil).wantPage(200, "Continue to your bank", "13.00 USD", ">Continue</button>")
	action, fields := page.form()
	if action != "https://acs.example:8443/step?a=b" || fields.Encode() != (url.Values{"PaReq": {`a"<b>`}, "MD": {"1"}}).Encode() {
		t.Errorf("%s %v", action, fields)
	}
	if policy := page.header.Get("content-security-policy"); !strings.HasSuffix(policy, "form-action 'self' https://acs.example:8443") {
		t.Errorf("%s", policy)
	}
}

func TestInvalidProviderAddressIsNotFollowed(t *testing.T) {
	t.Parallel()
	h, r, page := newPayerPage(t, payment.Action{})
	for _, address := range []string{"javascript:alert(1)", "//acs.example", "https://a;b/"} {
		for _, action := range []payment.Action{{Page: address}, {Type: "redirect", Method: "get", URL: address}, {Type: "auth_3ds_form", Method: "post", URL: address}} {
			r.setAction(action)
			h.visit("GET", page, nil).wantPage(500, "Something went wrong")
			if log := h.log.String(); !strings.Contains(log, "/pay/:id") || strings.Contains(log, "token") {
				t.Errorf("log %q", log)
			}
		}
	}
}

func TestPayerWithNothingToDoWaits(t *testing.T) {
	t.Parallel()
	h, r, address := newPayerPage(t, payment.Action{})
	for name, action := range map[string]payment.Action{
		"none is published":       {Type: "none"},
		"a signature is wanted":   {Type: "none", Material: []byte(`{"type":"eip712","payload":"x"}`)},
		"it was lost":             {},
		"the merchant knows more": {Type: "none", Material: []byte(`{"type":7}`)},
	} {
		r.setAction(action)
		if a := h.visit("GET", address, nil); !strings.Contains(a.body, "<h1>Processing</h1>") {
			t.Errorf("%s: %s", name, a.body)
		}
		h.visit("POST", address, url.Values{"otp": {"1"}}).wantRedirect(strings.TrimPrefix(address, h.base()))
	}
}

func TestPayerWaitsDuringAnInquiry(t *testing.T) {
	t.Parallel()
	h, r, address := newPayerPage(t, payment.Action{Material: []byte(`{}`)})
	h.visit("GET", address, nil).wantPage(200, "Confirm with a password")
	r.change(func() { r.record.Op = &payment.Op{Kind: payment.OpVoid} })
	h.visit("GET", address, nil).wantPage(200, "Processing")
}

func TestPayerAfterTheDeadlineWaitsForTheOutcome(t *testing.T) {
	t.Parallel()
	h, r, _ := newPayerPage(t, payment.Action{Material: []byte(`{}`)})
	address := h.pages().Address(h.seed.First.Org, r.id, h.Clock.Now().Add(2*actionTTL))
	h.advanceBy(actionTTL - time.Microsecond)
	h.visit("GET", address, nil).wantPage(200, "Confirm with a password")
	h.advanceBy(time.Microsecond)
	h.visit("GET", address, nil).wantPage(200, "Processing")
}

func TestMaterialAfterItsDeadlineIsRefused(t *testing.T) {
	t.Parallel()
	h, r, address := newPayerPage(t, payment.Action{Material: []byte(`{"type":"otp"}`), ExpiresAt: ledger.MicrosOf(began.Add(time.Minute))})
	h.advanceBy(time.Minute)
	h.visit("GET", address, nil).wantPage(200, "Confirm with a password")
	r.change(func() { r.err = ledger.Refuse("rail", ledger.Expired, "too late") })
	h.visit("POST", address, url.Values{"otp": {"1"}}).wantPage(410, "Time has run out")
	h.advanceBy(time.Microsecond)
	h.visit("GET", address, nil).wantPage(410, "Time has run out")
}

func TestServiceRefusalsAreShownOnThePage(t *testing.T) {
	t.Parallel()
	h, r, address := newPayerPage(t, payment.Action{Material: []byte(`{"type":"otp"}`)})
	for _, c := range []struct {
		err     error
		status  int
		heading string // empty: redirect to the page
	}{
		{nil, 303, ""},
		{ledger.Refuse("x", ledger.Conflict, "x"), 303, ""},
		{ledger.Refuse("x", ledger.NotContinuable, "x"), 303, ""},
		{ledger.Refuse("x", ledger.NotFound, "x"), 404, "Page not found"},
		{ledger.Refuse("x", ledger.Unavailable, "x"), 503, "Try again in a moment"},
		{ledger.RefuseField("x", "otp", "x"), 422, "That did not work"},
		{errors.New("x"), 500, "Something went wrong"},
	} {
		r.change(func() { r.err = c.err })
		a := h.visit("POST", address, url.Values{"otp": {"123456"}})
		if c.heading == "" {
			a.wantRedirect(strings.TrimPrefix(address, h.base()) + "&posted")
			continue
		}
		a.wantPage(c.status, c.heading)
		if waits := a.header.Get("retry-after"); (waits != "") != (c.status == 503) {
			t.Errorf("%d: retry-after %q", c.status, waits)
		}
		if log := h.log.String(); strings.Contains(log, "token") || strings.Contains(log, "123456") || c.status != 500 && strings.Contains(log, "level=ERROR") {
			t.Errorf("%d: log %q", c.status, log)
		}
	}
	if log := h.log.String(); !strings.Contains(log, "level=ERROR") {
		t.Errorf("log %q", log)
	}
}

func TestReturnURLFollowsTheStatus(t *testing.T) {
	t.Parallel()
	h, r, address := newPayerPage(t, payment.Action{Page: "https://acs.example/"})
	returnAddress := strings.Replace(address, "?", "/return?", 1)
	for status, want := range map[payment.Status]string{
		payment.Charged: returnURL, payment.Charging: returnURL, payment.PaymentHeld: returnURL, payment.PreAuthorized3DS: returnURL, payment.Refunded: returnURL,
		payment.Refunding: returnURL, payment.Reversed: returnURL, payment.Rejected: failURL, payment.Failed: failURL, payment.Unknown: returnURL,
		payment.ActionRequired: strings.TrimPrefix(address, h.base()),
	} {
		r.change(func() { r.record.Status = status })
		for _, method := range []string{"GET", "POST"} {
			h.visit(method, returnAddress, nil).wantRedirect(want)
		}
	}
	r.change(func() { r.record.ReturnURL, r.record.FailURL = "", "" })
	for _, status := range []payment.Status{payment.Charged, payment.Rejected, payment.Charging} {
		r.change(func() { r.record.Status = status })
		h.visit("GET", returnAddress, nil).wantRedirect(strings.TrimPrefix(address, h.base()))
	}
}

// An expired link still redirects to the merchant, and reveals nothing to other visitors.
func TestLatePayerIsSentToTheMerchant(t *testing.T) {
	t.Parallel()
	h, r, address := newPayerPage(t, payment.Action{Page: "https://acs.example/"})
	returnAddress := strings.Replace(address, "?", "/return?", 1)
	h.advanceBy(actionTTL)
	h.visit("GET", returnAddress, nil).wantPage(410, "This link is no longer valid")
	r.change(func() { r.record.Status = payment.Rejected })
	h.visit("GET", returnAddress, nil).wantRedirect(failURL)
	if asked := r.returnedCount(); asked != 0 {
		t.Errorf("the service was asked %d times", asked)
	}
}

func TestOnlyTheReturnLinkReportsThePayersReturn(t *testing.T) {
	t.Parallel()
	h, r, address := newPayerPage(t, payment.Action{Page: "https://acs.example/"})
	returnPath, _ := h.ownPath(strings.Replace(address, "?", "/return?", 1))
	if a := h.anyone().do("HEAD", returnPath, ""); a.status != 303 || r.returnedCount() != 0 {
		t.Errorf("HEAD: %d, reported %d times", a.status, r.returnedCount())
	}
	h.anyone().get(returnPath)
	if r.returnedCount() != 1 {
		t.Errorf("GET: reported %d times", r.returnedCount())
	}
}

func TestSecondProviderActionReturnsToThePayer(t *testing.T) {
	t.Parallel()
	h, r, address := newPayerPage(t, payment.Action{Page: "https://acs.example/"})
	until := ledger.MicrosOf(h.Clock.Now().Add(2 * actionTTL))
	r.change(func() {
		r.record.Status, r.record.Hosted, r.record.Action, r.due = payment.Created, true, nil, until
	})
	h.visit("GET", address, nil).wantPage(200, "Pay by card")
	// The record that Continue returns has an action with a later deadline.
	r.change(func() { r.record.Action = &payment.Action{Page: "https://acs.example/", Until: until} })
	a := h.visit("POST", address, card("4242424242424242"))
	next := strings.TrimPrefix(h.pages().Address(h.seed.First.Org, r.id, until.Time().Add(15*time.Minute)), h.base())
	a.wantRedirect(next + "&posted")
	var c paymentactor.Continue
	r.change(func() { c = r.continued })
	if string(c.Card.Number) != "4242424242424242" || string(c.Card.CVV) != "987" || c.Org != h.seed.First.Org || c.ID != r.record.ID || c.Partner != 0 ||
		!strings.HasPrefix(string(c.Browser), `{"language":"`) || c.Credentials.CardLast4 != "4242" {
		t.Errorf("%+v", c)
	}
	r.change(func() { r.record.Status = payment.ActionRequired })
	h.visit("GET", next+"&posted", nil).wantPage(200, "Continue to your bank")
}

func TestTerminalTextPrecedesTheMerchants(t *testing.T) {
	t.Parallel()
	h, r, address := newPayerPage(t, payment.Action{Material: []byte(`{}`)})
	r.change(func() { r.record.Description = "Red shoes" })
	h.visit("GET", address, nil).wantPage(200, "Confirm with a password", "Red shoes")
	r.change(func() { r.record.ShownText = "ACME *SHOES" })
	if a := h.visit("GET", address, nil).wantPage(200, "Confirm with a password", "ACME *SHOES"); strings.Contains(a.body, "Red shoes") {
		t.Errorf("%s", a.body)
	}
}

func TestChallengeRouteIsMissingWithoutASimulator(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *api.Config) { cfg.Challenges = nil })
	f.anyone().get("/simulator/challenge").want(404, `{"error":"not_found","message":"there is nothing at this path"}`)
	f.anyone().post("/simulator/challenge", "{}").want(404, "")
}

func TestRecipientSeesTheReceivedAmount(t *testing.T) {
	t.Parallel()
	h, r, address := newPayerPage(t, payment.Action{Destinations: []payment.Destination{{ID: "b1", Name: `Bank "<1>"`}}})
	rate, err := money.ParseRate("0.5")
	must(t, err)
	r.change(func() {
		r.record.Type, r.record.Dest = payment.Payout, money.MustParse("600")
		r.record.Rate, r.record.SettlementAsset = rate, money.Asset{Currency: "EUR", Env: money.Prod}
	})
	h.visit("GET", address, nil).wantPage(200, "Choose your bank", "6.00 EUR", `value="b1" required> Bank &#34;&lt;1&gt;&#34;</label>`)
}
