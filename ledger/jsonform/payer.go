package jsonform

import (
	"mizan/ledger/payment"
	"mizan/ledger/schema"
)

// authVersion is the value of the member version in auth_params.
const authVersion = "1.0"

// appendPageURL writes a field with the address of the payer's page. It writes null if the page is not open, or if url is
// empty because the client must not see the address.
func appendPageURL(out *schema.Encoder, name, url string, isOpen bool) {
	if isOpen {
		out.TextOrNull(name, url)
	} else {
		out.Null(name)
	}
}

// appendAuth writes auth_params, the payer's next action (specification, "Payer actions"). Until the provider has published
// the action, it writes null.
func appendAuth(out *schema.Encoder, action *payment.Action) {
	const name = "auth_params"
	if action == nil || action.Type == "" {
		out.Null(name)
		return
	}
	method := action.Method
	if method == "" {
		method = "get" // the specification requires "get" or "post" even for type "none", which calls nothing
	}
	out.OpenField(name, '{')
	out.Text("type", action.Type)
	out.Word("version", authVersion)
	out.Text("method", method)
	out.Text("url", action.URL)
	out.Object("params", action.Params)
	out.Close('}')
}

// appendMaterial writes additional_params_for_auth. The object contains the material that the payer must sign or complete,
// and the deadline.
func appendMaterial(out *schema.Encoder, action *payment.Action) {
	const deadline = "expires_at"
	out.OpenField(payment.MaterialField, '{')
	if action != nil {
		out.Members(action.Material, func(key []byte) bool { return action.ExpiresAt == 0 || string(key) != deadline })
		if action.ExpiresAt != 0 {
			out.Instant(deadline, action.ExpiresAt)
		}
	}
	out.Close('}')
}

// appendPayerChoices writes fields only while the payer has something to do: the address of the payer's page, the
// institutions from which the payer can choose, and the deadline.
func appendPayerChoices(out *schema.Encoder, view *TransactionView) {
	action := view.Action
	if action == nil && !view.WaitsForPayer {
		return
	}
	appendPageURL(out, "simple_auth_redirect_url", view.PageURL, true)
	if action == nil {
		return
	}
	if action.Destinations != nil {
		out.OpenField("availble_destinations", '[') // the specification's spelling
		for i := range action.Destinations {
			out.Open('{')
			out.Text("target_bank_id", action.Destinations[i].ID)
			out.Text("name", action.Destinations[i].Name)
			out.Close('}')
		}
		out.Close(']')
	}
	if action.ExpiresAt != 0 {
		out.Instant("expires_at", action.ExpiresAt)
	}
}
