package spec

import (
	"strings"

	"mizan/ledger"
)

// Operation is one method of one path.
type Operation struct {
	ID     string // its name in programs: createTransaction
	Method string
	Path   string // /api/v1/transactions/{id}

	// Route is the pattern of the route that serves the path, if it serves others too: one route serves all actions of
	// contracts, and each action is an operation. Empty: the pattern is that of the path.
	Route string

	Tag     string // the name of a Tag
	Summary string // one line
	Text    string // what a caller has to know, in Markdown

	Parameters []Parameter // of the path, the query and headers; those that follow from the route are added
	Body       *Body       // nil: none
	Answers    []Answer    // responses that are no refusals
	Refusals   []Refusal   // besides those that every such route has

	// PlatformWide operations of the operator concern no organization.
	PlatformWide bool

	// Refused is the form of the refusals; the zero value is that of most routes.
	Refused RefusalForm

	Examples []Example
}

// RefusalForm says how a route writes refusals.
type RefusalForm uint8

// The forms.
const (
	AsJSON      RefusalForm = iota // the form that package web has for the code
	WithDetails                    // a 422 has {error, details}: contracts
	AsPage                         // a page for a payer
)

// PageMedia is the type of pages.
const PageMedia = "text/html"

// Parameter is a parameter of the path or the query, or a header.
type Parameter struct {
	Name     string
	In       string // "path", "query" or "header"
	Schema   *Schema
	Text     string
	Required bool

	// MayBeEmpty tells that an empty value selects something, and an absent one everything.
	MayBeEmpty bool
}

// InPath is a parameter of the path, and InQuery one of the query.
func InPath(name string, s *Schema, text string) Parameter {
	return Parameter{Name: name, In: "path", Schema: s, Text: text, Required: true}
}

// InQuery is an optional parameter of the query.
func InQuery(name string, s *Schema, text string) Parameter {
	return Parameter{Name: name, In: "query", Schema: s, Text: text}
}

// InHeader is an optional header of a request.
func InHeader(name string, s *Schema, text string) Parameter {
	return Parameter{Name: name, In: "header", Schema: s, Text: text}
}

// OrEmpty returns the parameter as one whose empty value selects something.
func (p Parameter) OrEmpty() Parameter {
	p.MayBeEmpty = true
	return p
}

// Needed is the parameter as a required one.
func (p Parameter) Needed() Parameter {
	p.Required = true
	return p
}

// Body is the body of a request.
type Body struct {
	Media    string // empty: application/json
	Schema   *Schema
	Text     string
	Optional bool

	// AlsoInParams tells that the members may also be inside an object params.
	AlsoInParams bool
}

// JSON is a required body, and OptionalJSON one that may be absent.
func JSON(s *Schema) *Body         { return &Body{Schema: s} }
func OptionalJSON(s *Schema) *Body { return &Body{Schema: s, Optional: true} }

// Record is the body of a request about a record, whose members may also be inside params.
func Record(s *Schema) *Body { return &Body{Schema: s, AlsoInParams: true} }

// Answer is a response.
type Answer struct {
	Status  int
	Text    string
	Media   string  // empty: application/json if there is a Schema, else no body
	Schema  *Schema // nil with a Media: any content of that type
	Headers []Header

	OtherMedia []string // further types that the body may have
}

// MediaType returns the type of the response's body; empty if it has none.
func (a *Answer) MediaType() string {
	if a.Media == "" && a.Schema != nil {
		return "application/json"
	}
	return a.Media
}

// Header is a header of a response.
type Header struct {
	Name     string
	Schema   *Schema
	Text     string
	Required bool
}

// Refusal is a response to a request that is not carried out. Its status and form follow from its code.
type Refusal struct {
	Code ledger.Code
	When string // in Markdown; empty: the usual sentence for the code
}

// Example is a request whose response the document shows. A test sends it, and compares the response with the one in
// examples.json.
type Example struct {
	Name string // unique in its operation; empty for the only one
	Text string // what it shows; empty: the operation's summary

	As    string            // the caller: "partner", "admin", "auditor" …; empty: the first that may call the operation
	Path  map[string]string // values of the path's parameters
	Query string
	Body  string // the JSON; for another media type the body as it is sent

	// Keep names values of the response that later examples use as $name, by their paths in the response.
	Keep map[string]string

	// Before are requests that make what the example needs. They are not shown.
	Before []Request
}

// Request is a request that prepares an example.
type Request struct {
	As, Method, Path, Body string
	Keep                   map[string]string
	AwaitStatus            string // repeat until the response has this status in the member "status"
}

// Tag is a group of operations: a page of the reference.
type Tag struct {
	Name  string // the title
	Group string // groups of tags: "Payments"
	Text  string // in Markdown
}

// Slug is the tag's name in addresses.
func (t Tag) Slug() string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.ToLower(t.Name))
}

// Contents is all that is declared about an API.
type Contents struct {
	Title, Text string
	Tags        []Tag
	Operations  []Operation
	Schemas     []Component
	Webhooks    []Webhook

	ErrorText string // how errors are shown, in Markdown
	Failures  []Failure
}

// Failure is a reason why a transaction or a refund did not succeed: its error_code, the statuses that have it, what it means,
// and what a merchant can do.
type Failure struct{ Code, Status, Meaning, Remedy string }

// Component is a schema with a name.
type Component struct {
	Name   string
	Schema *Schema
	Tag    string // whose page shows it although no operation refers to it; empty: the pages of the operations that do
}

// Webhook is a request that the service sends.
type Webhook struct {
	Name    string // transaction.charged
	Tag     string
	Summary string
	Text    string
	Headers []Parameter
	Body    *Schema
	Answers []Answer // what the receiver responds
	Example string   // a body
}

// RoutePath returns the pattern of a path in the form of the router: {id} becomes :id.
func RoutePath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// RouteOf returns the pattern of the route that serves the operation.
func (o *Operation) RouteOf() string {
	if o.Route != "" {
		return o.Route
	}
	return RoutePath(o.Path)
}
