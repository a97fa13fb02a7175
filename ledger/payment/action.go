package payment

import (
	"encoding/json"

	"mizan/ledger"
)

// Action is what the payer has to do, as the rail publishes it. All JSON in it is the
// rail's own.
type Action struct {
	Type         string        // auth_params.type: "none", "redirect" or "auth_3ds_form"; empty: no auth_params are published and Page is the only way
	Method       string        // "get" or "post"
	URL          string        // where Params are sent; empty: nowhere
	Params       []byte        // JSON object of strings (ActionParams); nil: none
	Page         string        // where the service's own page sends the payer; empty: to URL
	PageUntil    ledger.Micros // when Page ends; 0: not before Until
	Code         string        // what the QR code on the service's own page says; empty: it shows none
	Deposit      string        // the address on a chain that money is sent to, which the page shows; empty: none
	Material     []byte        // additional_params_for_auth, a JSON object; nil: nothing is to be submitted
	Requires     []string      // members that what is submitted has to have, each a text that is not blank
	ExpiresAt    ledger.Micros // deadline for the material; 0: none
	Destinations []Destination // receiving institutions to choose from; nil: no choice
	Until        ledger.Micros // when the payer's time is over: set by the decision that publishes the action, not by the rail
}

// Destination is a receiving institution that a payout can go to.
type Destination struct{ ID, Name string }

// ActionParams are named texts as Action.Params; nil: there are none.
func ActionParams(named map[string]string) []byte {
	if len(named) == 0 {
		return nil
	}
	params, _ := json.Marshal(named) // a map of strings always has a form
	return params
}

// Stale tells whether the deadline of what is to be signed is over. At the instant
// itself it is not.
func (a *Action) Stale(now ledger.Micros) bool { return a.ExpiresAt != 0 && now > a.ExpiresAt }

// ended tells whether the rail has to publish the action anew before it is shown; page
// says that the payer's page is what shows it.
func (a *Action) ended(now ledger.Micros, page bool) bool {
	return a.Stale(now) || page && a.PageUntil != 0 && now >= a.PageUntil
}

// wantsMaterial tells whether something may be submitted: the rail asks for it,
// or what it asks for was lost with the answer that said so.
func (a *Action) wantsMaterial() bool {
	return a.Material != nil || a.Type == "" && a.URL == "" && a.Page == "" && a.Destinations == nil
}
