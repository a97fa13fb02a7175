package apispec

import (
	"slices"
	"strings"

	"mizan/api/description/spec"
	"mizan/internal/assert"
)

// Catalog is the API's description in the form that the console's pages use.
type Catalog struct {
	operations map[string]*Operation
	order      []*Operation // all operations, in the order of the description
	reader     reader
}

// Operation is an operation of the API.
type Operation struct {
	*spec.Operation
	Keys    []string // names of the path's parameters, in the path's order
	Filters []Field  // parameters of the query except limit and cursor
	Body    []Field  // members of the body; if WrapsBodyInParams is set, members of the body's object params

	// WrapsBodyInParams tells whether the request's body wraps its members in an object named params.
	WrapsBodyInParams bool

	// IsList tells whether the response is a list of rows. HasCursor tells whether the response has a cursor to the next page.
	IsList, HasCursor bool

	// ResponseFields has the fields of one row if the response is a list. Otherwise it has the fields of the response's object
	// data, or of the whole response if there is no such object.
	ResponseFields []Field
}

// New reads a description.
func New(contents spec.Contents) *Catalog {
	c := &Catalog{operations: make(map[string]*Operation), reader: reader{schemas: make(map[string]*spec.Schema)}}
	for _, component := range contents.Schemas {
		c.reader.schemas[component.Name] = component.Schema
	}
	for i := range contents.Operations {
		o := c.operation(&contents.Operations[i])
		c.operations[o.ID] = o
		c.order = append(c.order, o)
	}
	return c
}

// Operation returns the operation with the given id. It panics if the API has no such operation.
func (c *Catalog) Operation(id string) *Operation {
	o := c.operations[id]
	assert.That(o != nil, "described: there is no operation %s", id)
	return o
}

// Operations returns all operations, in the order of the description.
func (c *Catalog) Operations() []*Operation { return c.order }

// Schema returns the fields of the schema with the given name, or nil if there is no such schema.
func (c *Catalog) Schema(name string) []Field {
	if c.reader.schemas[name] == nil {
		return nil
	}
	return c.reader.fields(spec.Ref(name), 0)
}

func (c *Catalog) operation(described *spec.Operation) *Operation {
	o := &Operation{Operation: described, Keys: keysOf(described.Path)}
	for _, p := range described.Parameters {
		if p.In == "query" && p.Name != "limit" && p.Name != "cursor" {
			f := c.reader.field(p.Schema, 0)
			f.Name, f.Required, f.Help = p.Name, p.Required, p.Text
			o.Filters = append(o.Filters, f)
		}
	}
	if described.Body != nil {
		o.Body = c.reader.fields(described.Body.Schema, 0)
		if len(o.Body) == 1 && o.Body[0].Name == "params" {
			o.Body, o.WrapsBodyInParams = o.Body[0].Fields, true
		}
		c.addVariants(o.Body)
	}
	if answer := success(described); answer != nil {
		c.readAnswer(o, answer)
	}
	return o
}

// success returns the schema of the successful response, or nil if that response has no JSON.
func success(o *spec.Operation) *spec.Schema {
	for _, a := range o.Answers {
		if a.Status < 300 && a.Schema != nil {
			return a.Schema
		}
	}
	return nil
}

// readAnswer sets the fields of o that describe its response.
func (c *Catalog) readAnswer(o *Operation, answer *spec.Schema) {
	fields := c.reader.fields(answer, 0)
	data := Named(fields, "data")
	o.HasCursor = Named(fields, "cursor") != nil
	switch {
	case data == nil:
		o.ResponseFields = fields
	case data.Kind == List && data.Entry != nil:
		o.IsList, o.ResponseFields = true, data.Entry.Fields
	default:
		o.ResponseFields = data.Fields
	}
}

// A terminal's field variantField has the parameters of the terminal's provider. Each provider has its own schema for these
// parameters, which is named variantPrefix and the provider.
const (
	variantField  = "provider_params"
	variantPrefix = "ProviderParams"
)

// addVariants adds the parameters of all providers to the field variantField, if the body has that field.
func (c *Catalog) addVariants(body []Field) {
	f := Named(body, variantField)
	if f == nil {
		return
	}
	for _, name := range c.variants() {
		for _, member := range c.Schema(name) {
			if Named(f.Fields, member.Name) == nil {
				member.Required, member.Variant = false, strings.ToLower(strings.TrimPrefix(name, variantPrefix))
				f.Fields = append(f.Fields, member)
			}
		}
	}
}

func (c *Catalog) variants() (names []string) {
	for name := range c.reader.schemas {
		if strings.HasPrefix(name, variantPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// keysOf returns the names of the parameters in a path, such as id in /partners/{id}.
func keysOf(path string) (keys []string) {
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			keys = append(keys, strings.TrimSuffix(name, "}"))
		}
	}
	return keys
}
