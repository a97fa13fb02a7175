package jsonform

import (
	"mizan/ledger/payment"
	"mizan/ledger/schema"
)

// authVersion is the version of auth_params.
const authVersion = "1.0"

// appendPage writes the address of the payer's page if the page is open; null if it is not, or
// if this caller gets no address.
func appendPage(e *schema.Encoder, name, page string, open bool) {
	if open {
		e.TextOrNull(name, page)
	} else {
		e.Null(name)
	}
}

// appendAuth writes the payer's next action, after the provider has published it
// (specification, "Payer actions").
func appendAuth(e *schema.Encoder, a *payment.Action) {
	const name = "auth_params"
	if a == nil || a.Type == "" {
		e.Null(name)
		return
	}
	method := a.Method
	if method == "" {
		method = "get" // type "none": nothing is called, and the specification has only two values
	}
	e.OpenField(name, '{')
	e.Text("type", a.Type)
	e.Word("version", authVersion)
	e.Text("method", method)
	e.Text("url", a.URL)
	e.Object("params", a.Params)
	e.Close('}')
}

// appendMaterial writes what the initiator must sign or complete, and the deadline.
func appendMaterial(e *schema.Encoder, a *payment.Action) {
	const deadline = "expires_at"
	e.OpenField(payment.MaterialField, '{')
	if a != nil {
		e.Members(a.Material, func(key []byte) bool { return a.ExpiresAt == 0 || string(key) != deadline })
		if a.ExpiresAt != 0 {
			e.Instant(deadline, a.ExpiresAt)
		}
	}
	e.Close('}')
}

// appendPayer writes the payer's address while the payer has something to do, and the
// institutions to choose from.
func appendPayer(e *schema.Encoder, v *TransactionView) {
	a := v.Action
	if a == nil && !v.WaitsForPayer {
		return
	}
	appendPage(e, "simple_auth_redirect_url", v.PageURL, true)
	if a == nil {
		return
	}
	if a.Destinations != nil {
		e.OpenField("availble_destinations", '[') // the specification's spelling
		for i := range a.Destinations {
			e.Open('{')
			e.Text("target_bank_id", a.Destinations[i].ID)
			e.Text("name", a.Destinations[i].Name)
			e.Close('}')
		}
		e.Close(']')
	}
	if a.ExpiresAt != 0 {
		e.Instant("expires_at", a.ExpiresAt)
	}
}
