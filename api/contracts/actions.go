package contracts

import (
	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// listActions serves GET /pfp/{product}/{id}/actions, which lists the product's actions. Each row tells whether the caller may
// take the action now, which fields the action's body has, and to which statuses the action may lead.
func (h *Handlers) listActions(req *web.Request, f *family, product *contract.Product) error {
	result, err := h.contractAt(req, f, product)
	if err != nil {
		return err
	}
	if err := web.QueryOf(req.RequestCtx).Problems.Err(); err != nil {
		return err
	}
	forbidden := req.Principal.RefuseRole(contractEditors...)
	var e schema.Encoder
	e.Open('{')
	e.OpenField("data", '[')
	result.Record.Caller = h.callerOf(req)
	available := result.Record.Available(ledger.MicrosOf(h.cfg.Clock.Now()))
	for i := range available {
		if forbidden != nil {
			available[i].Refusal = forbidden
		}
		e.Open('{')
		f.appendAvailability(&e, result.Record, &available[i])
		e.Close('}')
	}
	e.Close(']')
	e.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, e.Buf)
	return nil
}

// appendAvailability writes an action. If the action would be refused now, the member refusal is the body of the response that
// it would get.
func (f *family) appendAvailability(e *schema.Encoder, r *contract.Record, a *contract.Availability) {
	e.Text("action", a.Name)
	e.Boolean("allowed", a.Refusal == nil)
	appendRefusal(e, a.Refusal)
	if a.Before == nil {
		e.Null("after")
	} else {
		e.Texts("after", textsOf(a.Before, func(action contract.Action) string { return r.Product.ActionName(f.reading, action) }))
	}
	e.Texts("from", textsOf(a.From, func(status contract.Status) string { return string(status) }))
	e.OpenField("leads_to", '[')
	for _, step := range a.Steps {
		e.Open('{')
		e.Text("status", string(step.To))
		e.Text("why", step.Why)
		e.Close('}')
	}
	e.Close(']')
	e.OpenField("fields", '[')
	for i := range a.Fields {
		e.Open('{')
		f.appendBodyField(e, &a.Fields[i])
		e.Close('}')
	}
	e.Close(']')
}

// appendRefusal writes the body of the response that a refusal causes, or null if there is no refusal.
func appendRefusal(e *schema.Encoder, refusal error) {
	if refusal == nil {
		e.Null("refusal")
		return
	}
	e.Raw("refusal", string(web.ErrorBody(refusal)))
}

func textsOf[T any](list []T, text func(T) string) []string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = text(list[i])
	}
	return texts
}

// appendBodyField writes the description of a field of an action's body: the properties of the field's column, and the bounds
// that the contract sets for the value.
func (f *family) appendBodyField(e *schema.Encoder, field *contract.BodyField) {
	form := field.Kind.Form(field.Column, schema.Use{InRequest: true, ParseOptions: f.reading.ParseOptions})
	e.Text("name", field.Name)
	e.Text("kind", field.Kind.String())
	e.Boolean("required", field.Required)
	e.Text("help", field.Help)
	minimum, maximum := field.Bounds()
	appendBound(e, "minimum", minimum)
	appendBound(e, "maximum", maximum)
	if form.MaxLength != 0 {
		e.Integer("max_length", int64(form.MaxLength))
	}
	if form.MinLength != 0 {
		e.Integer("min_length", int64(form.MinLength))
	}
	if len(form.Words) != 0 {
		e.Texts("words", form.Words)
	}
	if field.Default != nil {
		e.Key("default")
		e.Buf = field.Kind.AppendJSON(field.Column, e.Buf, field.Default, f.reading.ResponseStyle)
	}
	if len(form.Members) == 0 {
		return
	}
	e.OpenField("fields", '[')
	for _, member := range form.Members {
		e.Open('{')
		f.appendBodyField(e, &contract.BodyField{Column: member, Required: member.Required})
		e.Close('}')
	}
	e.Close(']')
}

// appendBound writes a bound for a number. The bound is written as a string of digits, because it may be too large for a JSON
// number.
func appendBound(e *schema.Encoder, name string, bound *money.Amount) {
	if bound != nil {
		e.Amount(name, *bound)
	}
}
