package api_test

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A browser without scripts sends a form each time its button is pressed, and shows the response to the last request. Only the
// first request may make an attempt.
func TestFormSentTwiceUsesOneAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	id := transaction.at("id")
	action, form := f.browse(transaction.at("widget_url")).form()
	for name, values := range card(declinedCard) {
		form[name] = values
	}
	var wg sync.WaitGroup
	for range 15 { // fewer than one IP address may send cards in a minute
		wg.Add(1)
		go func() {
			defer wg.Done()
			f.visit("POST", action, form).wantRedirect(action + "&posted")
		}()
	}
	wg.Wait()
	f.wantRouting(id, "1 refused card_declined")
	second := f.browse(f.base()+action).wantPage(200, checkoutTitle, "The card was declined.", "You can try 2 more times.", `name="step" value="method-2"`)
	f.send(action, form).wantPage(200, checkoutTitle, "The card was declined.", "You can try 2 more times.")
	f.wantRouting(id, "1 refused card_declined")
	f.fill(second, card("4242424242424242")).wantPage(200, "Paid")
	f.wantRouting(id, "1 refused card_declined", "2 accepted null")
}

// A form that names another attempt than the present one is not carried out, and does not count towards limits.
func TestFormOfAnotherAttemptIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createLimit(`{"partner_id":1,"kind":"velocity","max_count":2,"window":"hour","env":"test","type":"payment","currency":"USD"}`)
	id, action := f.payerForm("")
	second := f.send(action, card(declinedCard)).wantPage(200, checkoutTitle, "The card was declined.")
	for _, step := range []string{"method-1", "method-3", "method-02", "method-", "method", "2", "-1", "", "password-2", strings.Repeat("9", 400)} {
		form := card("4242424242424242")
		form.Set("step", step)
		f.send(action, form).wantPage(200, checkoutTitle, "You can try 2 more times.").wantNothingMarked()
		form.Set("cvv", "")
		f.send(action, form).wantPage(200, checkoutTitle).wantNothingMarked()
	}
	f.send(action, card("4242424242424242")).wantPage(200, checkoutTitle, "You can try 2 more times.") // a form without a step counts as a form of the first attempt
	f.wantRouting(id, "1 refused card_declined")
	f.fill(second, card("4242424242424242")).wantPage(200, "Paid")
}

// A form that is shown again because of wrong fields belongs to the same attempt.
func TestCorrectedFormBelongsToItsAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, action := f.payerForm("")
	f.send(action, card(declinedCard))
	form := card("4242424242424241")
	form.Set("step", "method-2")
	f.send(action, form).wantPage(422, checkoutTitle, "Check the card number", `name="step" value="method-2"`)
	form.Set("cardnumber", "4242424242424242")
	f.send(action, form).wantPage(200, "Paid")
	f.wantRouting(id, "1 refused card_declined", "2 accepted null")
}

// If a form is sent twice, the response to the second request is the page that a reload would show: the transaction's present
// step, without fields marked as wrong.
func TestFormOfAnotherStepShowsThePresentStep(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, action := f.payerForm("")
	first := f.browse(f.base() + action)
	asked := f.fill(first, card("4000002500003155")).wantPage(200, "Confirm with a password", `name="step" value="password-1"`)
	f.fill(first, card("4000002500003155")).wantPage(200, "Confirm with a password").wantNothingMarked()
	wrong := url.Values{"otp": {"654321"}}
	second := f.fill(asked, wrong).wantPage(200, checkoutTitle, "The payment was not confirmed.").wantNothingMarked()
	f.fill(asked, wrong).wantPage(200, checkoutTitle, "The payment was not confirmed.", "You can try 2 more times.").wantNothingMarked()
	f.send(action, wrong).wantPage(200, checkoutTitle).wantNothingMarked()

	// A password that was entered for an earlier attempt is not tried for the next attempt.
	f.fill(second, card("4000002500003155")).wantPage(200, "Confirm with a password", `name="step" value="password-2"`)
	f.fill(asked, wrong).wantPage(200, "Confirm with a password").wantNothingMarked()
	f.wantRouting(id, "1 refused authentication_failed", "2 accepted null")
	f.transaction(id).wantStatus("action_required", "")
}

// If a password is sent several times at once, only the first copy is tried.
func TestPasswordSentTwiceUsesOneAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, action := f.payerForm("")
	_, form := f.send(action, card("4000002500003155")).wantPage(200, "Confirm with a password").form()
	form.Set("otp", "654321")
	var wg sync.WaitGroup
	for range 10 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if r := f.visit("POST", action, form); r.status != 303 {
				t.Errorf("%d %s", r.status, r.body)
			}
		}()
	}
	wg.Wait()
	f.wantRouting(id, "1 refused authentication_failed")
	f.transaction(id).wantStatus("created", "authentication_failed")
}

// The button to cancel cancels the payment, even on a page that was shown for an earlier attempt.
func TestCancelOfAnEarlierAttemptCancels(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	first := f.browse(transaction.at("widget_url"))
	f.fill(first, card(declinedCard)).wantPage(200, checkoutTitle)
	f.fill(first, url.Values{"cancel": {"1"}}).wantPage(200, "Not paid", "The payment was cancelled.")
}

// wantNothingMarked checks that a page marks no field as wrong.
func (r *response) wantNothingMarked() *response {
	r.t.Helper()
	if slices.ContainsFunc([]string{`class="wrong"`, "aria-invalid", "Check the marked fields"}, func(mark string) bool { return strings.Contains(markup(r.body), mark) }) {
		r.t.Errorf("marked: %s", r.body)
	}
	return r
}

// markup returns a page without its script and style.
func markup(body string) string {
	_, afterStyle, _ := strings.Cut(body, "</style>")
	beforeScript, _, _ := strings.Cut(afterStyle, "<script")
	return beforeScript
}

// Below /pay the response to a method that a URL does not support is an error page, like the response to every other error there.
func TestOtherMethodsGetAPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	path, _ := f.ownPath(transaction.at("widget_url"))
	bare, token, _ := strings.Cut(path, "?")
	for _, c := range []struct{ method, path, allow string }{
		{"PUT", path, "GET, HEAD, POST"}, {"DELETE", path, "GET, HEAD, POST"}, {"POST", bare + "/receipt?" + token, "GET, HEAD"}, {"PATCH", "/pay/l/x", "GET, HEAD, POST"}, {"POST", "/pay/x/y", "GET, HEAD"},
	} {
		r := f.visit(c.method, c.path, url.Values{"a": {"b"}}).wantPage(405, "That did not work")
		if got := r.header.Get("allow"); !sameSet(got, c.allow) {
			t.Errorf("%s %s: allow %q, want %q", c.method, c.path, got, c.allow)
		}
	}
	if r := f.anyone().with("accept-language", "ru").do("PUT", path, ""); r.status != 405 || !strings.Contains(r.body, `<html lang="ru"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	f.transaction(transaction.at("id")).wantStatus("created", "")
}
