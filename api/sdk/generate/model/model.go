package model

import (
	"slices"
	"strings"

	"mizan/api/description"
	"mizan/api/description/spec"
)

// API is what a generator needs to know about the API to write a client.
type API struct {
	Title, Version string
	Tags           []spec.Tag // only tags that have operations
	Types          []*Type
	Operations     []*Operation
	Events         []*Event

	names map[string]*Type
}

// Type returns the type with the given name, or nil if there is none.
func (a *API) Type(name string) *Type { return a.names[name] }

// Type is a type that clients declare: an object with known members, or an enumeration of words.
type Type struct {
	Name, Text string
	Fields     []Field
	Words      []string // the values of an enumeration, which has no fields

	// IsRequest tells whether clients send values of the type. IsPatch tells whether the type is a merge patch (RFC 7396): if
	// a field is absent, the field of the record stays unchanged, and if it is null, the field is removed.
	IsRequest, IsPatch bool
}

// Field is a member of an object, or a parameter of an operation.
type Field struct {
	Name, Text  string
	Value       Value
	IsRequired  bool // in a response, always present; in a request, required
	IsWriteOnly bool
	Default     any  // the value if the field is absent; nil if there is no default
	MayBeEmpty  bool // only for query parameters: an empty text has another meaning than no parameter
}

// Value describes the form of values: their kind and the properties of the kind.
type Value struct {
	Kind       Kind
	Name       string   // for a Named value: the name of its Type
	Entry      *Value   // the form of a List's entries or of a Map's members
	IsNullable bool     // the value may be null
	Words      []string // the allowed texts; nil if all are allowed
	AsNumber   bool     // if true, an Amount is a JSON number; otherwise it is a text of digits
}

// Kind is the kind of a Value.
type Kind uint8

// The kinds of values.
const (
	Any     Kind = iota
	Text         // a string
	Bool         // true or false
	Integer      // a whole number
	Number       // any number
	Amount       // money in minor units
	Instant      // a time, as a string in the format of RFC 3339
	Day          // a date, as a string in the format of RFC 3339
	UUID         // an id: a string
	Bytes        // a string in base64
	Binary       // the bytes of a file
	List         // a list of Entry
	Map          // an object with arbitrary members, whose values have the form Entry
	Named        // a Type
)

// Operation is an operation of the API: an HTTP method of a path.
type Operation struct {
	ID, Method, Path, Tag, Summary, Text string

	PathFields []Field
	Query      []Field
	Body       *Body // nil: none
	Result     Result

	// IsKeyed tells whether the operation accepts an Idempotency-Key. With a key, a request that is sent again is carried out
	// only once.
	IsKeyed bool

	// Described is the operation in the description; generators read its examples and callers.
	Described *Described
}

// QueryType returns the name of the type for the parameters in the operation's query.
func (o *Operation) QueryType() string { return upper(o.ID) + "Query" }

// IsPaged tells whether the operation returns a list page by page.
func (o *Operation) IsPaged() bool { return o.Result.Kind == Page }

// Body is the body of a request.
type Body struct {
	Media      string // application/json or multipart/form-data
	IsOptional bool
	Envelope   string // name of the body's only member, which contains the value; empty: the value is the whole body
	Value      Value  // a Map if a client has nothing to send
}

// HasContent tells whether there is a body in which a client can send something.
func (b *Body) HasContent() bool { return b != nil && b.Value.Kind != Map }

// Result describes the response to a request that was carried out.
type Result struct {
	Status   int
	Kind     ResultKind
	Media    string
	Envelope string // name of the body's only member, which contains the value; empty: the value is the whole body
	Value    Value  // for a Page, the value of a row
}

// ResultKind is the kind of a Result.
type ResultKind uint8

// The kinds of results.
const (
	Nothing ResultKind = iota // no body
	Single                    // JSON
	Page                      // JSON {data, cursor}: data is a list of Value
	Content                   // another media type
)

// Event is a type of notification that the service sends.
type Event struct {
	Name    string // transaction.charged
	Summary string
	Value   Value // the form of the body, which is the same for all events of a stream
}

// Described is an operation of the description.
type Described = description.DescribedOperation

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

// Of returns the API with the operations for which include returns true. If partners may call all these operations,
// parameters and fields that a partner cannot send are left out.
func Of(document *description.Document, include func(*Described) bool) *API {
	w := &walk{document: document, api: &API{Title: document.Title, Version: document.Version, names: make(map[string]*Type)}, enumerations: make(map[string]string)}
	for _, component := range document.Schemas {
		if len(component.Schema.Words) > 1 {
			w.enumerations[strings.Join(component.Schema.Words, " ")] = component.Name
		}
	}
	w.forPartners = !slices.ContainsFunc(document.DescribedOperations, func(d description.DescribedOperation) bool { return include(&d) && !ForPartner(&d) })
	used := make(map[string]bool)
	for i := range document.DescribedOperations {
		if d := &document.DescribedOperations[i]; include(d) {
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
