package payment

import (
	"encoding/json"

	"mizan/ledger"
)

// Action is the payer's next action, as the rail (the provider) publishes it. The rail defines the contents of all JSON
// in it.
type Action struct {
	Type         string        // auth_params.type: "none", "redirect" or "auth_3ds_form"; empty: the action has only a Page
	Method       string        // HTTP method of the request to URL: "get" or "post"
	URL          string        // where Params are sent; empty: they are not sent
	Params       []byte        // JSON object of strings (ActionParams); nil: none
	Page         string        // where the service's hosted page sends the payer; empty: to URL
	PageUntil    ledger.Micros // when Page expires; 0: not before the instant Until
	Code         string        // the content of the QR code on the hosted page; empty: no code
	Deposit      string        // the blockchain address for the payment, which the hosted page shows; empty: none
	Material     []byte        // additional_params_for_auth: the data that the payer fills in or signs, a JSON object; nil: none
	Requires     []string      // members that the submitted material must have, each with a text that is not blank
	ExpiresAt    ledger.Micros // deadline for submitting the material; 0: none
	Destinations []Destination // receiving institutions to choose from; nil: no choice
	Until        ledger.Micros // deadline for the payer; set by the decision that publishes the action, not by the rail
}

// Destination is a receiving institution of a payout.
type Destination struct{ ID, Name string }

// ActionParams encodes texts, by their names, as a JSON object for Action.Params; nil if there are no texts.
func ActionParams(texts map[string]string) []byte {
	if len(texts) == 0 {
		return nil
	}
	params, _ := json.Marshal(texts) // encoding a map of strings never fails
	return params
}

// Stale tells whether the deadline for the material has passed. At the instant of the deadline, material is still accepted.
func (a *Action) Stale(now ledger.Micros) bool { return a.ExpiresAt != 0 && now > a.ExpiresAt }

// isStaleFor tells whether the rail has to publish the action again before it is shown. onPage is true if
// the action is shown on the hosted page.
func (a *Action) isStaleFor(now ledger.Micros, onPage bool) bool {
	return a.Stale(now) || onPage && a.PageUntil != 0 && now >= a.PageUntil
}

// wantsMaterial tells whether the payer may submit material. That is so if the rail asks for material. It is also so if the
// rail's answer with the action was lost, because the rail may be asking for material.
func (a *Action) wantsMaterial() bool {
	return a.Material != nil || a.Type == "" && a.URL == "" && a.Page == "" && a.Destinations == nil
}
