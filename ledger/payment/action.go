package payment

import (
	"encoding/json"

	"mizan/ledger"
)

// Action is what the payer has to do, as the rail (the provider) publishes it. The rail defines all JSON in it.
type Action struct {
	Type         string        // auth_params.type: "none", "redirect" or "auth_3ds_form"; empty: the action has only a Page
	Method       string        // HTTP method of the request to URL: "get" or "post"
	URL          string        // where Params are sent; empty: nowhere
	Params       []byte        // JSON object of strings (ActionParams); nil: none
	Page         string        // where the service's hosted page sends the payer; empty: it sends the payer to URL
	PageUntil    ledger.Micros // when Page expires; 0: not before Until
	Code         string        // the content of the QR code on the hosted page; empty: no code
	Deposit      string        // the blockchain address for the payment, which the hosted page shows; empty: none
	Material     []byte        // additional_params_for_auth: what the payer fills in or signs, a JSON object; nil: nothing
	Requires     []string      // members that the submitted material must have, each with a text that is not blank
	ExpiresAt    ledger.Micros // deadline for submitting the material; 0: none
	Destinations []Destination // receiving institutions to choose from; nil: no choice
	Until        ledger.Micros // deadline for the payer; the decision that publishes the action sets it, not the rail
}

// Destination is a receiving institution of a payout.
type Destination struct{ ID, Name string }

// ActionParams encodes texts by name for Action.Params; nil if there are none.
func ActionParams(texts map[string]string) []byte {
	if len(texts) == 0 {
		return nil
	}
	params, _ := json.Marshal(texts) // a map of strings always marshals
	return params
}

// Stale tells whether the deadline for the material has passed. At the deadline itself it has not.
func (a *Action) Stale(now ledger.Micros) bool { return a.ExpiresAt != 0 && now > a.ExpiresAt }

// isStaleFor tells whether the rail has to publish the action again before it is shown. onPage is true if
// the action is shown on the hosted page.
func (a *Action) isStaleFor(now ledger.Micros, onPage bool) bool {
	return a.Stale(now) || onPage && a.PageUntil != 0 && now >= a.PageUntil
}

// wantsMaterial tells whether material may be submitted: either the rail asks for it, or the answer with the rail's
// action was lost, so that it is not known what the rail asks for.
func (a *Action) wantsMaterial() bool {
	return a.Material != nil || a.Type == "" && a.URL == "" && a.Page == "" && a.Destinations == nil
}
