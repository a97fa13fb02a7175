package postman

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"mizan/api/description"
	"mizan/api/description/spec"
)

// FileName is the name of the collection's file.
const FileName = "mizan.postman_collection.json"

// Files returns the collection.
func Files(document *description.Document) (map[string][]byte, error) {
	w := &writer{document: document, names: exampleNames(document)}
	var folders []any
	for _, tag := range document.Tags {
		if items := w.folder(tag.Name); len(items) > 0 {
			folder := description.Object{{Name: "name", Value: tag.Name}}
			folder.AddText("description", tag.Text)
			folder.Add("item", items)
			folders = append(folders, folder)
		}
	}
	collection := description.Object{
		{Name: "info", Value: description.Object{
			{Name: "name", Value: document.Title},
			{Name: "description", Value: introduction},
			{Name: "schema", Value: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
		}},
		{Name: "item", Value: folders},
		{Name: "event", Value: []any{script("prerequest", datesScript...)}},
		{Name: "variable", Value: w.variables()},
	}
	return map[string][]byte{FileName: []byte(indented(collection, "\t") + "\n")}, nil
}

const introduction = "Requests to the Mizan API. Set the variables of the collection from data/sandbox.json of a sandbox. " +
	"Requests keep ids of their responses in variables, which later requests of the same folder use."

// datesScript runs before each request and sets the variables that contain dates. If a request has moved the server's clock,
// the script uses that clock's time.
var datesScript = []string{
	`const now = new Date(pm.collectionVariables.get("clock") || Date.now()).getTime();`,
	`const day = (n) => new Date(now + n * 86400000).toISOString().slice(0, 10);`,
	`pm.collectionVariables.set("today", day(0));`,
	`pm.collectionVariables.set("today_30", day(30));`,
}

// setting is a variable that the user sets.
type setting struct{ name, value, text string }

var settings = []setting{
	{"base_url", "https://127.0.0.1:8443", "the address of the server"},
	{"organization_id", "", "the organization"},
	{"api_key", "", "the API key of a partner"},
	{"admin_token", "", "the admin token of the operator"},
	{"session_token", "", "the token of a session of role admin"},
	{"auditor_token", "", "the token of a session of role auditor"},
	{"clock", "", "the time of a server whose clock was moved; requests set it"},
}

// clockPath is the path of the operation that moves the sandbox's clock.
const clockPath = "/api/v1/sandbox/clock"

// unsuited are operations that would break a run of the whole collection: the first has a response that never ends, and the
// second makes a token in data/sandbox.json invalid.
var unsuited = []string{"streamNotifications", "rotateAdminToken"}

// writer writes a collection.
type writer struct {
	document *description.Document
	names    []string // names of the variables in examples
	kept     []string // names of the variables that scripts set
}

func (w *writer) variables() (list []any) {
	for _, s := range settings {
		list = append(list, description.Object{{Name: "key", Value: s.name}, {Name: "value", Value: s.value}, {Name: "description", Value: s.text}})
	}
	for _, name := range w.kept {
		list = append(list, description.Object{{Name: "key", Value: name}, {Name: "value", Value: ""}})
	}
	return list
}

// folder returns the requests in the folder of a tag.
func (w *writer) folder(tag string) (items []any) {
	for i := range w.document.DescribedOperations {
		o := &w.document.DescribedOperations[i]
		if o.Tag != tag || o.RefusalForm == spec.AsPage || len(o.Answers) == 0 || o.OnlyOnNode || slices.Contains(unsuited, o.ID) {
			continue // the collection is for any server; pages for payers need a browser, and an operation without an answer refuses every request
		}
		for j := range o.Examples {
			e := &o.Examples[j]
			for k := range e.Setup {
				items = append(items, w.preparation(&e.Setup[k]))
			}
			items = append(items, w.example(o, e))
		}
		if len(o.Examples) == 0 {
			items = append(items, w.example(o, &spec.Example{Path: w.pathLike(o)}))
		}
	}
	return items
}

// pathLike returns values for the parameters of an operation's path. They come from an example of another operation whose
// path begins with the same text up to and including the first parameter.
func (w *writer) pathLike(o *description.DescribedOperation) map[string]string {
	prefix, _, hasParameter := strings.Cut(o.Path, "}")
	if !hasParameter {
		return nil
	}
	for i := range w.document.DescribedOperations {
		other := &w.document.DescribedOperations[i]
		for _, e := range other.Examples {
			if strings.HasPrefix(other.Path, prefix+"}") && len(e.Path) > 0 {
				return e.Path
			}
		}
	}
	return nil
}

// example returns the collection's request for an example in the description.
func (w *writer) example(o *description.DescribedOperation, e *spec.Example) description.Object {
	name := o.Summary
	if e.Text != "" {
		name += ": " + e.Text
	}
	address := w.address(o.Path, e.Path, e.Query)
	request := description.Object{{Name: "method", Value: o.Method}, {Name: "header", Value: w.headers(cmp.Or(e.As, callerOf(o)))}}
	switch {
	case e.Body != "":
		w.addJSON(&request, e.Body)
	case o.Body != nil && mayBeEmpty(o.Body):
		w.addJSON(&request, "{}")
	case o.Body != nil && o.Body.Media == "multipart/form-data":
		addFile(&request, o.Body.Schema.Members[0].Name)
	}
	request.Add("url", address)
	request.AddText("description", strings.TrimSpace(o.Operation.Text))
	item := description.Object{{Name: "name", Value: name}, {Name: "request", Value: request}}
	w.keep(&item, o.Path, e.Keep)
	if recorded := description.Recorded(o.Operation, e); recorded != nil && recorded.Response != nil {
		item.Add("response", []any{description.Object{
			{Name: "name", Value: name}, {Name: "code", Value: recorded.Status},
			{Name: "_postman_previewlanguage", Value: "json"}, {Name: "header", Value: []any{header("content-type", "application/json")}},
			{Name: "body", Value: indented(recorded.Response, "  ")},
		}})
	}
	return item
}

// mayBeEmpty tells whether a body is an object without required members. A request must still have such a body: an empty
// object.
func mayBeEmpty(b *spec.Body) bool {
	return b.Media == "" && b.Schema != nil && len(b.Schema.Members) > 0 && !slices.ContainsFunc(b.Schema.Members, func(m spec.Member) bool { return m.Required })
}

// preparation returns a request that must run before an example.
func (w *writer) preparation(r *spec.Request) description.Object {
	path, query, _ := strings.Cut(r.Path, "?")
	request := description.Object{{Name: "method", Value: r.Method}, {Name: "header", Value: w.headers(r.As)}}
	if r.Body != "" {
		w.addJSON(&request, r.Body)
	}
	request.Add("url", w.address(path, nil, query))
	item := description.Object{{Name: "name", Value: "Prepare the next request: " + r.Method + " " + w.variable(path)}, {Name: "request", Value: request}}
	w.keep(&item, path, r.Keep)
	return item
}

// callerOf returns the kind of caller that sends an operation for which there is no example.
func callerOf(o *description.DescribedOperation) string {
	for _, c := range o.Callers {
		switch {
		case c.Kind == description.PartnerKey:
			return "partner"
		case c.Kind == description.AdminToken:
			return "admin"
		case slices.Contains(c.Roles, "auditor"):
			return "auditor"
		default:
			return "session"
		}
	}
	return ""
}

func header(name, value string) description.Object {
	return description.Object{{Name: "key", Value: name}, {Name: "value", Value: value}}
}

// headers returns the headers with the credentials of the named kind of caller.
func (w *writer) headers(as string) (list []any) {
	bearer := func(token string) []any {
		return []any{header("authorization", "Bearer "+token), header("x-organization-id", "{{organization_id}}")}
	}
	switch as {
	case "":
		return []any{}
	case "partner":
		return []any{header("x-api-key", "{{api_key}}"), header("x-organization-id", "{{organization_id}}")}
	case "organization":
		return []any{header("x-organization-id", "{{organization_id}}")}
	case "admin", "session", "auditor":
		return bearer("{{" + as + "_token}}")
	}
	return bearer(w.variable(as))
}

// address returns the URL of a request as Postman describes it, with the parameters of the path and the query.
func (w *writer) address(path string, values map[string]string, query string) description.Object {
	var segments, parameters, queries []any
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if name, isParameter := strings.CutPrefix(segment, "{"); isParameter {
			name = strings.TrimSuffix(name, "}")
			segment = ":" + name
			parameters = append(parameters, header(name, w.variable(values[name])))
		} else {
			segment = w.variable(segment)
		}
		segments = append(segments, segment)
	}
	raw := "{{base_url}}"
	for _, segment := range segments {
		raw += "/" + segment.(string)
	}
	for i, pair := range strings.Split(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		if decoded, err := url.PathUnescape(value); err == nil {
			value = decoded
		}
		raw += map[bool]string{true: "?", false: "&"}[i == 0] + name + "=" + w.variable(value)
		queries = append(queries, header(name, w.variable(value)))
	}
	address := description.Object{{Name: "raw", Value: raw}, {Name: "host", Value: []string{"{{base_url}}"}}, {Name: "path", Value: segments}}
	if len(queries) > 0 {
		address.Add("query", queries)
	}
	if len(parameters) > 0 {
		address.Add("variable", parameters)
	}
	return address
}

// variable replaces the examples' variables in a text by Postman's variables: $payment becomes {{payment}}.
func (w *writer) variable(text string) string {
	for _, name := range w.names {
		text = strings.ReplaceAll(text, "$"+name, "{{"+variableName(name)+"}}")
	}
	return text
}

// variableName returns the name that a variable of an example has in Postman.
func variableName(name string) string {
	return strings.NewReplacer(" ", "_", "+", "_").Replace(name)
}

// exampleNames returns the names of all variables in examples. Longer names come first, so that a name is not mistaken for a
// shorter name with which it begins.
func exampleNames(document *description.Document) []string {
	names := []string{"today", "today+30"}
	for i := range document.DescribedOperations {
		for _, e := range document.DescribedOperations[i].Examples {
			names = slices.AppendSeq(names, maps.Keys(e.Keep))
			for _, b := range e.Setup {
				names = slices.AppendSeq(names, maps.Keys(b.Keep))
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(names)
}

func (w *writer) addJSON(request *description.Object, body string) {
	text := w.variable(body)
	if value, err := description.ParseJSON([]byte(body)); err == nil {
		text = w.variable(indented(value, "  "))
	}
	list := request.Get("header").([]any)
	(*request)[1].Value = append(list, header("content-type", "application/json"))
	request.Add("body", description.Object{{Name: "mode", Value: "raw"}, {Name: "raw", Value: text},
		{Name: "options", Value: description.Object{{Name: "raw", Value: description.Object{{Name: "language", Value: "json"}}}}}})
}

func addFile(request *description.Object, field string) {
	request.Add("body", description.Object{{Name: "mode", Value: "formdata"}, {Name: "formdata", Value: []any{
		description.Object{{Name: "key", Value: field}, {Name: "type", Value: "file"}, {Name: "src", Value: ""}},
	}}})
}

// keep adds a script that stores values of the response in variables.
func (w *writer) keep(item *description.Object, path string, values map[string]string) {
	if path == clockPath {
		values = map[string]string{"clock": "now"}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		path := ""
		for member := range strings.SplitSeq(values[name], ".") {
			if member[0] >= '0' && member[0] <= '9' {
				path += "[" + member + "]"
			} else {
				path += "." + member
			}
		}
		variable := variableName(name)
		lines = append(lines, fmt.Sprintf("pm.collectionVariables.set(%q, pm.response.json()%s);", variable, path))
		if isSetting := slices.ContainsFunc(settings, func(s setting) bool { return s.name == variable }); !isSetting && !slices.Contains(w.kept, variable) {
			w.kept = append(w.kept, variable)
		}
	}
	if len(lines) > 0 {
		item.Add("event", []any{script("test", lines...)})
	}
}

func script(listen string, lines ...string) description.Object {
	return description.Object{{Name: "listen", Value: listen}, {Name: "script", Value: description.Object{
		{Name: "type", Value: "text/javascript"}, {Name: "exec", Value: lines},
	}}}
}
