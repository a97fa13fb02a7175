package reference

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"mizan/api/description"
	"mizan/api/description/spec"
	"mizan/api/web"
)

// tagView is the page of a tag (a chapter of the description).
type tagView struct {
	pageView
	Text       string
	Operations []operationView
	Webhooks   []webhookView
	Objects    []objectView // the schemas to which the operations refer
}

// operationView is an operation on a page.
type operationView struct {
	ID, Summary, Text, Method, Path string
	Callers                         []string
	Parameters                      []parameterView
	Body                            *bodyView
	Answers, Refusals               []responseView
	Examples                        []exampleView
	bodyWords, responseWords        []string // for the search: the body's names and texts; the responses' names
}

type parameterView struct {
	Name, In, Type, Text string
	Required             bool
}

type bodyView struct {
	Text, Media string
	Optional    bool
	schemaView
}

type responseView struct {
	Status  int
	Name    string // the text of the status
	Text    string
	Media   string
	Headers []parameterView
	Body    *schemaView // nil if there is no body, or if it is not JSON
	Lines   []refusalLine
}

// refusalLine is a line about one reason for which requests are refused.
type refusalLine struct{ Name, When, Remedy string }

type webhookView struct {
	Name, Summary, Text string
	Headers             []parameterView
	Body                schemaView
	Answers             []responseView
	Example             string
}

// tagView returns the data for the page of a tag.
func (s *site) tagView(tag spec.Tag) tagView {
	v := tagView{pageView: s.pageView(tag.Name, tag.Slug()), Text: tag.Text}
	var names []string // names of the referenced schemas
	for i := range s.document.DescribedOperations {
		if o := &s.document.DescribedOperations[i]; o.Tag == tag.Name {
			v.Operations = append(v.Operations, s.operationView(o))
			names = s.referenced(names, o)
		}
	}
	for i := range s.document.Webhooks {
		if h := &s.document.Webhooks[i]; h.Tag == tag.Name {
			v.Webhooks = append(v.Webhooks, s.webhookView(h))
			names = s.addReferences(names, h.Body)
		}
	}
	for _, component := range s.document.Schemas {
		if component.Tag == tag.Name {
			names = append(names, component.Name)
		}
	}
	v.Objects = s.objects(names)
	return v
}

func (s *site) operationView(o *description.DescribedOperation) operationView {
	v := operationView{ID: o.ID, Summary: o.Summary, Text: o.Text, Method: o.Method, Path: o.Path, Callers: callersText(o)}
	for i := range o.Parameters {
		v.Parameters = append(v.Parameters, newParameterView(&o.Parameters[i]))
	}
	if o.Body != nil {
		text := o.Body.Text
		if o.Body.AlsoInParams {
			text += " The members may also be inside an object `params`."
		}
		v.Body = &bodyView{Text: strings.TrimSpace(text), Media: cmp.Or(o.Body.Media, "application/json"), Optional: o.Body.Optional,
			schemaView: s.bodySchemaView(o.Body.Schema)}
		v.bodyWords = s.wordsOf(o.Body.Schema)
	}
	for i := range o.Responses {
		r := &o.Responses[i]
		if r.IsRefusal() && len(r.Success) == 0 {
			v.Refusals = append(v.Refusals, newRefusalView(r))
		} else {
			v.Answers = append(v.Answers, newAnswerView(&r.Answer))
			if r.Schema != nil {
				v.responseWords = s.namesOf(v.responseWords, r.Schema)
			}
		}
	}
	for i := range o.Examples {
		if e := description.Recorded(o.Operation, &o.Examples[i]); e != nil {
			v.Examples = append(v.Examples, newExampleView(o, &o.Examples[i], e))
		}
	}
	return v
}

// callersText returns texts that name the kinds of callers that may call an operation.
func callersText(o *description.DescribedOperation) (callers []string) {
	for _, c := range o.Callers {
		switch c.Kind {
		case description.PartnerKey:
			callers = append(callers, "a partner, with `x-api-key` and `x-organization-id`")
		case description.SessionToken:
			organization := " and `x-organization-id`"
			if !o.NeedsOrg {
				organization = ""
			}
			callers = append(callers, "a session of role "+orWords(c.Roles)+", with `authorization: Bearer …`"+organization)
		case description.AdminToken:
			callers = append(callers, "the operator, with `authorization: Bearer …` (the admin token)")
		}
	}
	if len(callers) == 0 {
		callers = append(callers, "anybody, without credentials")
	}
	return callers
}

func orWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func newParameterView(p *spec.Parameter) parameterView {
	return parameterView{p.Name, p.In, typeText(p.Schema), p.Text, p.Required}
}

func newAnswerView(a *spec.Answer) responseView {
	v := responseView{Status: a.Status, Name: http.StatusText(a.Status), Text: a.Text,
		Media: strings.Join(append([]string{a.MediaType()}, a.OtherMedia...), ", ")}
	for _, h := range a.Headers {
		if h.Name != "x-request-id" { // every response has it
			v.Headers = append(v.Headers, parameterView{Name: h.Name, Type: typeText(h.Schema), Text: h.Text, Required: h.Required})
		}
	}
	if a.Schema != nil {
		body := newSchemaView(a.Schema)
		v.Body = &body
	}
	return v
}

// newRefusalView lists the reasons for a refusing response, each with what the caller can do about it.
func newRefusalView(r *description.Response) responseView {
	v := responseView{Status: r.Status, Name: http.StatusText(r.Status)}
	for i := range r.Refusals {
		refusal := &r.Refusals[i]
		form, _ := web.ErrorFormOf(refusal.Code)
		v.Lines = append(v.Lines, refusalLine{cmp.Or(form.Name, string(refusal.Code)), description.Sentence(refusal),
			description.UsualRefusals[refusal.Code].Remedy})
	}
	return v
}

func (s *site) webhookView(h *spec.Webhook) webhookView {
	v := webhookView{Name: h.Name, Summary: h.Summary, Text: h.Text, Body: newSchemaView(h.Body)}
	for i := range h.Headers {
		v.Headers = append(v.Headers, newParameterView(&h.Headers[i]))
	}
	for _, a := range h.Answers {
		name := "any other response"
		if a.Status > 0 {
			name = fmt.Sprintf("%dxx", a.Status)
		}
		v.Answers = append(v.Answers, responseView{Name: name, Text: a.Text})
	}
	if h.Example != "" {
		value, _ := description.ParseJSON([]byte(h.Example))
		v.Example = indented(value)
	}
	return v
}

// bodySchemaView returns the view of a body. If the body or its only member refers to a named object, the view also shows
// that object's members, because a reader of the operation looks for them there.
func (s *site) bodySchemaView(body *spec.Schema) schemaView {
	v := newSchemaView(body)
	if body.Ref != "" {
		v.Members = memberViews(s.document.Schema(body))
	}
	if len(body.Members) == 1 && body.Members[0].Schema.Ref != "" {
		v.Members[0].Members = memberViews(s.document.Schema(body.Members[0].Schema))
	}
	return v
}

// wordsOf returns the names and texts of a body's members, for the search.
func (s *site) wordsOf(body *spec.Schema) (words []string) {
	for _, m := range s.document.Schema(body).Members {
		words = append(append(words, m.Name, m.Schema.Text), s.wordsOf(m.Schema)...)
	}
	return words
}

// namesOf adds the names of a schema's members, at any depth.
func (s *site) namesOf(names []string, of *spec.Schema) []string {
	of = s.document.Schema(of)
	for _, m := range of.Members {
		names = s.namesOf(append(names, m.Name), m.Schema)
	}
	for _, inner := range append([]*spec.Schema{of.Entry, of.Others}, of.AnyOf...) {
		if inner != nil {
			names = s.namesOf(names, inner)
		}
	}
	return names
}

// schemaView is a schema on a page: its type and, if it is an object, its members.
type schemaView struct {
	Type    []typePart
	Text    string
	Members []memberView
}

// memberView is a member of an object. If the member itself is an object, Members are that object's members.
type memberView struct {
	Name     string
	Type     []typePart
	Text     string
	Required bool
	Members  []memberView
}

// typePart is a part of the text for a type. If the part names an object, Address is a link to the object's description.
type typePart struct{ Text, Address string }

func newSchemaView(s *spec.Schema) schemaView {
	return schemaView{Type: typeParts(s), Text: s.Text, Members: memberViews(s)}
}

// memberViews returns the members of a schema, including those of a list's entries and of all alternatives.
func memberViews(s *spec.Schema) (members []memberView) {
	for _, m := range s.Members {
		v := memberView{Name: m.Name, Type: typeParts(m.Schema), Text: m.Schema.Text, Required: m.Required, Members: memberViews(m.Schema)}
		if d := m.Schema.Default; d != nil {
			v.Text = strings.TrimSpace(v.Text + fmt.Sprintf(" (default `%v`)", d))
		}
		members = append(members, v)
	}
	if s.Entry != nil {
		members = append(members, memberViews(s.Entry)...)
	}
	for _, alternative := range s.AnyOf {
		members = append(members, memberViews(alternative)...)
	}
	return members
}

// typeText returns the text for a schema's type as a single string.
func typeText(s *spec.Schema) string {
	var text strings.Builder
	for _, part := range typeParts(s) {
		text.WriteString(part.Text)
	}
	return text.String()
}

// typeParts returns the parts of the text for a schema's type.
func typeParts(s *spec.Schema) (parts []typePart) {
	add := func(text string) { parts = append(parts, typePart{Text: text}) }
	switch {
	case s.Ref != "":
		return []typePart{{s.Ref, objectAddress(s.Ref)}}
	case len(s.AnyOf) > 0:
		for i, alternative := range s.AnyOf {
			if i > 0 {
				add(" or ")
			}
			parts = append(parts, typeParts(alternative)...)
		}
		return parts
	case len(s.Types) == 0:
		add("any value")
		return parts
	}
	switch kind := s.Types[0]; {
	case len(s.Words) > 0:
		add("one of " + strings.Join(s.Words, ", "))
		if len(s.Words) == 1 {
			parts[0].Text = `"` + s.Words[0] + `"`
		}
	case kind == "array":
		add("list of ")
		if s.Entry != nil {
			parts = append(parts, typeParts(s.Entry)...)
		}
	default:
		add(kind + boundsText(s))
	}
	if s.IsNullable() && s.Types[0] != "null" {
		add(" or null")
	}
	return parts
}

// boundsText returns a text about the bounds that values of the schema must meet.
func boundsText(s *spec.Schema) string {
	var bounds []string
	switch {
	case s.Format != "":
		bounds = append(bounds, s.Format)
	case s.Pattern == spec.Amount().Pattern, s.Pattern == spec.Positive().Pattern, s.Pattern == spec.Signed().Pattern:
		bounds = append(bounds, "minor units")
	}
	switch {
	case s.Min != nil && s.Max != nil:
		bounds = append(bounds, fmt.Sprintf("%d to %d", *s.Min, *s.Max))
	case s.Min != nil && *s.Min != 0:
		bounds = append(bounds, fmt.Sprintf("at least %d", *s.Min))
	}
	switch {
	case s.MinLength > 0 && s.MaxLength > 0:
		bounds = append(bounds, fmt.Sprintf("%d to %d characters", s.MinLength, s.MaxLength))
	case s.MinLength > 0:
		bounds = append(bounds, fmt.Sprintf("at least %d characters", s.MinLength))
	case s.MaxLength > 0:
		bounds = append(bounds, fmt.Sprintf("at most %d characters", s.MaxLength))
	}
	if len(bounds) == 0 {
		return ""
	}
	return " (" + strings.Join(bounds, ", ") + ")"
}

// objectView is a schema that has a name.
type objectView struct {
	Name string
	schemaView
}

// objectAddress returns the address at which an object is described. The bodies of refusals are on the page of errors.
func objectAddress(name string) string {
	if slices.Contains(description.RefusalComponents, name) {
		return docsPath + "/" + errorsPage + "#" + name
	}
	return "#" + name
}

// referenced adds the names of the schemas to which an operation refers, except the schemas of refusals' bodies.
func (s *site) referenced(names []string, o *description.DescribedOperation) []string {
	if o.Body != nil {
		names = s.addReferences(names, o.Body.Schema)
	}
	for i := range o.Responses {
		if schema := o.Responses[i].Schema; schema != nil {
			names = s.addReferences(names, schema)
		}
	}
	return names
}

func (s *site) addReferences(names []string, of *spec.Schema) []string {
	switch {
	case of.Ref != "" && !slices.Contains(description.RefusalComponents, of.Ref) && !slices.Contains(names, of.Ref):
		return s.addReferences(append(names, of.Ref), s.document.Schema(of))
	case of.Ref != "":
		return names
	}
	for _, m := range of.Members {
		names = s.addReferences(names, m.Schema)
	}
	for _, inner := range append([]*spec.Schema{of.Entry, of.Others}, of.AnyOf...) {
		if inner != nil {
			names = s.addReferences(names, inner)
		}
	}
	return names
}

func (s *site) objects(names []string) (objects []objectView) {
	for _, name := range names {
		objects = append(objects, objectView{name, newSchemaView(s.document.Schema(spec.Ref(name)))})
	}
	return objects
}

// errorsView is the page of errors.
type errorsView struct {
	pageView
	Text     string
	Refusals []refusalRow
	Failures []spec.Failure
	Objects  []objectView
}

type refusalRow struct {
	Status int
	refusalLine
}

// refusalRows returns all codes of refusals, ordered by status.
func refusalRows() (rows []refusalRow) {
	for _, code := range web.ErrorCodes() {
		form, _ := web.ErrorFormOf(code)
		usual := description.UsualRefusals[code]
		rows = append(rows, refusalRow{form.Status, refusalLine{cmp.Or(form.Name, string(code)), usual.When, usual.Remedy}})
	}
	slices.SortStableFunc(rows, func(a, b refusalRow) int { return a.Status - b.Status })
	return rows
}
