package resource

import (
	"html/template"

	"mizan/api/console/apispec"
	"mizan/api/console/labels"
)

// Writer lets other packages write the API's values in the same format as the pages of this package.
type Writer struct{ valueWriter }

// Pair is a field of a record: its label and its value.
type Pair = pair

// NewWriter returns a Writer. Labels are looked up first under the name context, which is that of the kind of record. links is
// for fields whose value is a record's id. It maps the name of the field to the path of those records' pages.
func NewWriter(t *labels.Texts, context string, links map[string]string) *Writer {
	return &Writer{valueWriter{t: t, area: &Pages{Area: Area{Links: links}}, context: context}}
}

// Label returns the label of a field.
func (w *Writer) Label(name string) string { return w.t.Field(join(w.context, name)) }

// Value writes the value of a field. around are the objects that contain the value, innermost first.
func (w *Writer) Value(f *apispec.Field, value any, around ...map[string]any) template.HTML {
	return w.value(f, join(w.context, f.Name), value, around)
}

// Pairs writes the fields of a record, each with its label.
func (w *Writer) Pairs(fields []apispec.Field, record map[string]any) []Pair {
	return w.pairs(fields, w.context, record, nil)
}

// IsNumber tells whether the values of a field are aligned like numbers, to the end of their column.
func IsNumber(f *apispec.Field) bool { return isNumber(f) || f.Kind == apispec.Integer }

// ReadRows reads the rows of a list, and the cursor of the next page.
var ReadRows = readRows
