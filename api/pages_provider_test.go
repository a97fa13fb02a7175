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
	"mizan/api/web/payerpage"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// fakePayers is a transaction service with one transaction. A test sets the action that the payer must take, and the error that
// every command returns. The action may be one that the simulator never asks for.
type fakePayers struct {
	id ledger.ID

	mu            sync.Mutex
	record        payment.Record
	due           ledger.Micros         // the deadline of the payer, for a hosted transaction
	err           error                 // the error of every command
	returnedCalls int                   // how many times OnReturn was called
	lastContinue  paymentactor.Continue // the last Continue command
}

// change calls update, which changes the transaction or the error of commands, under the lock.
func (r *fakePayers) change(update func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	update()
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
	return paymentactor.Result{Record: &record, Header: posting.RecordHeader{Due: r.due}}, r.err
}

// returnedCount returns how many times OnReturn was called.
func (r *fakePayers) returnedCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.returnedCalls
}

// Methods implements checkout.Payers. Only cards are offered.
func (r *fakePayers) Methods(_ ledger.ID, offered *payment.Record) []payment.Offer {
	return []payment.Offer{{Method: payment.BankCard, Total: offered.AmountWithFee, Asset: offered.Asset}}
}

// Create implements checkout.Payers. The page of a transaction never calls it.
func (r *fakePayers) Create(paymentactor.Create) (paymentactor.Result, error) { return r.result() }

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

// OnReturn implements checkout.Payers.
func (r *fakePayers) OnReturn(org, id ledger.ID) (paymentactor.Result, error) {
	r.change(func() { r.returnedCalls++ })
	return r.result()
}

// OnChargeReturn implements checkout.Payers.
func (r *fakePayers) OnChargeReturn(org, reference ledger.ID) (paymentactor.Result, error) {
	return r.OnReturn(org, reference)
}

// CancelByPayer implements checkout.Payers.
func (r *fakePayers) CancelByPayer(paymentactor.Command) (paymentactor.Result, error) {
	return r.result()
}

// Complete implements checkout.Payers.
func (r *fakePayers) Complete(paymentactor.PayerSubmission) (paymentactor.Result, error) {
	return r.result()
}

// Choose implements checkout.Payers.
func (r *fakePayers) Choose(paymentactor.Choice) (paymentactor.Result, error) { return r.result() }

// Continue implements checkout.Payers.
func (r *fakePayers) Continue(c paymentactor.Continue) (paymentactor.Result, error) {
	r.change(func() { r.lastContinue = c })
	return r.result()
}

// newPayerPage starts a server with fakePayers, whose payer must take the action. It returns the URL of the payer's page, which
// is valid for as long as the payer may act.
func newPayerPage(t *testing.T, action payment.Action) (*fixture, *fakePayers, string) {
	t.Helper()
	payers := &fakePayers{id: uuid.New()}
	payers.record = payment.Record{ID: payers.id, Partner: 1, Status: payment.ActionRequired}
	payers.record.Type, payers.record.Amount, payers.record.AmountWithFee = payment.Payment, money.MustParse("1250"), money.MustParse("1300")
	payers.record.Asset = money.Asset{Currency: "USD", Env: money.Prod}
	payers.record.ReturnURL, payers.record.FailURL = returnURL, failURL
	f := newFixture(t, func(cfg *api.Config) { cfg.Payers = payers })
	expires := f.Clock.Now().Add(actionTTL)
	action.Until = ledger.MicrosOf(expires)
	payers.record.Action = &action
	return f, payers, f.base() + f.pages().LastingPath(f.seed.First.Org, payers.id, expires.Add(payerpage.Lifetime))
}

func TestProviderRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	f, payers, address := newPayerPage(t, payment.Action{})
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
		payers.setAction(c.action)
		f.visit("GET", address, nil).wantRedirect(c.want)
		// After the payer has posted a form, the response is not a redirect to the provider but a page that opens the provider's
		// page. Browsers apply the content security policy of the page with the form to redirects of the form, and that policy
		// forbids other sites.
		f.visit("GET", address+"&posted", nil).wantPage(200, "Continue to your bank", `<meta http-equiv="refresh" content="0; url=https://acs.example/`)
	}
}

func TestProviderFormIsPosted(t *testing.T) {
	t.Parallel()
	f, _, address := newPayerPage(t, payment.Action{
		Type: "auth_3ds_form", Method: "post", URL: "https://acs.example:8443/step?a=b", Params: []byte(`{"PaReq":"a\"<b>","MD":"1","n":1}`),
	})
	page := f.visit("GET", address, nil).wantPage(200, "Continue to your bank", "$13.00", ">Continue</button>")
	target, fields := page.form()
	if target != "https://acs.example:8443/step?a=b" || fields.Encode() != (url.Values{"PaReq": {`a"<b>`}, "MD": {"1"}}).Encode() {
		t.Errorf("%s %v", target, fields)
	}
	if policy := page.header.Get("content-security-policy"); !strings.Contains(policy, "; form-action 'self' https://acs.example:8443; ") {
		t.Errorf("%s", policy)
	}
}

func TestInvalidProviderAddressIsNotFollowed(t *testing.T) {
	t.Parallel()
	f, payers, payerAddress := newPayerPage(t, payment.Action{})
	for _, address := range []string{"javascript:alert(1)", "//acs.example", "https://a;b/"} {
		for _, action := range []payment.Action{{Page: address}, {Type: "redirect", Method: "get", URL: address}, {Type: "auth_3ds_form", Method: "post", URL: address}} {
			payers.setAction(action)
			f.visit("GET", payerAddress, nil).wantPage(500, "Something went wrong")
			if log := f.log.String(); !strings.Contains(log, "/pay/:id") || strings.Contains(log, "token") {
				t.Errorf("log %q", log)
			}
		}
	}
}

func TestPayerWithNothingToDoWaits(t *testing.T) {
	t.Parallel()
	f, payers, address := newPayerPage(t, payment.Action{})
	for name, action := range map[string]payment.Action{
		"no action is published":         {Type: "none"},
		"the material is a signature":    {Type: "none", Material: []byte(`{"type":"eip712","payload":"x"}`)},
		"the action was lost":            {},
		"the material has no known type": {Type: "none", Material: []byte(`{"type":7}`)},
	} {
		payers.setAction(action)
		if a := f.visit("GET", address, nil); !strings.Contains(a.body, "<h1>Processing</h1>") {
			t.Errorf("%s: %s", name, a.body)
		}
		f.visit("POST", address, url.Values{"otp": {"1"}}).wantRedirect(strings.TrimPrefix(address, f.base()) + "&posted")
	}
}

func TestPayerWaitsWhileTheChargeIsVoided(t *testing.T) {
	t.Parallel()
	f, payers, address := newPayerPage(t, payment.Action{Material: []byte(`{}`)})
	f.visit("GET", address, nil).wantPage(200, "Confirm with a password")
	payers.change(func() { payers.record.Op = &payment.Op{Kind: payment.OpVoid} })
	f.visit("GET", address, nil).wantPage(200, "Processing")
}

func TestPayerAfterTheDeadlineWaitsForTheOutcome(t *testing.T) {
	t.Parallel()
	f, _, address := newPayerPage(t, payment.Action{Material: []byte(`{}`)})
	f.advanceBy(actionTTL - time.Microsecond)
	f.visit("GET", address, nil).wantPage(200, "Confirm with a password")
	f.advanceBy(time.Microsecond)
	f.visit("GET", address, nil).wantPage(200, "Processing")
}

func TestMaterialAfterItsDeadlineIsRefused(t *testing.T) {
	t.Parallel()
	f, payers, address := newPayerPage(t, payment.Action{Material: []byte(`{"type":"otp"}`), ExpiresAt: ledger.MicrosOf(began.Add(time.Minute))})
	f.advanceBy(time.Minute)
	f.visit("GET", address, nil).wantPage(200, "Confirm with a password")
	payers.change(func() { payers.err = ledger.Refuse("rail", ledger.Expired, "too late") })
	f.visit("POST", address, url.Values{"otp": {"1"}}).wantPage(410, "Time has run out")
	f.advanceBy(time.Microsecond)
	f.visit("GET", address, nil).wantPage(410, "Time has run out")
}

func TestServiceRefusalsAreShownOnThePage(t *testing.T) {
	t.Parallel()
	f, payers, address := newPayerPage(t, payment.Action{Material: []byte(`{"type":"otp"}`)})
	for _, c := range []struct {
		err     error
		status  int
		heading string // heading of the response; empty: the response redirects to the page
	}{
		{nil, 303, ""},
		{ledger.Refuse("x", ledger.Conflict, "x"), 303, ""},
		{ledger.Refuse("x", ledger.NotContinuable, "x"), 303, ""},
		{ledger.Refuse("x", ledger.NotFound, "x"), 404, "Page not found"},
		{ledger.Refuse("x", ledger.Unavailable, "x"), 503, "Try again in a moment"},
		{ledger.RefuseField("x", "otp", "x"), 422, "That did not work"},
		{errors.New("x"), 500, "Something went wrong"},
	} {
		payers.change(func() { payers.err = c.err })
		a := f.visit("POST", address, url.Values{"otp": {"123456"}})
		if c.heading == "" {
			a.wantRedirect(strings.TrimPrefix(address, f.base()) + "&posted")
			continue
		}
		a.wantPage(c.status, c.heading)
		if retryAfter := a.header.Get("retry-after"); (retryAfter != "") != (c.status == 503) {
			t.Errorf("%d: retry-after %q", c.status, retryAfter)
		}
		if log := f.log.String(); strings.Contains(log, "token") || strings.Contains(log, "123456") || c.status != 500 && strings.Contains(log, "level=ERROR") {
			t.Errorf("%d: log %q", c.status, log)
		}
	}
	if log := f.log.String(); !strings.Contains(log, "level=ERROR") {
		t.Errorf("log %q", log)
	}
}

func TestReturnURLFollowsTheStatus(t *testing.T) {
	t.Parallel()
	f, payers, address := newPayerPage(t, payment.Action{Page: "https://acs.example/"})
	returnAddress := strings.Replace(address, "?", "/return?", 1)
	for status, want := range map[payment.Status]string{
		payment.Charged: returnURL, payment.Charging: returnURL, payment.PaymentHeld: returnURL, payment.PreAuthorized3DS: returnURL, payment.Refunded: returnURL,
		payment.Refunding: returnURL, payment.Reversed: returnURL, payment.Rejected: failURL, payment.Failed: failURL, payment.Unknown: returnURL,
		payment.ActionRequired: strings.TrimPrefix(address, f.base()),
	} {
		payers.change(func() { payers.record.Status = status })
		for _, method := range []string{"GET", "POST"} {
			f.visit(method, returnAddress, nil).wantRedirect(want)
		}
	}
	filled := "https://shop.example/no?id=" + payers.record.ID.String() + "&order=" + url.PathEscape(payers.record.TxID)
	payers.change(func() { payers.record.FailURL = "https://shop.example/no?id={transaction_id}&order={txid}" })
	payers.change(func() { payers.record.Status = payment.Rejected })
	f.visit("GET", returnAddress, nil).wantRedirect(filled)
	f.visit("GET", address, nil).wantPage(200, "Not paid", `content="5; url=`+strings.ReplaceAll(filled, "&", "&amp;")+`"`)
	payers.change(func() { payers.record.ReturnURL, payers.record.FailURL = "", "" })
	for _, status := range []payment.Status{payment.Charged, payment.Rejected, payment.Charging} {
		payers.change(func() { payers.record.Status = status })
		f.visit("GET", returnAddress, nil).wantRedirect(strings.TrimPrefix(address, f.base()))
	}
}

// After a transaction's outcome, an expired link for the payer's return still redirects to the merchant. But the server no longer
// reports to the transaction that the payer has returned.
func TestLatePayerIsSentToTheMerchant(t *testing.T) {
	t.Parallel()
	f, payers, address := newPayerPage(t, payment.Action{Page: "https://acs.example/"})
	returnAddress := strings.Replace(address, "?", "/return?", 1)
	f.advanceBy(actionTTL + payerpage.Lifetime)
	f.visit("GET", returnAddress, nil).wantPage(410, "This link is no longer valid")
	payers.change(func() { payers.record.Status = payment.Rejected })
	f.visit("GET", returnAddress, nil).wantRedirect(failURL)
	if reports := payers.returnedCount(); reports != 0 {
		t.Errorf("the service was asked %d times", reports)
	}
}

func TestOnlyTheReturnLinkReportsThePayersReturn(t *testing.T) {
	t.Parallel()
	f, payers, address := newPayerPage(t, payment.Action{Page: "https://acs.example/"})
	returnPath, _ := f.ownPath(strings.Replace(address, "?", "/return?", 1))
	if a := f.anyone().do("HEAD", returnPath, ""); a.status != 303 || payers.returnedCount() != 0 {
		t.Errorf("HEAD: %d, reported %d times", a.status, payers.returnedCount())
	}
	f.anyone().get(returnPath)
	if payers.returnedCount() != 1 {
		t.Errorf("GET: reported %d times", payers.returnedCount())
	}
}

func TestContinueLeadsToThePageWithTheNewDeadline(t *testing.T) {
	t.Parallel()
	f, payers, address := newPayerPage(t, payment.Action{Page: "https://acs.example/"})
	newDeadline := ledger.MicrosOf(f.Clock.Now().Add(2 * actionTTL))
	payers.change(func() {
		payers.record.Status, payers.record.Hosted, payers.record.Action, payers.due = payment.Created, true, nil, newDeadline
		payers.record.HostedUntil = ledger.MicrosOf(f.Clock.Now().Add(actionTTL))
	})
	f.visit("GET", address, nil).wantPage(200, checkoutTitle)
	posted := strings.TrimPrefix(address, f.base()) + "&posted"
	f.visit("POST", address, card("4242424242424242")).wantRedirect(posted) // the server responds like this after a declined attempt
	f.browse(f.base()+posted).wantPage(200, checkoutTitle)
	var c paymentactor.Continue
	payers.change(func() { c = payers.lastContinue })
	if string(c.Card.Number) != "4242424242424242" || string(c.Card.CVV) != "987" || c.Org != f.seed.First.Org || c.ID != payers.record.ID || c.Partner != 0 ||
		!strings.HasPrefix(string(c.Browser), `{"language":"`) || c.Credentials.CardLast4 != "4242" {
		t.Errorf("%+v", c)
	}
	// Now the payer must take an action that has a later deadline.
	payers.change(func() {
		payers.record.Status, payers.record.Action = payment.ActionRequired, &payment.Action{Page: "https://acs.example/", Until: newDeadline}
	})
	newAddress := f.pages().LastingPath(f.seed.First.Org, payers.id, newDeadline.Time().Add(15*time.Minute))
	f.visit("GET", posted, nil).wantPage(200, "Continue to your bank", `content="0; url=https://acs.example/"`)
	payers.change(func() { payers.record.Action.Page, payers.record.Action.Material = "", []byte(`{}`) })
	f.visit("GET", posted, nil).wantRedirect(newAddress)
	f.visit("GET", newAddress, nil).wantPage(200, "Confirm with a password")
}

func TestTerminalTextReplacesTheMerchantsDescription(t *testing.T) {
	t.Parallel()
	f, payers, address := newPayerPage(t, payment.Action{Material: []byte(`{}`)})
	payers.change(func() { payers.record.Description = "Red shoes" })
	f.visit("GET", address, nil).wantPage(200, "Confirm with a password", "Red shoes")
	payers.change(func() { payers.record.TerminalText = "ACME *SHOES" })
	if a := f.visit("GET", address, nil).wantPage(200, "Confirm with a password", "ACME *SHOES"); strings.Contains(a.body, "Red shoes") {
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
	f, payers, address := newPayerPage(t, payment.Action{Destinations: []payment.Destination{{ID: "b1", Name: `Bank "<1>"`}}})
	rate, err := money.ParseRate("0.5")
	must(t, err)
	payers.change(func() {
		payers.record.Type, payers.record.DestAmount = payment.Payout, money.MustParse("600")
		payers.record.Rate, payers.record.SettlementAsset = rate, money.Asset{Currency: "EUR", Env: money.Prod}
	})
	f.visit("GET", address, nil).wantPage(200, "Choose your bank", "€6.00", `value="b1" required> <span><bdi>Bank &#34;&lt;1&gt;&#34;</bdi></span></label>`)
}
