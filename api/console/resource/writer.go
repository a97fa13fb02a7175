package resource

import (
	"html/template"

	"mizan/api/console/described"
	"mizan/api/console/labels"
)

// Writer writes values of the API in the format of this package's pages, for the pages of other packages.
type Writer struct{ valueWriter }

// Pair is a field of a record with its value.
type Pair = pair

// NewWriter returns a writer. Labels are looked up first under the name that context has. links maps the name of a field that has
// a record's id to the path of such records' pages.
func NewWriter(t *labels.Texts, context string, links map[string]string) *Writer {
	return &Writer{valueWriter{t: t, area: &Pages{Area: Area{Links: links}}, context: context}}
}

// Label returns the label of a field.
func (w *Writer) Label(name string) string { return w.t.Field(join(w.context, name)) }

// Value writes the value of a field. around are the objects around the value, innermost first.
func (w *Writer) Value(f *described.Field, value any, around ...map[string]any) template.HTML {
	return w.value(f, join(w.context, f.Name), value, around)
}

// Pairs writes the fields of a record.
func (w *Writer) Pairs(fields []described.Field, record map[string]any) []Pair {
	return w.pairs(fields, w.context, record, nil)
}

// IsNumber tells whether the values of a field are aligned to the end of a column, as numbers are.
func IsNumber(f *described.Field) bool { return isNumber(f) || f.Kind == described.Integer }

// ReadRows reads the rows of a list, and the cursor of the next page.
var ReadRows = readRows
