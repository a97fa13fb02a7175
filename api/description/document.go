package description

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/api/description/spec"
	"mizan/api/web"
	"mizan/internal/assert"
)

// Document describes the routes of a server.
type Document struct {
	spec.Contents
	Version             string
	DescribedOperations []DescribedOperation // the operations that have a route, in the order of their declaration
	schemas             map[string]*spec.Schema
}

// New describes the routes. An operation is left out if routes does not have its route. If a route has no operation, New
// panics, because the route would be missing from the document.
func New(contents spec.Contents, version string, routes []web.Route) *Document {
	d := &Document{Contents: contents, Version: version, schemas: make(map[string]*spec.Schema)}
	d.Schemas = append(slices.Clone(contents.Schemas), errorComponents()...)
	for _, component := range d.Schemas {
		assert.That(d.schemas[component.Name] == nil, "description: two schemas %s", component.Name)
		d.schemas[component.Name] = component.Schema
	}
	served := make(map[string]*web.Route)
	for i := range routes {
		served[routes[i].Method+" "+routes[i].Path] = &routes[i]
	}
	described := make(map[string]bool)
	for i := range contents.Operations {
		o := &contents.Operations[i]
		name := o.Method + " " + o.RouteOf()
		if route := served[name]; route != nil {
			described[name] = true
			d.DescribedOperations = append(d.DescribedOperations, describe(o, route))
		}
	}
	for name := range served {
		assert.That(described[name] || strings.HasSuffix(name, "*"), "description: %s is not described", name) // a catch-all route needs no operation
	}
	return d
}

// Schema returns the schema to which a reference points. A schema that is not a reference is returned unchanged.
func (d *Document) Schema(s *spec.Schema) *spec.Schema {
	for s.Ref != "" {
		named := d.schemas[s.Ref]
		assert.That(named != nil, "description: there is no schema %s", s.Ref)
		s = named
	}
	return s
}

// RefusalComponents are the names of the components that describe the bodies of refusals.
var RefusalComponents = []string{refusalComponent, problemsComponent, faultsComponent, nameComponent, unauthorizedName}

// errorComponents returns the components that describe the bodies of refusals.
func errorComponents() []spec.Component {
	names, words := make(map[string]bool), make(map[string]bool)
	var codes []string
	for _, code := range web.ErrorCodes() {
		form, _ := web.ErrorFormOf(code)
		switch {
		case form.Name == "":
			codes = append(codes, string(code))
		case form.HasMessage:
			names[form.Name] = true
		case form.Status != fiber.StatusUnauthorized:
			words[form.Name] = true
		}
	}
	problem := spec.Object(
		spec.Required("code", spec.Words(codes...), "the reason"),
		spec.Required("detail", spec.TextUpTo(maxErrorText), "what is wrong, for people"),
		spec.Optional("field", spec.TextUpTo(maxErrorText), "the field, or the path of a nested one: `overdraft_limit.0.network`"),
	)
	return []spec.Component{
		{Name: refusalComponent, Schema: spec.Object(spec.Required("error", spec.Words(sorted(names)...), "the reason, for programs"),
			spec.Required("message", spec.TextUpTo(maxErrorText), "for people")).WithText("Most refusals.")},
		{Name: problemsComponent, Schema: spec.Object(spec.Required("errors",
			&spec.Schema{Types: []string{"array"}, Entry: problem, MinLength: 1, MaxLength: maxProblems},
			"one element for each wrong field, in the order of the checks")).
			WithText("The wrong fields or parameters of a request.")},
		{Name: faultsComponent, Schema: spec.Object(
			spec.Required("error", spec.Words("unprocessable_entity"), ""),
			spec.Optional("message", spec.TextUpTo(maxErrorText), "only for an unknown action"),
			spec.Required("details", &spec.Schema{Types: []string{"object"}, Open: true, Others: spec.List(spec.Text())}, "the wrong fields, each with its messages"),
		).WithText("The wrong fields of a request about contracts.")},
		{Name: nameComponent, Schema: spec.Object(spec.Required("error", spec.Words(sorted(words)...), "what is wrong")).WithText("A refusal that has only a name.")},
		{Name: unauthorizedName, Schema: spec.Object(spec.Required("error", spec.Words("unauthorized"),
			"")).WithText("The response to every request without a valid credential.")},
	}
}

// Bounds of refusals.
const (
	maxErrorText = 512 // characters
	maxProblems  = 100
)

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// Object returns the OpenAPI document.
func (d *Document) Object() Object {
	w := writer{document: d, responses: make(map[string]Object)}
	document := Object{{"openapi", "3.1.0"}, {"info", Object{
		{"title", d.Title}, {"version", d.Version}, {"summary", "Payments and participatory-finance contracts on one double-entry ledger"},
		{"description", d.Text},
	}}}
	document.Add("servers", []any{Object{{"url", "/"}, {"description", "the server that serves this document"}}})
	document.Add("tags", w.tags())
	paths := w.paths()
	document.Add("paths", paths)
	document.Add("webhooks", w.webhooks())
	document.Add("components", w.components())
	return document
}

// writer writes an OpenAPI document.
type writer struct {
	document  *Document
	responses map[string]Object // the responses that several operations share, by name
}

func (w *writer) tags() (tags []any) {
	for _, tag := range w.document.Tags {
		t := Object{{"name", tag.Name}}
		t.AddText("description", tag.Text)
		tags = append(tags, t)
	}
	return tags
}

// paths returns the paths with their operations. The order of the paths is that of their first operations.
func (w *writer) paths() Object {
	var paths Object
	for i := range w.document.DescribedOperations {
		o := &w.document.DescribedOperations[i]
		at := slices.IndexFunc(paths, func(b Member) bool { return b.Name == o.Path })
		if at < 0 {
			paths.Add(o.Path, Object{})
			at = len(paths) - 1
		}
		item := paths[at].Value.(Object)
		item.Add(strings.ToLower(o.Method), w.operation(o))
		paths[at].Value = item
	}
	return paths
}

func (w *writer) operation(o *DescribedOperation) Object {
	t := Object{{"operationId", o.ID}, {"tags", []string{o.Tag}}, {"summary", o.Summary}}
	t.AddText("description", o.Text)
	t.Add("security", securityOf(o))
	if len(o.Parameters) > 0 {
		var list []any
		for _, p := range o.Parameters {
			list = append(list, w.parameter(&p))
		}
		t.Add("parameters", list)
	}
	if o.Body != nil {
		t.Add("requestBody", w.body(o))
	}
	responses := Object{}
	for i := range o.Responses {
		responses.Add(strconv.Itoa(o.Responses[i].Status), w.response(o, &o.Responses[i]))
	}
	t.Add("responses", responses)
	return t
}

// Names of the security schemes.
const (
	keyScheme          = "partnerKey"
	organizationScheme = "organization"
	sessionScheme      = "sessionToken"
	adminScheme        = "adminToken"
)

// securityOf returns the credentials with which an operation can be called; any one of them suffices. If anybody may call the
// operation, the list is empty.
func securityOf(o *DescribedOperation) []any {
	list := []any{}
	for _, c := range o.Callers {
		t := Object{}
		switch c.Kind {
		case PartnerKey:
			t.Add(keyScheme, []any{})
		case SessionToken:
			t.Add(sessionScheme, c.Roles)
		case AdminToken:
			t.Add(adminScheme, []any{})
		}
		if c.Kind != AdminToken && o.NeedsOrg {
			t.Add(organizationScheme, []any{})
		}
		list = append(list, t)
	}
	return list
}

func (w *writer) parameter(p *spec.Parameter) Object {
	for _, shared := range sharedParameters {
		if p.Name == shared.parameter.Name && p.Text == shared.parameter.Text {
			return Object{{"$ref", "#/components/parameters/" + shared.name}}
		}
	}
	return w.wholeParameter(p)
}

func (w *writer) wholeParameter(p *spec.Parameter) Object {
	t := Object{{"name", p.Name}, {"in", p.In}}
	t.AddText("description", p.Text)
	if p.Required {
		t.Add("required", true)
	}
	t.Add("schema", w.schema(p.Schema))
	return t
}

// sharedParameters are the parameters that follow from routes. The document has each of them once, as a component.
var sharedParameters = []struct {
	name      string
	parameter *spec.Parameter
}{
	{"Organization", &organizationParameter}, {"SoleOrganization", &soleOrganizationParameter}, {"IdempotencyKey", &keyParameter},
}

func (w *writer) body(o *DescribedOperation) Object {
	t := Object{}
	text := o.Body.Text
	if o.Body.AlsoInParams {
		text = strings.TrimSpace(text + " The members may also be inside an object `params`.")
	}
	t.AddText("description", text)
	if !o.Body.Optional {
		t.Add("required", true)
	}
	media := Object{{"schema", w.schema(o.Body.Schema)}}
	if examples := w.examples(o, func(e *RecordedExample) any { return e.Request }); len(examples) > 0 {
		media.Add("examples", examples)
	}
	t.Add("content", Object{{cmp.Or(o.Body.Media, fiber.MIMEApplicationJSON), media}})
	return t
}

// examples returns the values that valueOf finds in the operation's recorded examples. It leaves out examples without a value.
func (w *writer) examples(o *DescribedOperation, valueOf func(*RecordedExample) any) (examples Object) {
	for i := range o.Examples {
		e := &o.Examples[i]
		recorded := Recorded(o.Operation, e)
		if recorded == nil {
			continue
		}
		if value := valueOf(recorded); value != nil {
			examples.Add(cmp.Or(e.Name, "example"), Object{{"summary", cmp.Or(e.Text, o.Summary)}, {"value", value}})
		}
	}
	return examples
}

func (w *writer) response(o *DescribedOperation, r *Response) Object {
	t := Object{{"description", cmp.Or(r.Text, "done")}}
	headers := Object{}
	for _, h := range r.Headers {
		headers.Add(h.Name, w.header(&h))
	}
	t.Add("headers", headers)
	if media := r.MediaType(); media != "" {
		content := Object{}
		if r.Schema != nil {
			content.Add("schema", w.schema(r.Schema))
		}
		examples := w.examples(o, func(e *RecordedExample) any {
			if e.Status != r.Status || media != fiber.MIMEApplicationJSON {
				return nil
			}
			return e.Response
		})
		if len(examples) > 0 {
			content.Add("examples", examples)
		}
		bodies := Object{{media, content}}
		for _, other := range r.OtherMedia {
			bodies.Add(other, Object{})
		}
		t.Add("content", bodies)
	}
	if name := r.sharedName(o); name != "" {
		w.responses[name] = t
		return Object{{"$ref", "#/components/responses/" + name}}
	}
	return t
}

// sharedName returns the name of a response that several operations can share. If the response has texts of its own, it can't
// be shared, and the name is empty.
func (r *Response) sharedName(o *DescribedOperation) string {
	if !r.IsRefusal() || len(r.Success) > 0 || slices.ContainsFunc(r.Refusals, func(refusal spec.Refusal) bool { return refusal.When != "" }) {
		return ""
	}
	name := ""
	for _, refusal := range r.Refusals {
		name += camel(string(refusal.Code))
	}
	if o.RefusalForm == spec.AsPage {
		name += "Page"
	}
	return name
}

// camel converts a name with underscores to camel case: not_found becomes NotFound.
func camel(name string) (text string) {
	for part := range strings.SplitSeq(name, "_") {
		text += strings.ToUpper(part[:1]) + part[1:]
	}
	return text
}

func (w *writer) header(h *spec.Header) Object {
	t := Object{}
	t.AddText("description", h.Text)
	if h.Required {
		t.Add("required", true)
	}
	t.Add("schema", w.schema(h.Schema))
	return t
}

func (w *writer) webhooks() (hooks Object) {
	for i := range w.document.Webhooks {
		h := &w.document.Webhooks[i]
		t := Object{{"operationId", "on" + camel(strings.NewReplacer(".", "_").Replace(h.Name))}, {"tags", []string{h.Tag}}, {"summary", h.Summary}}
		t.AddText("description", h.Text)
		t.Add("security", []any{}) // webhooks carry no credential of the API; instead, the receiver checks the signature
		if len(h.Headers) > 0 {
			var list []any
			for _, p := range h.Headers {
				list = append(list, w.wholeParameter(&p))
			}
			t.Add("parameters", list)
		}
		media := Object{{"schema", w.schema(h.Body)}}
		if h.Example != "" {
			value, err := ParseJSON([]byte(h.Example))
			assert.NoError(err)
			media.Add("examples", Object{{"example", Object{{"value", value}}}})
		}
		t.Add("requestBody", Object{{"required", true}, {"content", Object{{fiber.MIMEApplicationJSON, media}}}})
		responses := Object{}
		for _, a := range h.Answers {
			responses.Add(cmp.Or(statusRange(a.Status), "default"), Object{{"description", a.Text}})
		}
		t.Add("responses", responses)
		hooks.Add(h.Name, Object{{"post", t}})
	}
	return hooks
}

// statusRange returns the key that a webhook's response has in the document: "204" for the status 204, and "2XX" for 2. For 0,
// which stands for any other status, the key is empty.
func statusRange(status int) string {
	switch {
	case status == 0:
		return ""
	case status < 10:
		return strconv.Itoa(status) + "XX"
	}
	return strconv.Itoa(status)
}

func (w *writer) components() Object {
	schemas, parameters, responses := Object{}, Object{}, Object{}
	for _, component := range w.document.Schemas {
		schemas.Add(component.Name, w.schema(component.Schema))
	}
	for _, shared := range sharedParameters {
		parameters.Add(shared.name, w.wholeParameter(shared.parameter))
	}
	for _, name := range slices.Sorted(maps.Keys(w.responses)) {
		responses.Add(name, w.responses[name])
	}
	return Object{{"schemas", schemas}, {"parameters", parameters}, {"responses", responses}, {"securitySchemes", securitySchemes}}
}

var securitySchemes = Object{
	{keyScheme, Object{{"type", "apiKey"}, {"in", "header"}, {"name", "x-api-key"}, {"description", "The API key of a partner. It begins with `mzk_`."}}},
	{organizationScheme, Object{{"type", "apiKey"}, {"in", "header"}, {"name", "x-organization-id"},
		{"description", "The organization to which the key or the session belongs."}}},
	{sessionScheme, Object{{"type", "http"}, {"scheme", "bearer"},
		{"description", "The token of a session, from `POST /api/v1/sessions`. It begins with `mzs_`. Where roles are listed, the session needs one of them."}}},
	{adminScheme, Object{{"type", "http"}, {"scheme", "bearer"}, {"description", "The administration token of the operator. It begins with `mza_`."}}},
}

// schema returns the Object of a schema.
func (w *writer) schema(s *spec.Schema) Object {
	t := Object{}
	if s.Ref != "" {
		assert.That(w.document.schemas[s.Ref] != nil, "description: there is no schema %s", s.Ref)
		t.Add("$ref", "#/components/schemas/"+s.Ref)
		t.AddText("description", s.Text)
		return t
	}
	switch len(s.Types) {
	case 0:
	case 1:
		t.Add("type", s.Types[0])
	default:
		t.Add("type", s.Types)
	}
	t.AddText("description", s.Text)
	t.AddText("format", s.Format)
	t.AddText("pattern", s.Pattern)
	if len(s.Words) > 0 {
		words := anyOf(s.Words)
		if s.IsNullable() {
			words = append(words, nil)
		}
		t.Add("enum", words)
	}
	w.addBounds(&t, s)
	if s.Default != nil {
		t.Add("default", s.Default)
	}
	if s.Entry != nil {
		t.Add("items", w.schema(s.Entry))
	}
	if slices.Contains(s.Types, "object") {
		w.addMembers(&t, s)
	}
	if len(s.AnyOf) > 0 {
		var list []any
		for _, alternative := range s.AnyOf {
			list = append(list, w.schema(alternative))
		}
		t.Add("anyOf", list)
	}
	if s.WriteOnly {
		t.Add("writeOnly", true)
	}
	return t
}

// addBounds adds a schema's bounds: of a number's value, or of the length of a text or list.
func (w *writer) addBounds(t *Object, s *spec.Schema) {
	if s.Min != nil {
		t.Add("minimum", *s.Min)
	}
	if s.Max != nil {
		t.Add("maximum", *s.Max)
	}
	least, most := "minLength", "maxLength"
	if slices.Contains(s.Types, "array") {
		least, most = "minItems", "maxItems"
	}
	if s.MinLength > 0 {
		t.Add(least, s.MinLength)
	}
	if s.MaxLength > 0 {
		t.Add(most, s.MaxLength)
	}
}

// addMembers adds the members of an object.
func (w *writer) addMembers(t *Object, s *spec.Schema) {
	var required []string
	properties := Object{}
	for _, m := range s.Members {
		properties.Add(m.Name, w.schema(m.Schema))
		if m.Required {
			required = append(required, m.Name)
		}
	}
	if len(properties) > 0 {
		t.Add("properties", properties)
	}
	if len(required) > 0 {
		t.Add("required", required)
	}
	switch {
	case !s.Open:
		t.Add("additionalProperties", false)
	case s.Others != nil:
		t.Add("additionalProperties", w.schema(s.Others))
	}
}
