package spec

import (
	"strings"

	"mizan/ledger"
)

// Operation is one method of one path.
type Operation struct {
	ID     string // the operation's name in generated clients: createTransaction
	Method string
	Path   string // /api/v1/transactions/{id}

	// Route is the pattern of the route that serves the path, if that route serves other operations too. For example, one route
	// serves all actions of contracts. Empty: the path itself is the route's pattern.
	Route string

	Tag     string // the name of the operation's Tag
	Summary string // one line
	Text    string // explanation for callers, in Markdown

	Parameters []Parameter // parameters of the path and of the query, and headers; package description adds those that it derives from the route
	Body       *Body       // nil: none
	Answers    []Answer    // responses that are not refusals
	Refusals   []Refusal   // package description adds those that it derives from the route

	// PlatformWide tells whether the operation concerns the whole platform, so that the operator names no organization.
	PlatformWide bool

	// Refused is the form of the refusals. The zero value, AsJSON, is the form of most routes.
	Refused RefusalForm

	Examples []Example
}

// RefusalForm is the form in which a route writes refusals.
type RefusalForm uint8

// The forms.
const (
	AsJSON      RefusalForm = iota // the form of the refusal's code in package web
	WithDetails                    // the form of contracts: a 422 has {error, details}
	AsPage                         // an HTML page for a payer
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

	// MayBeEmpty tells whether an empty value differs from an absent one: it selects, for example, assets without a network.
	MayBeEmpty bool
}

// InPath is a required parameter of the path.
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

// OrEmpty returns a copy of the parameter with MayBeEmpty set.
func (p Parameter) OrEmpty() Parameter {
	p.MayBeEmpty = true
	return p
}

// Needed returns a copy of the parameter with Required set.
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

	// AlsoInParams tells whether the members may also be inside an object params.
	AlsoInParams bool
}

// JSON is a required body, and OptionalJSON is a body that may be absent.
func JSON(s *Schema) *Body         { return &Body{Schema: s} }
func OptionalJSON(s *Schema) *Body { return &Body{Schema: s, Optional: true} }

// Record is the body of a request about a record. The members of the body may also be inside params.
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

// Refusal is a response to a request that is not carried out. Package web maps the refusal's code to the status and the form of
// the response.
type Refusal struct {
	Code ledger.Code
	When string // which requests get the refusal, in Markdown; empty: the usual sentence for the code
}

// Example is a request whose response the document shows. A test sends it, and compares the response with the one in
// examples.json.
type Example struct {
	Name string // unique in its operation; empty if the operation has only one example
	Text string // description of the example; empty: the operation's summary

	As    string            // the caller: "partner", "admin", "auditor" …; empty: the first caller that may call the operation
	Path  map[string]string // values of the path's parameters
	Query string
	Body  string // the JSON; for another media type the body as it is sent

	// Keep maps names to paths of values in the response. Later examples refer to such a value as $name.
	Keep map[string]string

	// Before are requests that create the records that the example needs. The document does not show them.
	Before []Request
}

// Request is a request that prepares an example.
type Request struct {
	As, Method, Path, Body string
	Keep                   map[string]string
	AwaitStatus            string // the request is repeated until the response's member "status" has this value
}

// Tag is a group of operations: a page of the reference.
type Tag struct {
	Name  string // the title of the page
	Group string // the group of tags to which the tag belongs: "Payments"
	Text  string // in Markdown
}

// Slug returns the tag's name in paths.
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

// Contents has everything that is declared about an API.
type Contents struct {
	Title, Text string
	Tags        []Tag
	Operations  []Operation
	Schemas     []Component
	Webhooks    []Webhook

	ErrorText string // how errors are shown, in Markdown
	Failures  []Failure
}

// Failure is a reason why a transaction or a refund did not succeed: its error_code, the statuses that have it, its meaning, and
// the remedy for the merchant.
type Failure struct{ Code, Status, Meaning, Remedy string }

// Component is a schema with a name.
type Component struct {
	Name   string
	Schema *Schema
	Tag    string // the tag whose page shows the component; empty: the pages of the operations that refer to the component show it
}

// Webhook is a request that the service sends.
type Webhook struct {
	Name    string // transaction.charged
	Tag     string
	Summary string
	Text    string
	Headers []Parameter
	Body    *Schema
	Answers []Answer // responses of the receiver
	Example string   // an example of the body
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
