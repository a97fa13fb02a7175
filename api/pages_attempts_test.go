package api_test

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Cards that the simulator refuses, and one that times out.
const (
	declinedCard   = "4000000000000002"
	poorCard       = "4000000000009995"
	expiredCard    = "4000000000000069"
	failingCard    = "4000000000000119"
	challengedCard = "4000000000003220"
	timedOutCard   = "4000000000000341"
)

// setHostedAttempts sets how many attempts a payer has at each hosted payment of the first partner, in env test.
func (f *fixture) setHostedAttempts(n string) {
	f.t.Helper()
	f.admin().patch("/api/v1/terminal/"+f.paymentTerminal(), `{"merchant_params":{"hosted_attempts":`+n+`}}`).want(200, "")
}

// payerForm creates a hosted payment. It returns the payment's id and the target of the form on its page.
func (f *fixture) payerForm(fields string) (id, action string) {
	f.t.Helper()
	transaction := f.createHosted(fields)
	action, _ = f.browse(transaction.at("widget_url")).wantPage(200, checkoutTitle).form()
	return transaction.at("id"), action
}

// tryCard opens the page at an address and sends a card with its form.
func (f *fixture) tryCard(address, number string) *response {
	f.t.Helper()
	return f.fill(f.browse(address), card(number))
}

// routing returns a row "attempt outcome error_code" for each terminal at which a transaction was tried, and the reference of
// each try, in the same order.
func (f *fixture) routing(id string) (rows, references []string) {
	f.t.Helper()
	r := f.admin().get(transactions+"/"+id+"/routing").want(200, "")
	for i := range r.rows() {
		row := "data." + string(rune('0'+i)) + "."
		rows, references = append(rows, r.at(row+"attempt")+" "+r.at(row+"outcome")+" "+r.at(row+"error_code")), append(references, r.at(row+"reference"))
	}
	return rows, references
}

// wantRouting checks the rows that the function routing returns, and returns the references.
func (f *fixture) wantRouting(id string, want ...string) (references []string) {
	f.t.Helper()
	rows, references := f.routing(id)
	if !slices.Equal(rows, want) {
		f.t.Errorf("tried %q, want %q", rows, want)
	}
	return references
}

func TestDeclinedCardLeavesThePayerFurtherAttempts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receiver := f.newWebhookReceiver()
	id, action := f.payerForm("")
	f.tryCard(action, declinedCard).wantPage(200, checkoutTitle, `role="alert"><strong>The payment did not go through</strong>`, "The card was declined.", "Nothing has been charged.", "You can try 2 more times.", "$12.50")
	f.transaction(id).wantStatus("created", "card_declined").wantFields(map[string]string{
		"payment_method": "null", "route": "", "amount_with_fee": "1250", "finished": "null", "description": "null",
	})
	first := f.wantRouting(id, "1 refused card_declined")
	f.waitForDeliveries()
	f.tryCard(action, "4242424242424242").wantPage(200, "Paid")
	f.transaction(id).wantStatus("charged", "").wantFields(map[string]string{"payment_method.last4": "4242"})
	references := f.wantRouting(id, "1 refused card_declined", "2 accepted null")
	if first[0] != id || references[0] != id || references[1] == id || len(references[1]) != len(id) {
		t.Errorf("the attempts of %s have the references %q, then %q", id, first, references)
	}
	f.waitForDeliveries()
	if _, types := receiver.received(); !slices.Equal(types, []string{"transaction.charged"}) {
		t.Errorf("notified of %q", types)
	}
	if provider, partner := f.balanceOf("A:provider:"+f.paymentTerminal()), f.balanceOf("L:partner:1:available"); provider != "1250" || partner != "100001250" {
		t.Errorf("the provider owes %s, and the partner has %s", provider, partner)
	}
	if suspense := f.balanceOf("L:suspense:1"); suspense != "0" {
		t.Errorf("%s is in suspense", suspense)
	}
}

func TestLastRefusalEndsTheHostedPayment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receiver := f.newWebhookReceiver()
	id, action := f.payerForm(`,"failUrl":"` + failURL + `"`)
	f.tryCard(action, declinedCard).wantPage(200, checkoutTitle, "The card was declined.")
	f.tryCard(action, expiredCard).wantPage(200, checkoutTitle, "The card has expired.")
	f.tryCard(action, poorCard).wantPage(200, "Not paid", "not enough money", `href="`+failURL+`"`)
	f.transaction(id).wantStatus("rejected", "insufficient_funds")
	f.wantRouting(id, "1 refused card_declined", "2 refused expired_card", "3 refused insufficient_funds")
	f.send(action, card("4242424242424242")).wantPage(200, "Not paid")
	f.transaction(id).wantStatus("rejected", "insufficient_funds")
	f.waitForDeliveries()
	if _, types := receiver.received(); !slices.Equal(types, []string{"transaction.rejected"}) {
		t.Errorf("notified of %q", types)
	}
}

// Attempts that are made with the API count like those that are made on the page.
func TestAttemptsByAPIAndPageCountTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, action := f.payerForm("")
	continueWith := func(number string) *response {
		return f.partner().post(operation("continue", id), `{`+strings.Replace(goodCard, good, number, 1)+`}`).want(200, "")
	}
	continueWith(declinedCard).wantStatus("created", "card_declined")
	f.tryCard(action, poorCard).wantPage(200, checkoutTitle, "not enough money")
	continueWith(declinedCard).wantStatus("rejected", "card_declined")
	f.wantRouting(id, "1 refused card_declined", "2 refused insufficient_funds", "3 refused card_declined")
}

func TestTerminalSetsTheNumberOfAttempts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, wrong := range []string{"0", "11", "-1", `"3"`, "1.5"} {
		f.admin().patch("/api/v1/terminal/"+f.paymentTerminal(), `{"merchant_params":{"hosted_attempts":`+wrong+`}}`).want(422, "").wantFieldsRefused("merchant_params.hosted_attempts")
	}
	f.setHostedAttempts("1")
	id, action := f.payerForm("")
	f.send(action, card(declinedCard)).wantPage(200, "Not paid")
	f.wantRouting(id, "1 refused card_declined")
	f.setHostedAttempts("10")
	id, action = f.payerForm("")
	for range 5 {
		f.tryCard(action, declinedCard).wantPage(200, checkoutTitle)
	}
	f.setHostedAttempts("1") // the payment keeps the number of attempts that was set at its first attempt
	for range 4 {
		f.tryCard(action, declinedCard).wantPage(200, checkoutTitle)
	}
	f.tryCard(action, declinedCard).wantPage(200, "Not paid")
	rows, references := f.routing(id)
	slices.Sort(references)
	if len(rows) != 10 || len(slices.Compact(references)) != 10 {
		t.Errorf("%q %q", rows, references)
	}
}

func TestRefusedChallengeUsesAnAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setHostedAttempts("2")
	id, action := f.payerForm("")
	challenge := f.tryCard(action, challengedCard)
	f.follow(f.answerChallenge(challenge, "refuse")).wantPage(200, checkoutTitle, "The payment was not confirmed.")
	f.transaction(id).wantStatus("created", "authentication_failed").wantFields(map[string]string{"auth_params": "null"})
	second := f.tryCard(action, challengedCard)
	f.transaction(id).wantStatus("action_required", "")
	f.follow(f.answerChallenge(second, "approve")).wantPage(200, "Paid")
	f.wantRouting(id, "1 refused authentication_failed", "2 accepted null")

	id, action = f.payerForm("")
	f.tryCard(action, declinedCard).wantPage(200, checkoutTitle)
	f.follow(f.answerChallenge(f.tryCard(action, challengedCard), "refuse")).wantPage(200, "Not paid", "The payment was not confirmed.")
	f.transaction(id).wantStatus("rejected", "authentication_failed")
}

// A failure at the provider is no refusal of the card, and an unknown outcome may still be a charge.
func TestOnlyADefiniteRefusalLeavesAnAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, action := f.payerForm("")
	f.send(action, card(failingCard)).wantPage(200, "Not paid")
	f.transaction(id).wantStatus("failed", "processing_error")

	id, action = f.payerForm("")
	f.tryCard(action, declinedCard).wantPage(200, checkoutTitle)
	f.tryCard(action, timedOutCard).wantPage(200, "Processing")
	f.send(action, card("4242424242424242")).wantPage(200, "Processing")
	f.transaction(id).wantStatus("charging", "")
	f.advance(10)
	f.transaction(id).wantStatus("charged", "")
	f.wantRouting(id, "1 refused card_declined", "2 accepted null")
}

func TestRefusalByLimitOrBlocklistEndsAnAttemptedPayment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	blocked, action := f.payerForm("")
	f.tryCard(action, declinedCard).wantPage(200, checkoutTitle)
	f.addToBlocklist("bin", "424242")
	f.tryCard(action, "4242424242424242").wantPage(200, "Not paid")
	f.transaction(blocked).wantStatus("rejected", "anti-fraud: bin")
	rows := f.wantRouting(blocked, "1 refused card_declined", "2 stopped anti_fraud")
	if rows[1] != "null" {
		t.Errorf("an attempt that was never sent has the reference %s", rows[1])
	}
	// Each attempt counts towards a velocity limit, and still counts after a restart.
	f.createLimit(`{"partner_id":1,"kind":"velocity","max_count":3,"window":"hour","env":"test","type":"payment","currency":"USD"}`)
	limited, action := f.payerForm("")
	f.tryCard(action, declinedCard).wantPage(200, checkoutTitle)
	f.restart()
	f.tryCard(f.pageOf(limited), "5555555555554444").wantPage(200, "Not paid")
	f.transaction(limited).wantStatus("rejected", "limit exceeded: velocity")
}

// pageOf returns a new URL of the page of a transaction that waits for its payer.
func (f *fixture) pageOf(id string) string {
	f.t.Helper()
	action, _ := f.browse(f.transaction(id).at("widget_url")).form()
	return f.base() + action
}

func TestDeadlineEndsAnAttemptedPayment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receiver := f.newWebhookReceiver()
	id, action := f.payerForm("")
	f.advanceBy(10 * time.Minute)
	f.tryCard(action, declinedCard).wantPage(200, checkoutTitle)
	f.advanceBy(actionTTL - 10*time.Minute - time.Second)
	f.transaction(id).wantStatus("created", "card_declined")
	f.advanceBy(time.Second)
	f.transaction(id).wantStatus("rejected", "payer_action_expired")
	f.wantRouting(id, "1 refused card_declined")
	f.waitForDeliveries()
	if _, types := receiver.received(); !slices.Equal(types, []string{"transaction.rejected"}) {
		t.Errorf("notified of %q", types)
	}
	// The provider may refuse an attempt after the deadline of the payment. This refusal ends the payment, because no time is
	// left to try again.
	late, action := f.payerForm("")
	f.advanceBy(10 * time.Minute)
	challenge := f.tryCard(action, challengedCard)
	f.advanceBy(actionTTL - time.Minute)
	f.transaction(late).wantStatus("action_required", "")
	f.answerChallenge(challenge, "refuse")
	f.transaction(late).wantStatus("rejected", "authentication_failed")
}

func TestPayerCancelsOnThePage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	cancel := url.Values{"cancel": {"1"}}
	receiver := f.newWebhookReceiver()
	id, action := f.payerForm(`,"failUrl":"` + failURL + `"`)
	if page := f.browse(f.base() + action); !strings.Contains(page.body, ` type="submit" name="cancel" value="1" formnovalidate>`) {
		t.Errorf("no button in %s", page.body)
	}
	f.send(action, cancel).wantPage(200, "Not paid", "The payment was cancelled.", `href="`+failURL+`"`)
	f.transaction(id).wantStatus("failed", "cancelled")
	f.wantRouting(id)
	f.waitForDeliveries()
	if _, types := receiver.received(); !slices.Equal(types, []string{"transaction.failed"}) {
		t.Errorf("notified of %q", types)
	}
	f.send(action, cancel).wantPage(200, "Not paid")
	f.send(action, card("4242424242424242")).wantPage(200, "Not paid")

	// A payer may also cancel after a refused attempt. The card that the payer has typed meanwhile is ignored.
	id, action = f.payerForm("")
	f.tryCard(action, declinedCard).wantPage(200, checkoutTitle)
	typed := card("4242424242424242")
	typed.Set("cancel", "")
	f.send(action, typed).wantPage(200, "Not paid")
	f.transaction(id).wantStatus("failed", "cancelled")
	f.wantRouting(id, "1 refused card_declined")

	// Once the provider has begun to process the payment, the button voids it at the provider, as a cancellation by the merchant
	// does.
	id, action = f.payerForm("")
	f.tryCard(action, "4000002500003155").wantPage(200, "Confirm with a password", `name="cancel"`)
	f.send(action, cancel).wantPage(200, "Not paid", "The payment was cancelled.")
	f.transaction(id).wantStatus("failed", "cancelled")
	id, action = f.payerForm("")
	f.tryCard(action, "4000000000000077").wantPage(200, "Processing", `name="cancel"`)
	f.send(action, cancel).wantPage(200, "Not paid")
	f.transaction(id).wantStatus("failed", "cancelled")

	id, action = f.payerForm("")
	f.tryCard(action, "4242424242424242").wantPage(200, "Paid")
	f.send(action, cancel).wantPage(200, "Paid")
	f.transaction(id).wantStatus("charged", "")
}

// A payer can't cancel a hold that the payer has approved, and the recipient of a payout can't cancel the payout.
func TestPayerCannotCancelAHoldOrAPayout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	cancel := url.Values{"cancel": {"1"}}
	f.setTerminalParams("payment", `{"two_phase":true}`)
	id, action := f.payerForm("")
	f.tryCard(action, "4242424242424242").wantPage(200, "Approved")
	f.send(action, cancel).wantPage(200, "Approved")
	f.transaction(id).wantStatus("payment_suspended", "")
	payout := f.partner().post(transactions, `{"params":{"env":"test","type":"payout","amount":"1250","currency":"USD","hosted":true}}`).want(201, "")
	action, _ = f.browse(payout.at("widget_url")).form()
	f.send(action, cancel).wantPage(200, payoutTitle)
	f.transaction(payout.at("id")).wantStatus("created", "")
}

// If two tabs of a browser send a card at the same moment, only one card is tried, and both tabs show its result. The second card
// is not tried, because the payer sent it before seeing that the first one was refused.
func TestTwoTabsMakeOneAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, action := f.payerForm("")
	var wg sync.WaitGroup
	for _, number := range []string{declinedCard, "4242424242424242"} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f.visit("POST", action, card(number))
		}()
	}
	wg.Wait()
	if rows, _ := f.routing(id); !slices.Equal(rows, []string{"1 accepted null"}) {
		f.wantRouting(id, "1 refused card_declined")
		f.transaction(id).wantStatus("created", "card_declined")
		f.tryCard(action, "4242424242424242").wantPage(200, "Paid")
	}
	f.transaction(id).wantStatus("charged", "")
	if got := f.balanceOf("A:provider:" + f.paymentTerminal()); got != "1250" {
		t.Errorf("the provider owes %s", got)
	}
}
