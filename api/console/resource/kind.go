package resource

import (
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/labels"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger/directory"
)

// Kind is the configuration of a kind of record.
type Kind struct {
	Name string // the kind's name in addresses: "partners"
	List string // id of the operation that lists the records; the paths of the other operations begin with its path

	// Columns are the columns that a list shows first, in this order. Hidden are the columns that a list does not show.
	Columns, Hidden []string

	// Parent is used if the path of the list contains an id. It is the name of the filter in which the person enters that id:
	// "partner_id" for /partners/{id}/settlements. Otherwise Parent is empty.
	Parent string

	// Read is the id of the operation that reads one record. Read may be empty if the path of that operation begins with the
	// path of the list.
	Read string

	// Fixed returns the fields that forms and filters do not show, with the values that forms send for them. A field with the
	// value nil is not sent. If Fixed itself is nil, there are no such fields.
	Fixed func(v *visit.Visit) map[string]any

	// ShownOnce names the fields that the API returns only when a record is created, such as the value of an API key.
	ShownOnce []string

	// ByOperator tells whether the pages need the administration token. The person must have entered the token during the
	// session.
	ByOperator bool

	// FixedFilters are filters that every page of the list sends. The person can't change them.
	FixedFilters url.Values

	// Extra are additional columns of lists, whose values are not fields of the rows.
	Extra []Extra

	// Cells maps the name of a column to a function that formats the column's values. Other columns have the usual format.
	Cells map[string]func(t *labels.Texts, row map[string]any) template.HTML

	// SkipParts are ids of operations that read parts of a record, such as GET /partners/{id}/limits. The page of a record does
	// not show these parts by itself, because Section shows them.
	SkipParts []string

	// HiddenOperations are ids of operations for which the console has no page.
	HiddenOperations []string

	// Section returns an additional section for the page of a record. If Section is nil, the page shows only the record's
	// fields and lists.
	Section func(v *visit.Visit, id string, record map[string]any) (template.HTML, error)

	// Above returns the HTML that is shown above the list. If Above is nil, nothing is shown there.
	Above func(v *visit.Visit) (template.HTML, error)
}

// Extra is an additional column of a list, whose values are not a field of the rows.
type Extra struct {
	Label    func(t *labels.Texts) string
	IsNumber bool

	// Cells returns the cells of the column, one for each row.
	Cells func(v *visit.Visit, rows []map[string]any) ([]template.HTML, error)
}

// Figures is the configuration of a page that shows the response of one operation.
type Figures struct {
	Name       string // the page's name in addresses, and the key of its title
	Operation  string
	ByOperator bool // whether the page needs the administration token; see Kind
}

// Area is a part of the console that consists of pages of records.
type Area struct {
	Root    string // path of the pages: "/console/admin/"
	Roles   []directory.Role
	Catalog *apispec.Catalog
	Kinds   []Kind
	Figures []Figures

	// Links is for fields whose value is the id of a record outside of the area. It maps the name of the field to the path of
	// those records' pages: "transaction_id": "/console/payments/". Fields that refer to kinds of the area need no entry.
	Links map[string]string

	// Routes returns the routes of the API. A route determines who may call it.
	Routes func() []web.Route
}

// kind is a Kind together with the API's operations on its records.
type kind struct {
	Kind
	*apispec.Record
	area    *Pages
	columns []apispec.Field // columns of lists
}

// namingFields are the fields that can serve as the name of a record. The first one that has a value is used.
var namingFields = []string{"name", "login", "header", "reference", "value"}

func newKind(area *Pages, config Kind) *kind {
	k := &kind{Kind: config, Record: area.Catalog.Record(config.List), area: area}
	if config.Read != "" {
		k.Record.Read = area.Catalog.Operation(config.Read)
	}
	k.Record.Remove(config.HiddenOperations)
	k.columns = columnsOf(k)
	return k
}

// columnsOf returns the columns of a list: first the fields in Kind.Columns, then all other fields that fit into a cell and are
// not hidden.
func columnsOf(k *kind) []apispec.Field {
	columns := named(k.Record.List.ResponseFields, k.Columns)
	for _, f := range k.Record.List.ResponseFields {
		isShown := slices.Contains(k.Columns, f.Name) || slices.Contains(k.Hidden, f.Name) || slices.Contains(k.ShownOnce, f.Name)
		if !isShown && !f.Secret && f.Kind != apispec.Object && (f.Kind != apispec.List || f.Entry.Kind != apispec.Object) {
			columns = append(columns, f)
		}
	}
	return columns
}

// named returns the fields with the given names. It panics if there is no field with one of the names.
func named(fields []apispec.Field, names []string) (chosen []apispec.Field) {
	for _, name := range names {
		f := apispec.Named(fields, name)
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

// title returns the title of a record's page. The title is the record's name or, if the record has no name, its kind and the
// beginning of its id.
func (k *kind) title(t *labels.Texts, record map[string]any) string {
	for _, name := range namingFields {
		if text, ok := record[name].(string); ok && text != "" {
			return text
		}
	}
	id := textOf(record[k.Key])
	return capitalized(t.Single(k.Name)) + " " + id[:min(idShown, len(id))]
}

// capitalized changes the first letter of a text to a capital letter.
func capitalized(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// filters returns the parameters by which a person can filter the list.
func (k *kind) filters(v *visit.Visit) []apispec.Field {
	set := slices.AppendSeq(slices.Collect(maps.Keys(k.fixed(v))), maps.Keys(k.FixedFilters))
	fields := form.Without(k.Record.List.Filters, set...)
	if k.Parent == "" {
		return fields
	}
	parent := apispec.Field{Name: k.Parent, Kind: apispec.Text, Required: true}
	return append([]apispec.Field{parent}, fields...)
}

// fixed returns the fields that Kind.Fixed returns, or nil if Kind.Fixed is nil.
func (k *kind) fixed(v *visit.Visit) map[string]any {
	if k.Fixed == nil {
		return nil
	}
	return k.Fixed(v)
}

// actionName returns the name of an action in addresses: the last segment of its path in the API.
func actionName(o *apispec.Operation) string { return o.Path[strings.LastIndexByte(o.Path, '/')+1:] }

// apiPath returns the path of an operation on a record. The id is escaped.
func apiPath(o *apispec.Operation, id string) string {
	if len(o.Keys) == 0 {
		return o.Path
	}
	return strings.Replace(o.Path, "{"+o.Keys[0]+"}", escapePath(id), 1)
}
