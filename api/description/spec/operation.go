package spec

import (
	"strings"

	"mizan/ledger"
)

// Operation describes one method of one path.
type Operation struct {
	ID     string // name of the operation, and of its function in generated clients: createTransaction
	Method string
	Path   string // /api/v1/transactions/{id}

	// Route is the pattern of the route that serves the operation. It is set if the route also serves other operations; for
	// example, one route serves all actions of contracts. If Route is empty, the pattern is made from Path.
	Route string

	Tag     string // name of the Tag to which the operation belongs
	Summary string // one line
	Text    string // explanation for callers, in Markdown

	Parameters []Parameter // parameters in the path, the query and the headers; package description adds those that follow from the route
	Body       *Body       // nil if the request has no body
	Answers    []Answer    // the responses that are not refusals
	Refusals   []Refusal   // package description adds those that follow from the route

	// PlatformWide tells whether the operation concerns the whole platform. The operator then does not name an organization.
	PlatformWide bool

	// OnlyOnNode tells whether only a node of a cluster serves the operation. Other servers answer 404.
	OnlyOnNode bool

	// RefusalForm is the form in which the operation's route writes refusals. Most routes use AsJSON, the zero value.
	RefusalForm RefusalForm

	Examples []Example
}

// RefusalForm is the form in which a route writes refusals.
type RefusalForm uint8

// The forms.
const (
	AsJSON      RefusalForm = iota // JSON in the form that package web has for the refusal's code
	WithDetails                    // JSON as for contracts: the body of a 422 is {error, details}
	AsPage                         // an HTML page that the payer sees
)

// PageMedia is the media type of HTML pages.
const PageMedia = "text/html"

// Parameter is a parameter of a request: in the path, in the query or in a header.
type Parameter struct {
	Name     string
	In       string // "path", "query" or "header"
	Schema   *Schema
	Text     string
	Required bool

	// MayBeEmpty tells whether the parameter may be sent with an empty value, which means something else than leaving it out.
	// For example, an empty network selects assets without a network.
	MayBeEmpty bool
}

// InPath returns a parameter in the path, which is required.
func InPath(name string, s *Schema, text string) Parameter {
	return Parameter{Name: name, In: "path", Schema: s, Text: text, Required: true}
}

// Texts with a meaning for the clients that are made from the description: they leave such parameters and fields out.
const (
	Ignored          = "Ignored."                    // the whole text of what the service ignores
	OnlyByAdminToken = "Only with the admin token: " // the beginning of the text of what a partner may not send
)

// InQuery returns a parameter in the query, which is optional.
func InQuery(name string, s *Schema, text string) Parameter {
	return Parameter{Name: name, In: "query", Schema: s, Text: text}
}

// InHeader returns a parameter in a request's header, which is optional.
func InHeader(name string, s *Schema, text string) Parameter {
	return Parameter{Name: name, In: "header", Schema: s, Text: text}
}

// OrEmpty returns a copy of the parameter with MayBeEmpty set.
func (p Parameter) OrEmpty() Parameter {
	p.MayBeEmpty = true
	return p
}

// AsRequired returns a copy of the parameter with Required set.
func (p Parameter) AsRequired() Parameter {
	p.Required = true
	return p
}

// Body is the body of a request.
type Body struct {
	Media    string // empty for application/json
	Schema   *Schema
	Text     string
	Optional bool

	// AlsoInParams tells whether a request may also send the members inside an object params.
	AlsoInParams bool
}

// JSON returns a body that is required, and OptionalJSON returns a body that may be absent.
func JSON(s *Schema) *Body         { return &Body{Schema: s} }
func OptionalJSON(s *Schema) *Body { return &Body{Schema: s, Optional: true} }

// Record returns the body of a request that creates or changes a record. A request may also send the members inside an object
// params.
func Record(s *Schema) *Body { return &Body{Schema: s, AlsoInParams: true} }

// Answer describes a response of an operation.
type Answer struct {
	Status  int
	Text    string
	Media   string  // empty: application/json if there is a Schema, otherwise no body
	Schema  *Schema // nil, if there is a Media: the body may be any content of that type
	Headers []Header

	OtherMedia []string // other media types that the body may have
}

// MediaType returns the media type of the response's body. It is empty if the response has no body.
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

// Refusal describes a response to a request that is not carried out. The refusal's code determines the status and the form of
// the response, by a table in package web.
type Refusal struct {
	Code ledger.Code
	When string // which requests are refused, in Markdown; if empty, the usual sentence for the code is shown
}

// Example is a request that the document shows with its response. A test sends the request, and compares the response with the
// recorded response in examples.json.
type Example struct {
	Name string // unique among the operation's examples; empty if there is only one
	Text string // description of the example; if empty, the operation's summary is shown

	As    string            // the caller: "partner", "admin", "auditor" …; if empty, the first that may call the operation
	Path  map[string]string // values of the parameters in the path
	Query string
	Body  string // the body as JSON or, if it has another media type, as it is sent

	// Keep gives names to values in the response, so that later examples can refer to a value as $name. It maps each name to
	// the path of the value: "id": "data.id".
	Keep map[string]string

	// Setup are the requests that are sent first, to create the records that the example needs. The document does not show
	// these requests.
	Setup []Request
}

// Request is a request that is sent to prepare an example.
type Request struct {
	As, Method, Path, Body string
	Keep                   map[string]string
	AwaitStatus            string // the request is repeated until the response's member "status" has this value
}

// Tag is a group of operations. The reference shows each group on a page of its own.
type Tag struct {
	Name  string // the title of the page
	Group string // the group of tags to which the tag belongs: "Payments"
	Text  string // in Markdown
}

// Slug returns the tag's name in the form that it has in URL paths.
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

// Contents is the whole declaration of an API.
type Contents struct {
	Title, Text string
	Tags        []Tag
	Operations  []Operation
	Schemas     []Component
	Webhooks    []Webhook

	ErrorText string // explanation of how the API reports errors, in Markdown
	Failures  []Failure
}

// Failure describes an error_code, which says why a transaction or a refund did not succeed. Status names the statuses in which
// the code occurs, and Remedy says what the merchant can do.
type Failure struct{ Code, Status, Meaning, Remedy string }

// Component is a schema with a name.
type Component struct {
	Name   string
	Schema *Schema
	Tag    string // the tag on whose page the component is shown; if empty, it is shown with the operations that refer to it
}

// Webhook describes a request that the service sends to a merchant.
type Webhook struct {
	Name    string // transaction.charged
	Tag     string
	Summary string
	Text    string
	Headers []Parameter
	Body    *Schema
	Answers []Answer // possible responses of the receiver
	Example string   // an example of the body
}

// RoutePath converts a path to the pattern that the router uses: {id} becomes :id.
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
