package model

import (
	"slices"
	"strings"

	"mizan/api/description"
	"mizan/api/description/spec"
)

// API has all that a generator needs to write a client.
type API struct {
	Title, Version string
	Tags           []spec.Tag // only tags with an operation
	Types          []*Type
	Operations     []*Operation
	Events         []*Event

	names map[string]*Type
}

// Type returns a type by its name; nil if there is none.
func (a *API) Type(name string) *Type { return a.names[name] }

// Type is an object with known members, or a list of words.
type Type struct {
	Name, Text string
	Fields     []Field
	Words      []string // the values of an enumeration, which has no fields

	// IsRequest tells whether clients send values of the type. IsPatch tells whether the type is a merge patch (RFC 7396): an
	// absent field keeps its value, and null removes it.
	IsRequest, IsPatch bool
}

// Field is a member of an object or a parameter.
type Field struct {
	Name, Text  string
	Value       Value
	IsRequired  bool // always present in a response, required in a request
	IsWriteOnly bool
	Default     any  // the value of an absent field; nil: none
	MayBeEmpty  bool // for a query parameter: an empty text differs from an absent parameter
}

// Value is the form of a value.
type Value struct {
	Kind       Kind
	Name       string   // the type of a Named value
	Entry      *Value   // the entries of a List, or the members of a Map
	IsNullable bool     // the value may be null
	Words      []string // the allowed texts; nil: any
	AsNumber   bool     // an Amount is written as a JSON number; otherwise it is a text of digits
}

// Kind is a kind of value.
type Kind uint8

// The kinds of values.
const (
	Any     Kind = iota
	Text         // a string
	Bool         // true or false
	Integer      // a whole number
	Number       // any number
	Amount       // money in minor units
	Instant      // a time: a string in the form of RFC 3339
	Day          // a date: a string in the form of RFC 3339
	UUID         // an id: a string
	Bytes        // a string in base64
	Binary       // the bytes of a file
	List         // a list of Entry
	Map          // an object with any members of the form Entry
	Named        // a Type
)

// Operation is a method of a path.
type Operation struct {
	ID, Method, Path, Tag, Summary, Text string

	PathFields []Field
	Query      []Field
	Body       *Body // nil: none
	Result     Result

	// IsKeyed tells whether the operation accepts an Idempotency-Key, so that the same request is carried out only once.
	IsKeyed bool

	// Described is the operation in the description; generators read its examples and callers.
	Described *Described
}

// QueryType returns the name of the type for the parameters of the query.
func (o *Operation) QueryType() string { return upper(o.ID) + "Query" }

// IsPaged tells whether the operation returns a list page by page.
func (o *Operation) IsPaged() bool { return o.Result.Kind == Page }

// Body is the body of a request.
type Body struct {
	Media      string // application/json or multipart/form-data
	IsOptional bool
	Envelope   string // name of the body's only member, which contains the value; empty: the value is the whole body
	Value      Value  // a Map without known members if a client has nothing to send
}

// HasContent tells whether a client has something to send.
func (b *Body) HasContent() bool { return b != nil && b.Value.Kind != Map }

// Result is the response to a request that was carried out.
type Result struct {
	Status   int
	Kind     ResultKind
	Media    string
	Envelope string // name of the body's only member, which contains the value; empty: the value is the whole body
	Value    Value  // for a Page, the value of a row
}

// ResultKind is a kind of result.
type ResultKind uint8

// The kinds of results.
const (
	Nothing ResultKind = iota // no body
	Single                    // JSON
	Page                      // JSON {data, cursor}: a row has the form of Value
	Content                   // another media type
)

// Event is a kind of notification.
type Event struct {
	Name    string // transaction.charged
	Summary string
	Value   Value // the form of the body; all events of a stream have the same form
}

// Described is an operation of the description.
type Described = description.Described

// ForPartner tells whether a partner with an API key may call the operation.
func ForPartner(d *Described) bool { return has(d, description.PartnerKey) }

func has(d *Described, kind description.CallerKind) bool {
	for _, c := range d.Callers {
		if c.Kind == kind {
			return true
		}
	}
	return false
}

// Of returns the API with the operations that include selects. If partners may call all of them, parameters and fields that a
// partner cannot send are left out.
func Of(document *description.Document, include func(*Described) bool) *API {
	w := &walk{document: document, api: &API{Title: document.Title, Version: document.Version, names: make(map[string]*Type)}, enumerations: make(map[string]string)}
	for _, component := range document.Schemas {
		if len(component.Schema.Words) > 1 {
			w.enumerations[strings.Join(component.Schema.Words, " ")] = component.Name
		}
	}
	w.forPartners = !slices.ContainsFunc(document.Described, func(d description.Described) bool { return include(&d) && !ForPartner(&d) })
	used := make(map[string]bool)
	for i := range document.Described {
		if d := &document.Described[i]; include(d) {
			w.api.Operations = append(w.api.Operations, w.operation(d))
			used[d.Tag] = true
		}
	}
	for _, tag := range document.Tags {
		if used[tag.Name] {
			w.api.Tags = append(w.api.Tags, tag)
		}
	}
	w.events()
	return w.api
}

// upper returns a name with a capital first letter.
func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// camel converts a name with underscores, points or dashes to camel case, with a capital first letter.
func camel(name string) (text string) {
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '.' || r == '-' }) {
		text += upper(part)
	}
	return text
}
