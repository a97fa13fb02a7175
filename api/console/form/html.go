package form

import (
	"bytes"
	"embed"
	"html/template"

	"mizan/api/console/labels"
	"mizan/internal/assert"
)

//go:embed templates
var files embed.FS

var templates = template.Must(template.ParseFS(files, "templates/*.html"))

// Post has the target of a form, its hidden fields and the texts of its buttons.
type Post struct {
	Action  string
	CSRF    string // view.Frame.CSRF
	FormKey string // view.Frame.FormKey
	Submit  string // text of the button
	Danger  bool   // the button deletes or ends something
	Cancel  string // address of the link that leaves the form; empty if there is no link
}

// HTML returns the whole form, preceded by the list of problems.
func (v *View) HTML(post Post) template.HTML {
	return run("form", struct {
		View *View
		Post Post
	}{v, post})
}

// Problems returns the list of problems.
func (v *View) Problems() template.HTML { return run("problems", v) }

// Controls returns the controls without a form around them.
func (v *View) Controls() template.HTML {
	var all template.HTML
	for i := range v.Inputs {
		all += run("input", &v.Inputs[i])
	}
	return all
}

// HasRows tells whether the form has a list with a button that adds a row. Such a button must not be the first button of the
// form, because browsers press the first button when a person presses the Enter key.
func (v *View) HasRows() bool { return hasRows(v.Inputs) }

func hasRows(inputs []Input) bool {
	for i := range inputs {
		if inputs[i].Control == Table || hasRows(inputs[i].Inputs) {
			return true
		}
	}
	return false
}

// Filters is the form with the filters of a list.
type Filters struct {
	Texts      *labels.Texts
	Action     string
	Inputs     []Input
	IsFiltered bool
	Clear      string // the address of the list with all filters removed except the required ones
	view       *View
}

// Problems returns the list of what is wrong with the filters.
func (f *Filters) Problems() template.HTML { return f.view.Problems() }

// HTML returns the form of the filters.
func (f *Filters) HTML() template.HTML {
	if len(f.Inputs) == 0 {
		return ""
	}
	return run("filters", f)
}

// shownText is the text of a problem. If FromAPI is set, the text is in English.
type shownText struct {
	Text    string
	FromAPI bool
}

// Text returns a problem of the whole form, and At returns the problem of one field. The template calls both.
func (v *View) Text(text string) shownText { return shownText{text, v.FromAPI} }
func (s Summary) At(v *View) shownText     { return shownText{s.Text, v.FromAPI} }
func run(name string, data any) (html template.HTML) {
	var out bytes.Buffer
	assert.NoError(templates.ExecuteTemplate(&out, name, data))
	return template.HTML(out.String())
}
