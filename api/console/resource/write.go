package resource

import (
	"html/template"
	"slices"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger"
)

// formPage is the data for the template with a form.
type formPage struct {
	Text string // explanation of the form; empty if there is none
	View *form.View
	Post form.Post
}

// HTML returns the form. It adds the two hidden fields of each form of the console: the CSRF token and the form key.
func (p formPage) HTML(csrf, formKey string) template.HTML {
	p.Post.CSRF, p.Post.FormKey = csrf, formKey
	return p.View.HTML(p.Post)
}

// formSubmission shows a form, and sends the posted form to the API.
type formSubmission struct {
	kind      *kind
	operation *apispec.Operation
	form      *form.Form
	id        string // id of the record; empty if there is none
	title     string
	text      string
	crumbs    []view.Crumb
	submit    string
	danger    bool
	path      string // path of the page
	cancel    string

	// done responds to the person after the API has carried out the request.
	done func(answer *web.InternalResponse) error
}

// run shows the form or, if the form was posted, sends its values to the API.
func (w *formSubmission) run(v *visit.Visit) error {
	if !w.kind.area.mayCall(v, w.operation) {
		return &web.RefusedError{Status: fiber.StatusForbidden, Code: string(ledger.Forbidden)}
	}
	if v.Form == nil {
		return w.show(v, 0, nil)
	}
	object, problems, isEmpty := w.form.Parse(v.Form)
	switch {
	case form.WantsRow(v.Form):
		return w.show(v, 0, nil)
	case !problems.None():
		return w.show(v, fiber.StatusUnprocessableEntity, problems)
	case isEmpty && w.form.Changes:
		return v.Redirect(w.cancel, false)
	}
	answer := v.Do(w.operation.Method, apiPath(w.operation, w.id), w.body(v, object))
	switch {
	case answer.IsOK():
		return w.done(answer)
	case answer.Status == fiber.StatusUnauthorized || answer.Status == fiber.StatusNotFound || answer.Status == fiber.StatusInternalServerError:
		return answer.Refusal()
	}
	return w.show(v, answer.Status, form.RefusedBy(answer.Refusal()))
}

// body returns the body of the request to the API, or nil if the request has no body.
func (w *formSubmission) body(v *visit.Visit, object map[string]any) []byte {
	if w.operation.Operation.Body == nil {
		return nil
	}
	for name, value := range w.kind.fixed(v) {
		if value != nil && apispec.Named(w.operation.Body, name) != nil {
			object[name] = value
		}
	}
	if w.operation.WrapsBodyInParams {
		object = map[string]any{"params": object}
	}
	return form.Body(object)
}

// show shows the form, with the posted values if it was posted.
func (w *formSubmission) show(v *visit.Visit, status int, problems *form.Problems) error {
	page := formPage{Text: w.text, View: w.form.View(v.Form, problems),
		Post: form.Post{Action: w.path, Submit: w.submit, Danger: w.danger, Cancel: w.cancel}}
	return v.Show(templates, "form", visit.PageContent{Status: status, Title: w.title, Crumbs: w.crumbs, Page: page})
}

// fieldsFor returns the fields of an operation's body that the person may send.
func (k *kind) fieldsFor(v *visit.Visit, o *apispec.Operation) []apispec.Field {
	maySend, ok := k.area.may(v, o)
	fixed := k.fixed(v)
	return slices.DeleteFunc(slices.Clone(o.Body), func(f apispec.Field) bool {
		_, isFixed := fixed[f.Name]
		return !ok || isFixed || !maySend(f.Name)
	})
}

// create shows the form for a new record, and creates the record when the form is posted.
func (k *kind) create(v *visit.Visit) error {
	o, t := k.creation(), labelsOf(v)
	fields := k.fieldsFor(v, o)
	w := &formSubmission{
		kind: k, operation: o, title: t.Fill(t.List.New, "record", t.Single(k.Name)), crumbs: k.crumbs(v), submit: t.Common.Create,
		path: k.path("new"), cancel: k.path(),
		form: &form.Form{Fields: fields, Texts: t, Context: k.Name, Initial: form.ReadInitial(fields, v.Params())},
	}
	w.done = func(answer *web.InternalResponse) error { return k.created(v, answer) }
	return w.run(v)
}

// created redirects to the page of a new record. If the API's response has a field that Kind.ShownOnce names, created shows
// the field's value instead of redirecting, because the API never returns the value again, and the value must not be part
// of an address.
func (k *kind) created(v *visit.Visit, answer *web.InternalResponse) error {
	record := dataOf(answer.Body)
	id := textOf(record[k.Key])
	for _, name := range k.ShownOnce {
		if textOf(record[name]) != "" {
			return k.showOnce(v, name, id, record)
		}
	}
	if k.Record.Read == nil || id == "" {
		return v.Redirect(k.path(), true)
	}
	return v.Redirect(k.path(escapePath(id)), true)
}

// oncePage is the data for the template with a value that is shown only once.
type oncePage struct {
	Label, Value, Text string
	Next               link
	Pairs              []pair
}

func (k *kind) showOnce(v *visit.Visit, name, id string, record map[string]any) error {
	t := labelsOf(v)
	next := k.path()
	if k.Record.Read != nil && id != "" {
		next = k.path(escapePath(id))
	}
	page := oncePage{Label: t.Field(k.Name + "." + name), Value: textOf(record[name]), Text: t.List.Once, Next: link{k.title(labelsOf(v), record), next}}
	return v.Show(templates, "once", visit.PageContent{Status: fiber.StatusCreated, Title: capitalized(t.Single(k.Name)), Crumbs: k.crumbs(v), Page: page})
}

// edit shows the form that changes a record, and saves the changes when the form is posted.
func (k *kind) edit(v *visit.Visit) error {
	id, t := v.Parameter("id"), labelsOf(v)
	record, err := k.fetch(v, id)
	if err != nil {
		return err
	}
	w := &formSubmission{
		kind: k, operation: k.Patch, id: id, title: k.title(labelsOf(v), record), crumbs: k.recordCrumb(v, id, record), submit: t.Common.Save,
		path: k.path(escapePath(id), "edit"), cancel: k.path(escapePath(id)),
		form: &form.Form{Fields: k.fieldsFor(v, k.Patch), Texts: t, Context: k.Name, Changes: true, Record: record, IsMerged: k.IsMerged},
	}
	w.done = func(*web.InternalResponse) error { return v.Redirect(w.cancel, true) }
	return w.run(v)
}

// remove asks for confirmation, and deactivates the record when the person confirms.
func (k *kind) remove(v *visit.Visit) error {
	id, t := v.Parameter("id"), labelsOf(v)
	record, err := k.fetch(v, id)
	if err != nil {
		return err
	}
	w := &formSubmission{
		kind: k, operation: k.Delete, id: id, crumbs: k.recordCrumb(v, id, record), submit: t.Form.Deactivate, danger: true,
		title: t.Fill(t.Form.Confirm, "record", k.title(labelsOf(v), record)), text: t.Form.NoUndo,
		path: k.path(escapePath(id), "delete"), cancel: k.path(escapePath(id)),
		form: &form.Form{Texts: t, Context: k.Name, Record: record},
	}
	w.done = func(*web.InternalResponse) error { return v.Redirect(w.cancel, true) }
	return w.run(v)
}

// act shows the form of an action, and carries out the action when the form is posted. The action is on the record with the
// given id or, if id is empty, on several records.
func (k *kind) act(v *visit.Visit, o *apispec.Operation, id string) error {
	t := labelsOf(v)
	w := &formSubmission{
		kind: k, operation: o, id: id, title: t.Action(o.ID), crumbs: k.crumbs(v), submit: t.Action(o.ID),
		path: k.path(actionName(o)), cancel: k.path(),
		form: &form.Form{Fields: k.fieldsFor(v, o), Texts: t, Context: k.Name},
	}
	if id != "" {
		record, err := k.fetch(v, id)
		if err != nil {
			return err
		}
		w.form.Record, w.crumbs = record, k.recordCrumb(v, id, record)
		w.path, w.cancel = k.path(escapePath(id), actionName(o)), k.path(escapePath(id))
	}
	if v.Form == nil {
		w.form.Initial = form.ReadInitial(w.form.Fields, v.Params())
	}
	w.done = func(answer *web.InternalResponse) error { return w.showResult(v, answer) }
	return w.run(v)
}

// resultPage is the data for the template with the API's response to an action.
type resultPage struct {
	Pairs []pair
	Next  link
}

// showResult shows the API's response to an action. If the response is empty, or is the record on which the person acted,
// showResult redirects to the record's page.
func (w *formSubmission) showResult(v *visit.Visit, answer *web.InternalResponse) error {
	record, t := dataOf(answer.Body), labelsOf(v)
	if len(record) == 0 || w.id != "" && textOf(record[w.kind.Key]) == w.id {
		return v.Redirect(w.cancel, true)
	}
	s := &valueWriter{t: t, area: w.kind.area, context: w.kind.Name}
	page := resultPage{Pairs: s.pairs(w.operation.ResponseFields, w.kind.Name, record, nil), Next: link{w.crumbs[len(w.crumbs)-1].Title, w.cancel}}
	return v.Show(templates, "result", visit.PageContent{Title: w.title, Crumbs: w.crumbs, Page: page, Notice: t.Common.Done})
}
