package stripestub

import (
	"net/http"
	"net/url"
	"testing"
)

const returnURL = "https://shop.example/back?order=7"

func (f *fixture) challenged(method, more string) reply {
	f.t.Helper()
	return f.post("/v1/payment_intents", "amount=1000&currency=usd&payment_method_types[]=card&confirm=true&return_url="+returnURL+"&metadata[reference]=r1&payment_method="+method+more)
}

// The payer's decision leads back to the shop with the parameters that Stripe documents, and to the status of the intent.
func TestPayerDecidesOnThePage(t *testing.T) {
	for _, c := range []struct{ method, decision, redirectStatus, status, code string }{
		{"pm_card_threeDSecure2Required", "approve", "succeeded", succeeded, ""},
		{"pm_card_threeDSecure2Required", "refuse", "failed", requiresMethod, "payment_intent_authentication_failure"},
		{"pm_card_threeDSecureRequiredChargeDeclined", "approve", "failed", requiresMethod, "card_declined"},
	} {
		f := start(t, Options{})
		r := f.challenged(c.method, "").expect(200, "status", "requires_action", "next_action.type", "redirect_to_url")
		page := r.text("next_action.redirect_to_url.url")
		target, err := url.Parse(decide(t, page, c.decision))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"order": "7", "payment_intent": r.id(), "payment_intent_client_secret": r.text("client_secret"), "redirect_status": c.redirectStatus} {
			if got := target.Query().Get(name); got != want {
				t.Errorf("%s %s: %s is %q, want %q", c.method, c.decision, name, got, want)
			}
		}
		after := f.get("/v1/payment_intents/"+r.id(), "expand[]=latest_charge").expect(200, "status", c.status, "next_action", nil)
		if c.code != "" {
			after.expect(200, "last_payment_error.code", c.code)
		} else {
			after.expect(200, "latest_charge.payment_method_details.card.three_d_secure.result", "authenticated")
		}
		if answered := must[*http.Response](t)(http.Get(page)); answered.StatusCode != 404 {
			t.Errorf("the page is still open: %d", answered.StatusCode)
		}
	}
}

// docs.stripe.com/testing, "3D Secure authentication": whether a card asks the payer on session, off session, and off session
// after it was set up by an authenticated payment with setup_future_usage.
func TestCardsAskForAuthentication(t *testing.T) {
	const (
		yes, no  = "asks", "pays"
		declined = "declined"
	)
	for method, want := range map[string]struct{ onSession, offSession, onceSetUp string }{
		"pm_card_visa":                                                  {no, no, no},
		"pm_card_authenticationRequiredOnSetup":                         {yes, declined, no},
		"pm_card_authenticationRequired":                                {yes, declined, declined},
		"pm_card_authenticationRequiredSetupForOffSession":              {yes, no, no},
		"pm_card_authenticationRequiredChargeDeclinedInsufficientFunds": {yes, declined, ""},
		"pm_card_threeDSecureOptional":                                  {no, no, no},
	} {
		f := start(t, Options{})
		customer := f.post("/v1/customers", "").id()
		saved := f.post("/v1/payment_methods/"+method+"/attach", "customer="+customer).expect(200).id()
		outcome := func(more string) string {
			r := f.challenged(saved, "&customer="+customer+more)
			switch {
			case r.text("status") == requiresAction:
				return yes
			case r.text("status") == succeeded:
				return no
			case r.status == 402 && r.text("error.code") == "authentication_required" && r.text("error.decline_code") == "authentication_required":
				return declined
			}
			return string(r.body)
		}
		if got := outcome(""); got != want.onSession {
			t.Errorf("%s on session: %s, want %s", method, got, want.onSession)
		}
		if got := outcome("&off_session=true"); got != want.offSession {
			t.Errorf("%s off session: %s, want %s", method, got, want.offSession)
		}
		if want.onceSetUp == "" {
			continue
		}
		if r := f.challenged(saved, "&setup_future_usage=off_session&customer="+customer); r.text("status") == requiresAction {
			must[string](t)(f.Authenticate(r.id(), true))
		}
		if got := outcome("&off_session=true"); got != want.onceSetUp {
			t.Errorf("%s off session after setup: %s, want %s", method, got, want.onceSetUp)
		}
	}
}

func TestAuthenticationOnRequestAndErrorOnAction(t *testing.T) {
	f := start(t, Options{})
	f.challenged("pm_card_threeDSecureOptional", "&payment_method_options[card][request_three_d_secure]=any").expect(200, "status", "requires_action")
	f.challenged("pm_card_authenticationRequired", "&error_on_requires_action=true").expect(402, "error.code", "authentication_required", "error.payment_intent.status", "requires_payment_method")
	canceled := f.challenged("pm_card_authenticationRequired", "").id()
	f.post("/v1/payment_intents/"+canceled+"/cancel", "").expect(200, "status", "canceled", "next_action", nil)
	if _, err := f.Authenticate(canceled, true); err == nil {
		t.Error("a canceled payment was authenticated")
	}
	f.check()
}

// A payment with setup_future_usage saves the card at the customer for off-session payments.
func TestPaymentSavesTheCard(t *testing.T) {
	f := start(t, Options{})
	customer := f.post("/v1/customers", "").id()
	r := f.challenged("pm_card_authenticationRequiredOnSetup", "&setup_future_usage=off_session&customer="+customer)
	must[string](t)(f.Authenticate(r.id(), true))
	saved := f.get("/v1/payment_intents/"+r.id(), "expand[]=payment_method").expect(200, "status", "succeeded", "payment_method.customer", customer).text("payment_method.id")
	for _, reference := range []string{"m1", "m2"} {
		f.post("/v1/payment_intents", "amount=1000&currency=usd&payment_method_types[]=card&confirm=true&off_session=true&metadata[reference]="+reference+"&customer="+customer+"&payment_method="+saved).expect(200, "status", "succeeded")
	}
	f.check()
}
