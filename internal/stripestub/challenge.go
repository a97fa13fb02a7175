package stripestub

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
)

// challengePath is the path of the payer's page for 3-D Secure, without the token. It is not a path of Stripe's API.
const challengePath = "/3d_secure/"

// challenge is a payer's authentication that is open.
type challenge struct {
	token, url, returnURL string
}

func (s *Stub) newChallenge(in *intent) *challenge {
	token := newID("tdsrc")
	return &challenge{token: token, url: s.URL + challengePath + token, returnURL: in.returnURL}
}

// nextAction returns the intent's member next_action. Without a return_url only Stripe.js could show the page.
func (ch *challenge) nextAction() any {
	switch {
	case ch == nil:
		return nil
	case ch.returnURL == "":
		return object{"type": "use_stripe_sdk", "use_stripe_sdk": object{"type": "three_d_secure_redirect", "stripe_js": ch.url}}
	}
	return object{"type": "redirect_to_url", "redirect_to_url": object{"return_url": ch.returnURL, "url": ch.url}}
}

var challengePage = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>3D Secure test page</title></head>
<body><h1>3D Secure test page</h1><p>Payment of {{.Amount}} {{.Currency}} (minor units)</p>
<form method="post"><button name="decision" value="approve">Complete authentication</button>
<button name="decision" value="refuse">Fail authentication</button></form></body></html>
`))

// serveChallenge shows the payer's page, and takes the payer's decision: POST with decision=approve or refuse. It redirects to
// the return_url.
func (s *Stub) serveChallenge(w http.ResponseWriter, r *http.Request, token string) {
	s.lock()
	id, page := "", struct {
		Amount   int64
		Currency string
	}{}
	for _, in := range s.intents {
		if in.challenge != nil && in.challenge.token == token {
			id, page.Amount, page.Currency = in.id, in.amount, in.currency
		}
	}
	s.mu.Unlock()
	if id == "" {
		http.Error(w, "This page has expired.", http.StatusNotFound)
		return
	}
	decision := r.PostFormValue("decision")
	if r.Method != http.MethodPost || decision != "approve" && decision != "refuse" {
		_ = challengePage.Execute(w, page)
		return
	}
	target, err := s.Authenticate(id, decision == "approve")
	if err != nil || target == "" {
		http.Error(w, "Return to the shop.", http.StatusOK)
		return
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
}

// Authenticate decides the open challenge of a PaymentIntent, as the payer does on the page. It returns the address to which the
// page redirects: the return_url with payment_intent, payment_intent_client_secret and redirect_status (succeeded or failed).
func (s *Stub) Authenticate(intentID string, isApproved bool) (string, error) {
	s.lock()
	defer s.mu.Unlock()
	in, ok := s.objects[intentID].(*intent)
	if !ok || in.challenge == nil {
		return "", fmt.Errorf("stripestub: %s has no open challenge", intentID)
	}
	returnURL, status := in.challenge.returnURL, "succeeded"
	in.challenge = nil
	var f *failure
	if isApproved {
		f = s.pay(in, true)
	} else {
		f = s.refuseAuthentication(in)
	}
	if f != nil {
		status = "failed"
	}
	s.changed(in)
	if returnURL == "" {
		return "", nil
	}
	target, err := url.Parse(returnURL)
	if err != nil {
		return "", err
	}
	query := target.Query()
	query.Set("payment_intent", in.id)
	query.Set("payment_intent_client_secret", in.secret)
	query.Set("redirect_status", status)
	target.RawQuery = query.Encode()
	return target.String(), nil
}

// refuseAuthentication ends a challenge that the payer has failed. Nothing is charged.
func (s *Stub) refuseAuthentication(in *intent) *failure {
	f := invalid("payment_intent_authentication_failure", "", "The provided PaymentMethod has failed authentication. You can provide payment_method_data or a new PaymentMethod to attempt to fulfill this PaymentIntent again.")
	f.method = in.method.json()
	in.status, in.method, in.lastError = requiresMethod, nil, f
	s.emit("payment_intent.payment_failed", in)
	return f
}
