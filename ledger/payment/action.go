package payment

import (
	"encoding/json"

	"mizan/ledger"
)

// Action is the payer's next action, as the rail (the provider) publishes it. The rail decides what the JSON objects in
// its fields contain.
type Action struct {
	Type         string        // auth_params.type: "none", "redirect", "auth_3ds_form" or StripeElements; empty: the action has only a Page
	Method       string        // HTTP method of the request to URL: "get" or "post"
	URL          string        // where the client sends Params; empty if nothing is sent
	Params       []byte        // JSON object of strings (ActionParams); nil if none
	Page         string        // where the service's hosted page sends the payer; if empty, to URL
	PageUntil    ledger.Micros // when Page expires; 0 if not before the instant Until
	Code         string        // the content of the QR code on the hosted page; empty if none
	Deposit      string        // the blockchain address for the payment, which the hosted page shows; empty if none
	Material     []byte        // additional_params_for_auth: a JSON object that the payer fills in or signs; nil if none
	Requires     []string      // names of the members that the submitted material must have, as texts that are not blank
	ExpiresAt    ledger.Micros // deadline for submitting the material; 0 if none
	Destinations []Destination // receiving institutions from which the payer chooses; nil if there is no choice
	Until        ledger.Micros // deadline for the payer; set by this package, not by the rail
}

// StripeElements is the Type of an action in which the payer gives a card to Stripe, in fields that Stripe's script shows. The names
// of its Params follow.
const (
	StripeElements = "stripe_elements"

	StripeKey    = "publishable_key" // of the merchant's account
	StripeSecret = "client_secret"   // of the payment
	StripeReturn = "return_url"      // where Stripe sends the payer afterwards
)

// Destination is a receiving institution of a payout.
type Destination struct{ ID, Name string }

// ActionParams encodes a map as the JSON object for Action.Params. It returns nil if the map is empty.
func ActionParams(texts map[string]string) []byte {
	if len(texts) == 0 {
		return nil
	}
	params, _ := json.Marshal(texts) // encoding a map of strings never fails
	return params
}

// IsStale tells whether the deadline for submitting the material has passed. A submission exactly at the deadline is
// still accepted.
func (a *Action) IsStale(now ledger.Micros) bool { return a.ExpiresAt != 0 && now > a.ExpiresAt }

// isStaleFor tells whether the action has expired, so that the rail has to publish it again before anybody sees it.
// onPage is true if the hosted page shows the action; such an action also expires when the rail's own page expires.
func (a *Action) isStaleFor(now ledger.Micros, onPage bool) bool {
	return a.IsStale(now) || onPage && a.PageUntil != 0 && now >= a.PageUntil
}

// wantsMaterial tells whether the payer may submit material. The payer may submit it if the rail asks for it, and also if
// the answer with the action was lost, because then the rail may be asking for it.
func (a *Action) wantsMaterial() bool {
	return a.Material != nil || a.Type == "" && a.URL == "" && a.Page == "" && a.Destinations == nil
}
