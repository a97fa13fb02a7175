package resource

import (
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mizan/api/console/described"
	"mizan/api/console/form"
	"mizan/api/console/labels"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger/directory"
)

// Kind is the configuration of a kind of record.
type Kind struct {
	Name string // in addresses: "partners"
	List string // id of the operation that lists the records; the other operations are found by its path

	// Columns are shown first in lists, in this order. Hidden columns are not shown in lists at all.
	Columns, Hidden []string

	// Parent is the name of the filter with the id in the list's path: "partner_id" for /partners/{id}/settlements. It is empty
	// if the path has no id.
	Parent string

	// Read is the id of the operation that reads one record. It may be empty if that operation is below the list's path.
	Read string

	// Fixed returns the fields that forms and filters do not show, with the values that forms send for them. A field with the
	// value nil is not sent. If Fixed itself is nil, there are no such fields.
	Fixed func(v *visit.Visit) map[string]any

	// Once has the fields that only the response to a creation contains, such as an API key's value.
	Once []string

	// ByOperator tells whether the pages need the administration token. The person must have entered it in the session.
	ByOperator bool

	// Only are filters that every page of the list sends. The person can't change them.
	Only url.Values

	// Extra are columns of lists that are not fields of the rows.
	Extra []Extra

	// Cells has, for some columns of lists, a function that writes the column's values. It replaces the usual format of the
	// values.
	Cells map[string]func(t *labels.Texts, row map[string]any) template.HTML

	// SkipParts are ids of operations whose paths are below the path of a record. The record's page leaves out the responses of
	// these operations, because Section shows them.
	SkipParts []string

	// Without are ids of operations that have no page.
	Without []string

	// Section returns a section of the page of a record in addition to its fields; nil: none.
	Section func(v *visit.Visit, id string, record map[string]any) (template.HTML, error)

	// Above returns HTML to show above the list; nil: nothing.
	Above func(v *visit.Visit) (template.HTML, error)
}

// Extra is a column of a list that is not a field of the rows.
type Extra struct {
	Label    func(t *labels.Texts) string
	IsNumber bool

	// Cells returns the column's cells, one for each of the rows.
	Cells func(v *visit.Visit, rows []map[string]any) ([]template.HTML, error)
}

// Figures is the configuration of a page that shows the response of one operation.
type Figures struct {
	Name       string // the name in addresses, and the key of the page's title
	Operation  string
	ByOperator bool // the page needs the administration token, as in Kind
}

// Area is a part of the console with pages of records.
type Area struct {
	Root    string // path of the pages: "/console/admin/"
	Roles   []directory.Role
	Catalog *described.Catalog
	Kinds   []Kind
	Figures []Figures

	// Links maps the name of a field that has a record's id to the path of such records' pages outside of the area:
	// "transaction_id": "/console/payments/". Links to the area's own kinds need no entry.
	Links map[string]string

	// Routes returns the routes of the API, which decide what a person may do.
	Routes func() []web.Route
}

// kind is a Kind with its operations of the API.
type kind struct {
	Kind
	*described.Record
	area    *Pages
	columns []described.Field // columns of lists
}

// namingFields are the fields that may have a record's name, the most preferred first.
var namingFields = []string{"name", "login", "header", "reference", "value"}

func newKind(area *Pages, config Kind) *kind {
	k := &kind{Kind: config, Record: area.Catalog.Record(config.List), area: area}
	if config.Read != "" {
		k.Record.Read = area.Catalog.Operation(config.Read)
	}
	k.Record.Remove(config.Without)
	k.columns = columnsOf(k)
	return k
}

// columnsOf returns the columns of a list: those in Kind.Columns first, then all other fields that fit into a cell.
func columnsOf(k *kind) []described.Field {
	columns := named(k.Record.List.Answer, k.Columns)
	for _, f := range k.Record.List.Answer {
		isShown := slices.Contains(k.Columns, f.Name) || slices.Contains(k.Hidden, f.Name) || slices.Contains(k.Once, f.Name)
		if !isShown && !f.Secret && f.Kind != described.Object && (f.Kind != described.List || f.Entry.Kind != described.Object) {
			columns = append(columns, f)
		}
	}
	return columns
}

// named returns the fields with the given names. It panics if one does not exist.
func named(fields []described.Field, names []string) (chosen []described.Field) {
	for _, name := range names {
		f := described.Named(fields, name)
		if f == nil {
			panic("resource: there is no field " + name)
		}
		chosen = append(chosen, *f)
	}
	return chosen
}

// path returns the path of the list's page, or of a page below it.
func (k *kind) path(below ...string) string {
	return strings.Join(append([]string{k.area.Root + k.Name}, below...), "/")
}

// idName returns the name of the field with which other records refer to a record of this kind: partner_id for partners.
func (k *kind) idName() string { return strings.TrimSuffix(k.Name, "s") + "_id" }

// title returns the title of a record's page: the record's name, else its kind and the beginning of its id.
func (k *kind) title(t *labels.Texts, record map[string]any) string {
	for _, name := range namingFields {
		if text, ok := record[name].(string); ok && text != "" {
			return text
		}
	}
	id := textOf(record[k.Key])
	return capitalized(t.Single(k.Name)) + " " + id[:min(idShown, len(id))]
}

// capitalized returns a text that begins with a capital letter, as titles of pages do.
func capitalized(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// filters returns the parameters by which a person can filter the list.
func (k *kind) filters(v *visit.Visit) []described.Field {
	set := slices.AppendSeq(slices.Collect(maps.Keys(k.fixed(v))), maps.Keys(k.Only))
	fields := form.Without(k.Record.List.Filters, set...)
	if k.Parent == "" {
		return fields
	}
	parent := described.Field{Name: k.Parent, Kind: described.Text, Required: true}
	return append([]described.Field{parent}, fields...)
}

// fixed returns the fields of Kind.Fixed; nil if there are none.
func (k *kind) fixed(v *visit.Visit) map[string]any {
	if k.Fixed == nil {
		return nil
	}
	return k.Fixed(v)
}

// actionName returns the name of an action in addresses: the last segment of its path in the API.
func actionName(o *described.Operation) string { return o.Path[strings.LastIndexByte(o.Path, '/')+1:] }

// apiPath returns the path of an operation on a record. The id is escaped.
func apiPath(o *described.Operation, id string) string {
	if len(o.Keys) == 0 {
		return o.Path
	}
	return strings.Replace(o.Path, "{"+o.Keys[0]+"}", escapePath(id), 1)
}
