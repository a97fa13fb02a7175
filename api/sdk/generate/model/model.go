package model

import (
	"slices"
	"strings"

	"mizan/api/description"
	"mizan/api/description/spec"
)

// API is what a client has to know.
type API struct {
	Title, Version string
	Tags           []spec.Tag // those that have an operation
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
	Words      []string // of an enumeration, which has no fields

	// IsRequest tells that clients send it. IsPatch tells that it is a merge patch (RFC 7396): an absent field keeps its
	// value, and null removes it.
	IsRequest, IsPatch bool
}

// Field is a member of an object or a parameter.
type Field struct {
	Name, Text  string
	Value       Value
	IsRequired  bool // always present in a response, required in a request
	IsWriteOnly bool
	Default     any  // what an absent one counts as; nil: none
	MayBeEmpty  bool // of a query: an empty text is not the same as an absent one
}

// Value is the form of a value.
type Value struct {
	Kind       Kind
	Name       string   // of a Named value: that of its type
	Entry      *Value   // of the entries of a List, and the members of a Map
	IsNullable bool     // it may be null
	Words      []string // the allowed texts; nil: any
	AsNumber   bool     // an Amount that is written as a JSON number; others are texts of digits
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

	// IsKeyed tells that it accepts an Idempotency-Key, so that the same request is carried out once.
	IsKeyed bool

	// Described is the operation in the description; generators read its examples and callers.
	Described *Described
}

// QueryType is the name of a type for the parameters of the query.
func (o *Operation) QueryType() string { return upper(o.ID) + "Query" }

// IsPaged tells whether the operation returns a list page by page.
func (o *Operation) IsPaged() bool { return o.Result.Kind == Page }

// Body is the body of a request.
type Body struct {
	Media      string // application/json or multipart/form-data
	IsOptional bool
	Envelope   string // the only member of the body, which has the value; empty: the value is the body
	Value      Value  // a Map without known members if a client has nothing to send
}

// HasContent tells whether a client has something to send.
func (b *Body) HasContent() bool { return b != nil && b.Value.Kind != Map }

// Result is the response to a request that was carried out.
type Result struct {
	Status   int
	Kind     ResultKind
	Media    string
	Envelope string // the only member of the body, which has the value; empty: the value is the body
	Value    Value  // of a Page: that of a row
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
	Value   Value // the form of the body; events of one stream have the same
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

// Of walks over the operations that include selects. If they are for partners only, what a partner cannot send is left
// out.
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

// upper returns a name with a capital letter at its start.
func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// camel returns a name with underscores or points as one with capitals.
func camel(name string) (text string) {
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '.' || r == '-' }) {
		text += upper(part)
	}
	return text
}
