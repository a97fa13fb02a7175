package contracts

import (
	"encoding/json"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/ledger/contract"
	"mizan/ledger/money"
)

// available is an action in the response to GET …/{id}/actions. It tells whether the action is possible now and, if it is not,
// why.
type available struct {
	Action  string
	Allowed bool
	Refusal *refusal
	After   []string                  // the actions after which this one becomes possible; nil if it never will
	LeadsTo []struct{ Status string } `json:"leads_to"`
	Fields  []struct {
		Name, Kind       string
		Required         bool
		Minimum, Maximum string
	}
}

// refusal is the body of the error response that a request for the action would get now.
type refusal struct {
	Error, Message string
	Details        map[string][]string
}

// available reads all actions of a contract, including those that are not possible now.
func (k *kind) available(v *visit.Visit, id string) ([]available, error) {
	var list struct{ Data []available }
	err := v.Get(k.api(id, "actions"), url.Values{}, &list)
	return list.Data, err
}

// actionView is what a contract's page shows about an action.
type actionView struct {
	Name, Text, Path string
	IsAllowed        bool
	IsOver           bool     // the action can never become possible again
	Why              []string // why the action is not possible
	LeadsTo          []string
	Asks             string // a text that names the required fields of the action's form; empty if there are none
}

// view returns what the page of a contract shows about one of its actions.
func (k *kind) view(v *visit.Visit, id string, record map[string]any, a *available) actionView {
	t, areaTexts := labelsOf(v), textsOf(v)
	shown := actionView{Name: a.Action, Text: areaTexts.action(a.Action), Path: k.path(id, a.Action), IsAllowed: a.Allowed, IsOver: !a.Allowed && a.After == nil, Why: k.why(v, record, a)}
	for _, step := range a.LeadsTo {
		shown.LeadsTo = append(shown.LeadsTo, k.status(v, step.Status))
	}
	var needed []string
	for _, f := range a.Fields {
		if f.Required {
			needed = append(needed, t.Field(k.name+"."+a.Action+"."+f.Name))
		}
	}
	if len(needed) > 0 {
		shown.Asks = t.Fill(areaTexts.Page.NeedsInput, "fields", strings.Join(needed, ", "))
	}
	return shown
}

// why returns the reasons why an action is not possible, in the page's language.
func (k *kind) why(v *visit.Visit, record map[string]any, a *available) (reasons []string) {
	areaTexts := textsOf(v)
	switch {
	case a.Refusal == nil:
		return nil
	case a.Refusal.Error == "conflict":
		reasons = append(reasons, v.T.Fill(areaTexts.Page.NotIn, "status", k.status(v, textIn(record, "status"))))
		if a.After == nil {
			return append(reasons, areaTexts.Page.Over)
		}
		var first []string
		for _, action := range a.After {
			first = append(first, areaTexts.action(action))
		}
		return append(reasons, v.T.Fill(areaTexts.Page.First, "actions", strings.Join(first, " "+areaTexts.Page.Arrow+" ")))
	case a.Refusal.Error == "forbidden":
		return []string{areaTexts.Page.DualControl}
	}
	for _, field := range sortedKeys(a.Refusal.Details) {
		if text := areaTexts.Conditions[field]; text != "" {
			reasons = append(reasons, text)
			continue
		}
		reasons = append(reasons, a.Refusal.Details[field]...)
	}
	return reasons
}

func sortedKeys(details map[string][]string) (names []string) {
	for name := range details {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// formSubmission shows a form, and sends its posted values to the API.
type formSubmission struct {
	form   *form.Form
	path   string // path of the page
	api    string // path of the API's route
	title  string
	submit string
	cancel string
	intro  string
	why    []string // why the action is not possible now; if set, the form is not shown
	crumbs []view.Crumb
	bounds map[string]string // texts with the greatest value that the contract allows now, by field name
	danger bool
}

// formPage is the data for the template of a page with a form.
type formPage struct {
	Intro string
	Why   []string
	Back  link
	View  *form.View
	Post  form.Post
}

// HTML returns the form as HTML, including the hidden fields that each form of a session contains.
func (p formPage) HTML(csrf, formKey string) template.HTML {
	p.Post.CSRF, p.Post.FormKey = csrf, formKey
	return p.View.HTML(p.Post)
}

// run shows the form or, if the form was posted, sends its values to the API.
func (s *formSubmission) run(v *visit.Visit, done func(record map[string]any) error) error {
	if v.Form == nil || form.WantsRow(v.Form) {
		return s.show(v, 0, nil)
	}
	object, problems, _ := s.form.Parse(v.Form)
	if !problems.None() {
		return s.show(v, fiber.StatusUnprocessableEntity, problems)
	}
	answer := v.Do(fiber.MethodPost, s.api, form.Body(object))
	switch {
	case answer.IsOK():
		return done(dataOf(answer.Body))
	case answer.Status == fiber.StatusUnauthorized || answer.Status == fiber.StatusNotFound || answer.Status == fiber.StatusInternalServerError:
		return answer.Refusal()
	}
	return s.show(v, answer.Status, form.RefusedBy(answer.Refusal()))
}

// show shows the form. If the form was posted, it shows the posted values.
func (s *formSubmission) show(v *visit.Visit, status int, problems *form.Problems) error {
	page := formPage{Intro: s.intro, Why: s.why, Back: link{v.T.Common.Back, s.cancel}, View: s.form.View(v.Form, problems),
		Post: form.Post{Action: s.path, Submit: s.submit, Cancel: s.cancel, Danger: s.danger}}
	for i := range page.View.Inputs {
		in := &page.View.Inputs[i]
		if bound := s.bounds[in.Name]; bound != "" {
			in.Hint = strings.TrimSpace(in.Hint + " " + bound)
		}
	}
	return v.Show(templates, "form", visit.PageContent{Status: status, Title: s.title, Crumbs: s.crumbs, Page: page})
}

// act serves the page with the form of an action. If the action is not possible now, the page shows the reasons instead of the
// form.
func (k *kind) act(v *visit.Visit) error {
	id, record, err := k.fetch(v)
	if err != nil {
		return err
	}
	actions, err := k.available(v, id)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(actions, func(a available) bool { return a.Action == v.Parameter("action") })
	if n < 0 {
		return notFound()
	}
	a, areaTexts := &actions[n], textsOf(v)
	o := k.handlers.operation(fiber.MethodPost, k.api("{id}", a.Action))
	w := &formSubmission{
		path: k.path(id, a.Action), api: k.api(id, a.Action), cancel: k.path(id), title: areaTexts.action(a.Action), submit: areaTexts.action(a.Action), why: k.why(v, record, a),
		intro:  v.T.Fill(areaTexts.Page.ActionIntro, "number", textIn(record, "contract_number"), "status", k.status(v, textIn(record, "status"))),
		crumbs: k.crumbs(v, k.crumb(id, record)), bounds: k.bounds(v, record, a), danger: k.ends(a),
		form: &form.Form{Fields: required(o.Body, a), Texts: labelsOf(v), Context: k.name + "." + a.Action, Record: record, Initial: form.ReadInitial(o.Body, v.Params())},
	}
	return w.run(v, func(map[string]any) error { return v.Redirect(k.path(id), true) })
}

// ends tells whether the contract is always in a final status after the action.
func (k *kind) ends(a *available) bool {
	machine := k.product.Machine(k.reading)
	return len(a.LeadsTo) > 0 && !slices.ContainsFunc(a.LeadsTo, func(step struct{ Status string }) bool { return !machine.IsFinal(contract.Status(step.Status)) })
}

// required returns the fields of an action's form. It marks the fields that this contract requires, which a.Fields lists.
func required(fields []apispec.Field, a *available) []apispec.Field {
	fields = slices.Clone(fields)
	for _, f := range a.Fields {
		if known := apispec.Named(fields, f.Name); known != nil {
			known.Required = f.Required
		}
	}
	return fields
}

// bounds returns a text for each field with an upper bound. The text tells the greatest value that the contract allows at
// present. Percentages are left out, because the description of the API already tells their bounds.
func (k *kind) bounds(v *visit.Visit, record map[string]any, a *available) map[string]string {
	areaTexts, bounds := textsOf(v), make(map[string]string)
	frame := &view.Frame{T: v.T}
	for _, f := range a.Fields {
		if f.Maximum == "" || f.Kind == "percent" {
			continue
		}
		bound := f.Maximum
		if f.Kind == "amount" {
			asset := money.Asset{Currency: money.Currency(textIn(record, "currency")), Env: money.Prod}
			if amount, err := money.Parse(f.Maximum); err == nil {
				bound = frame.T.Amount(amount, asset)
			}
		}
		bounds[f.Name] = v.T.Fill(areaTexts.Page.AtMost, "bound", bound)
	}
	return bounds
}

// showCreation serves the page with the form of a new contract.
func (k *kind) showCreation(v *visit.Visit) error {
	t := labelsOf(v)
	title := t.Fill(t.List.New, "record", t.Single(k.name))
	w := &formSubmission{
		path: k.path("new"), api: k.api(""), cancel: k.path(), title: title, submit: t.Common.Create, crumbs: k.crumbs(v),
		form: &form.Form{Fields: requiredFirst(k.create.Body), Texts: t, Context: k.name, Initial: form.ReadInitial(k.create.Body, v.Params())},
	}
	if v.Form != nil && v.Form.Get("currency") == "" { // the currency that the API would choose is needed to parse amounts
		if region, known := contract.Regions[v.Form.Get("region")]; known {
			v.Form.Set("currency", string(region.Currency))
		}
	}
	return w.run(v, func(record map[string]any) error {
		id := textIn(record, "id")
		if id == "" {
			return v.Redirect(k.path(), true)
		}
		return v.Redirect(k.path(id), true)
	})
}

// requiredFirst sorts fields. Required fields come before optional ones. In each of the two groups, objects come last; among
// optional fields, lists count as objects.
func requiredFirst(fields []apispec.Field) []apispec.Field {
	sorted := slices.Clone(fields)
	rank := func(f *apispec.Field) int {
		switch {
		case f.Required && f.Kind != apispec.Object:
			return 0
		case f.Required:
			return 1
		case f.Kind != apispec.Object && f.Kind != apispec.List:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(sorted, func(a, b apispec.Field) int { return rank(&a) - rank(&b) })
	return sorted
}

// refusalOf reads a refusal from a decoded JSON value. If the value contains none, refusalOf returns nil.
func refusalOf(value any) *refusal {
	if value == nil {
		return nil
	}
	text, err := json.Marshal(value)
	r := new(refusal)
	if err != nil || json.Unmarshal(text, r) != nil {
		return nil
	}
	return r
}
