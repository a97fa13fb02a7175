package partner

import (
	"html/template"
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
)

// operation is something that a merchant can do with a payment, such as a refund.
type operation struct {
	name         string
	kind         string   // the operation's name in the request's body; empty if the body has no name
	method, path string   // method and path of the API's route; the transaction's id follows the path
	statuses     []string // statuses in which a transaction may allow the operation
	takes        bool     // the form has a field for an amount
	title, text  func(*Texts) string
	bound        func(*transaction) money.Amount // returns the greatest amount that the person may enter
}

// Names of operations in addresses.
const (
	refundName  = "refund"
	captureName = "capture"
	cancelName  = "cancel"
)

// operations are all operations.
var operations = []*operation{
	{
		name: refundName, kind: "refund", method: fiber.MethodPut, path: v1 + "/transactions/", statuses: []string{"charged", "refunded"}, takes: true,
		title: func(t *Texts) string { return t.Operation.Refund }, text: func(t *Texts) string { return t.Operation.RefundText },
		bound: (*transaction).left,
	},
	{
		name: captureName, method: fiber.MethodPost, path: v1 + "/transactions/commit/", statuses: []string{"payment_suspended", "payout_suspended"}, takes: true,
		title: func(t *Texts) string { return t.Operation.Capture }, text: func(t *Texts) string { return t.Operation.CaptureText },
		bound: (*transaction).left,
	},
	{
		name: cancelName, kind: "cancel", method: fiber.MethodPut, path: v1 + "/transactions/",
		statuses: []string{"created", "action_required", "charging", "payment_suspended", "payout_suspended", "pre_authorized_3ds", "auth_required", "unknown", "cancelled"},
		title:    func(t *Texts) string { return t.Operation.Cancel }, text: func(t *Texts) string { return t.Operation.CancelText },
	},
}

// possible returns the names of the operations that a merchant may try in the transaction's current status.
func (t *transaction) possible() (names []string) {
	for _, o := range operations {
		if slices.Contains(o.statuses, t.Status) && (o.name != refundName || t.Type == "payment" && !t.left().IsZero()) {
			names = append(names, o.name)
		}
	}
	return names
}

// operationPage is the data for the template with the form of an operation.
type operationPage struct {
	Text string
	View *form.View
	Post form.Post
}

// HTML returns the form. It adds the two hidden fields of each form of the console: the CSRF token and the form key.
func (p operationPage) HTML(csrf, formKey string) template.HTML {
	p.Post.CSRF, p.Post.FormKey = csrf, formKey
	return p.View.HTML(p.Post)
}

// operate shows the form of an operation (GET), and executes the operation when the form is posted (POST).
func (h *Handlers) operate(v *visit.Visit, o *operation) error {
	raw, x, err := fetch(v, v.Parameter("id"))
	if err != nil {
		return err
	}
	if !slices.Contains(x.possible(), o.name) && v.Form == nil {
		return &web.RefusedError{Status: fiber.StatusConflict, Code: string(ledger.Conflict)}
	}
	t := textsOf(v)
	f := &form.Form{Texts: t.Texts, Context: "payments", Record: form.ReadObject(raw)}
	if o.takes {
		f.Fields = []apispec.Field{{Name: "amount", Kind: apispec.Amount}}
	}
	path := paymentsPath + "/" + x.ID
	page := func(status int, problems *form.Problems) error {
		text := o.text(t)
		if o.takes {
			text = t.Fill(text, "left", amountOf(v, o.bound(x).String(), x))
		}
		return v.Show(templates, "operation", visit.PageContent{
			Status: status, Title: o.title(t), Crumbs: []view.Crumb{{Title: t.Record("payments"), Path: paymentsPath}, {Title: amountOf(v, x.Amount, x), Path: path}},
			Page: operationPage{Text: text, View: f.View(v.Form, problems), Post: form.Post{Action: path + "/" + o.name, Submit: o.title(t), Cancel: path, Danger: o.name == cancelName}},
		})
	}
	if v.Form == nil {
		return page(0, nil)
	}
	object, problems, _ := f.Parse(v.Form)
	if amount, typed := object["amount"].(string); typed && o.takes && problems.None() {
		problems = o.check(v, t, x, amount)
	}
	if !problems.None() {
		return page(fiber.StatusUnprocessableEntity, problems)
	}
	if object == nil {
		object = make(map[string]any)
	}
	if o.kind != "" {
		object["type"] = o.kind
	}
	answer := v.Do(o.method, o.path+url.PathEscape(x.ID), form.Body(map[string]any{"params": object}))
	switch {
	case answer.IsOK():
		return v.Redirect(path, true)
	case answer.Status == fiber.StatusNotFound || answer.Status == fiber.StatusUnauthorized || answer.Status == fiber.StatusInternalServerError:
		return answer.Refusal()
	}
	return page(answer.Status, form.RefusedBy(answer.Refusal()))
}

// check refuses a zero amount, and an amount above the operation's bound, before a request is sent to the API.
func (o *operation) check(v *visit.Visit, t *Texts, x *transaction, minor string) *form.Problems {
	amount, err := money.Parse(minor)
	problem := ""
	switch bound := o.bound(x); {
	case err != nil || amount.IsZero():
		problem = t.Operation.NotPositive
	case bound.Less(amount):
		problem = t.Fill(t.Operation.TooMuch, "left", amountOf(v, bound.String(), x))
	default:
		return nil
	}
	return &form.Problems{Fields: map[string][]string{"amount": {problem}}}
}

// amountOf formats an amount in the transaction's currency. The amount is given in minor units.
func amountOf(v *visit.Visit, minor string, x *transaction) string {
	return view.Amount(v.T, minor, x.Currency, x.Network)
}
