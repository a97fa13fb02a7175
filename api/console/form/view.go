package form

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mizan/api/console/apispec"
	"mizan/api/console/labels"
)

// View is the data for the template of a form.
type View struct {
	Texts   *labels.Texts
	Inputs  []Input
	Shown   string    // value of the hidden control ShownName; empty if there is no such control
	Summary []Summary // the wrong fields, in the order of the form
	General []string  // problems of the whole form
	FromAPI bool      // the texts of problems are in English
	IsFile  bool      // the form uploads a file
}

// Summary is one line in the list of wrong fields. The line has a link to its field.
type Summary struct{ ID, Label, Text string }

// Input is a control, or a group of controls.
type Input struct {
	Texts     *labels.Texts
	FromAPI   bool // the problems' texts are in English
	Control   Control
	Name, ID  string
	Label     string
	Help      string
	Hint      string // how to enter the value
	Value     string
	Type      string // attribute type of the <input>
	Mode      string // attribute inputmode
	Complete  string // attribute autocomplete
	MaxLength int
	Required  bool
	IsOn      bool // the check box is checked
	HasSecret bool // the record has a value for the secret
	IsChange  bool // the form changes a record, so every field may keep its value
	ClearName string
	Options   []Option
	Problems  []string
	Unit      string // text in the label: the currency of an amount, or the provider whose terminals have the field

	Inputs []Input // of a group
	Rows   []Row   // of a list
}

// Row is a row of a list.
type Row struct {
	Label, DropName string
	IsLast          bool // an empty row, in which a person can add an entry
	Inputs          []Input
}

// Option is one of the values from which a person chooses.
type Option struct {
	Value, Label string
	IsOn         bool
}

// Control says which HTML control an Input is.
type Control string

// The controls, by the names of their templates.
const (
	Line   Control = "line"   // <input>
	Lines  Control = "lines"  // <textarea>
	Choice Control = "choice" // <select>
	Check  Control = "check"  // one check box
	Checks Control = "checks" // a group of check boxes
	Secret Control = "secret"
	Upload Control = "upload"
	Group  Control = "group"
	Table  Control = "table" // a list of rows
)

// IsOptional tells whether the label marks the field as optional.
func (i *Input) IsOptional() bool { return !i.Required && !i.IsChange && i.Control != Choice }

// Describedby returns the value of the attribute aria-describedby: the ids of the texts that describe the control.
func (i *Input) Describedby() string {
	var ids []string
	if i.Help != "" || i.Hint != "" {
		ids = append(ids, i.ID+"-help")
	}
	if len(i.Problems) > 0 {
		ids = append(ids, i.ID+"-problem")
	}
	return strings.Join(ids, " ")
}

// View returns the data of the form's template. If the form was posted, the data has the posted values. Otherwise it has the
// values of the record. Secrets are left out. posted and problems may be nil.
func (f *Form) View(posted url.Values, problems *Problems) *View {
	v := &viewBuilder{form: f, view: &View{Texts: f.Texts}, problems: problems, used: make(map[string]bool), addTo: posted.Get(AddName)}
	if problems != nil {
		v.view.FromAPI = problems.FromAPI
	}
	stored := f.Record
	if !f.Changes {
		stored = f.Initial
	}
	var root *node
	if posted != nil {
		root = treeOf(posted)
	}
	enclosing := scope{{f.Fields, root, f.Record}}
	if !f.Changes {
		enclosing = enclosing.inside(f.Fields, root, stored)
	}
	v.view.Inputs = v.inputs(f.Fields, "", root, stored, enclosing)
	if f.Changes {
		v.view.Shown = f.shown(root)
	}
	v.summarize()
	return v.view
}

// shown returns, as JSON, the values of the record that the form shows. If the form was posted, they are the values that the
// form showed before the person changed them.
func (f *Form) shown(posted *node) string {
	if text, ok := posted.child(ShownName).text(); ok {
		return text
	}
	values := make(map[string]any)
	for i := range f.Fields {
		if value, ok := f.Record[f.Fields[i].Name]; ok && !f.Fields[i].Secret {
			values[f.Fields[i].Name] = value
		}
	}
	return string(Body(values))
}

// viewBuilder makes the controls of one form.
type viewBuilder struct {
	form     *Form
	view     *View
	problems *Problems
	used     map[string]bool // names of the form's controls, which show their own problems
	addTo    string          // name of the list to which the person is adding a row
}

func (v *viewBuilder) inputs(fields []apispec.Field, path string, n *node, stored map[string]any, enclosing scope) (inputs []Input) {
	for i := range fields {
		inputs = append(inputs, v.input(&fields[i], join(path, fields[i].Name), n.child(fields[i].Name), n != nil, stored[fields[i].Name], enclosing))
	}
	return inputs
}

// input makes the control of a field. n has the posted values of the field. If the form was posted (wasPosted), the control
// shows the posted values instead of the record's value.
func (v *viewBuilder) input(f *apispec.Field, name string, n *node, wasPosted bool, stored any, enclosing scope) Input {
	t := v.form.Texts
	in := Input{Texts: t, FromAPI: v.view.FromAPI, IsChange: v.form.Changes, Name: name, ID: "f-" + strings.ReplaceAll(name, ".", "-"), Label: t.Field(join(v.form.Context, name)), Help: t.Help(join(v.form.Context, name), f.Help),
		MaxLength: f.MaxLength, Required: f.Required && !v.form.Changes && f.Default == nil}
	if v.problems != nil {
		in.Problems, v.used[name] = v.problems.Fields[name], true
	}
	switch {
	case f.Kind == apispec.List && isObject(f.Entry):
		in.Control, in.Rows = Table, v.rows(f, name, n, wasPosted, stored, enclosing)
	case f.Kind == apispec.Object && len(f.Fields) > 0:
		members, _ := stored.(map[string]any)
		if wasPosted && n == nil {
			n = &node{}
		}
		in.Control, in.Inputs = Group, v.inputs(f.Fields, name, n, members, enclosing.inside(f.Fields, n, members))
	default:
		text, posted := n.text()
		if !wasPosted {
			if text = v.form.editText(f, stored, enclosing); stored == nil && !v.form.Changes {
				text = defaultText(f)
			}
		} else if !posted && v.form.Changes {
			text = v.form.editText(f, stored, enclosing) // the posted form had only some of the fields
		}
		v.control(&in, f, text, n, wasPosted, stored, enclosing)
		if f.Variant != "" {
			in.Unit = f.Variant
		}
	}
	return in
}

// control chooses the control of a single value, and sets its contents.
func (v *viewBuilder) control(in *Input, f *apispec.Field, text string, n *node, wasPosted bool, stored any, enclosing scope) {
	t := v.form.Texts
	in.Control, in.Type, in.Value = Line, "text", text
	switch {
	case f.Kind == apispec.File:
		in.Control, v.view.IsFile = Upload, true
	case f.Secret:
		in.Control, in.Value, in.HasSecret, in.Complete = Secret, "", stored != nil, "new-password"
		if in.ClearName = join(in.Name, clearName); !f.Nullable || stored == nil {
			in.ClearName = ""
		}
		if in.HasSecret {
			in.Hint = t.Form.KeepSecret
		}
	case f.Kind == apispec.List && len(f.Entry.Words) > 0:
		in.Control, in.Options = Checks, v.options(f.Entry, in.Name, chosen(n, wasPosted, stored))
	case f.Kind == apispec.List:
		in.Control, in.Hint, in.MaxLength = Lines, t.Form.Lines, 0
		if wasPosted && n != nil {
			in.Value = strings.Join(n.values, "\n")
		}
	case f.Kind == apispec.Object:
		in.Control, in.Hint = Lines, t.Form.JSON
	case f.Kind == apispec.Word:
		in.Control, in.Options = Choice, v.choices(f, in, text)
	case f.Kind == apispec.Bool && hasCheckbox(f):
		in.Control, in.IsOn = Check, isTrue(text)
	case f.Kind == apispec.Bool:
		in.Control = Choice
		in.Options = []Option{{"", t.Form.Unset, text == ""}, {"true", t.Common.Yes, text != "" && isTrue(text)}, {"false", t.Common.No, text != "" && !isTrue(text)}}
	default:
		v.lineOf(in, f, enclosing)
	}
}

// hasCheckbox tells whether a boolean is shown as a check box. A boolean that may be null, and has no default, needs three
// choices instead.
func hasCheckbox(f *apispec.Field) bool { return !f.Nullable || f.Default != nil }

// longTexts are the names of fields whose texts may have several lines. This list is needed because the API's description does
// not mark such fields.
var longTexts = []string{"description", "text", "note", "ca_pem"}

// lineOf sets the attributes of an <input> for a value of one line.
func (v *viewBuilder) lineOf(in *Input, f *apispec.Field, enclosing scope) {
	t := v.form.Texts
	switch f.Kind {
	case apispec.Integer:
		in.Mode = "numeric"
	case apispec.Decimal:
		in.Mode = "decimal"
	case apispec.Amount:
		in.Mode = "decimal"
		if asset, _ := enclosing.asset(); !enclosing.choosesCurrency() {
			in.Unit = string(asset.Currency)
		}
		if !enclosing.hasCurrency() {
			in.Hint = t.Form.Minor
		}
	case apispec.Instant:
		in.Type, in.Hint = "datetime-local", t.Form.UTC
	case apispec.Day:
		in.Type = "date"
	case apispec.Text:
		in.Complete = completions[f.Name]
		if slices.Contains(longTexts, f.Name) {
			in.Control = Lines
		}
	}
	if strings.HasSuffix(f.Name, "url") || f.Kind == apispec.Address {
		in.Mode = "url"
	}
	if strings.HasSuffix(f.Name, "email") {
		in.Mode = "email"
	}
}

// completions are the values of the attribute autocomplete, by the field's name. Browsers must not fill these fields with the
// data of the person at the screen, because the fields are about other people.
var completions = map[string]string{"login": "off", "email": "off", "name": "off", "value": "off"}

// choices returns the options of a field whose value is one of several words. If the field may stay empty, the first option
// stands for no value.
func (v *viewBuilder) choices(f *apispec.Field, in *Input, text string) []Option {
	options := v.options(f, in.Name, []string{text})
	switch {
	case f.Nullable && f.Default == nil || !f.Required && f.Default == nil:
		options = slices.Insert(options, 0, Option{"", v.form.Texts.Form.Unset, text == ""})
	case text == "":
		options = slices.Insert(options, 0, Option{"", v.form.Texts.Form.Choose, true})
	}
	if text != "" && !slices.Contains(f.Words, text) {
		options = append(options, Option{text, text, true}) // an unknown value of the record or of the posted form is kept
	}
	return options
}

func (v *viewBuilder) options(f *apispec.Field, name string, chosen []string) (options []Option) {
	for _, word := range f.Words {
		options = append(options, Option{word, v.form.Texts.Word(join(v.form.Context, name), word), slices.Contains(chosen, word)})
	}
	return options
}

// chosen returns the selected words of a list. If the form was posted, these are the posted words, and otherwise the stored
// words.
func chosen(n *node, wasPosted bool, stored any) (words []string) {
	if wasPosted && n != nil {
		return n.values
	}
	list, _ := stored.([]any)
	for _, entry := range list {
		if word, ok := entry.(string); ok {
			words = append(words, word)
		}
	}
	return words
}

// rows makes the rows of a list: the existing rows and an empty one, so that a person can add a row without JavaScript.
func (v *viewBuilder) rows(f *apispec.Field, name string, n *node, wasPosted bool, stored any, enclosing scope) (rows []Row) {
	add := func(posted *node, members map[string]any) {
		if len(rows) == MaxRows {
			return
		}
		path := join(name, strconv.Itoa(len(rows)))
		label := v.form.Texts.Fill(v.form.Texts.Form.Row, "n", v.form.Texts.Number(len(rows)+1))
		rows = append(rows, Row{label, join(path, dropName), posted == nil && members == nil, v.inputs(f.Entry.Fields, path, posted, members, enclosing.inside(f.Entry.Fields, posted, members))})
	}
	if wasPosted && n != nil {
		for _, r := range n.rows() {
			if rowHasText(f.Entry, r.node) {
				add(r.node, nil)
			}
		}
	} else {
		list, _ := stored.([]any)
		for _, entry := range list {
			members, _ := entry.(map[string]any)
			add(nil, members)
		}
	}
	add(nil, nil)
	if v.addTo == name {
		add(nil, nil)
	}
	return rows
}

// summarize lists the problems of the form's fields. Problems of fields that the form does not have become problems of the
// whole form.
func (v *viewBuilder) summarize() {
	if v.problems.None() {
		return
	}
	v.summarizeInputs(v.view.Inputs)
	v.view.General = v.problems.General
	for _, name := range sortedNames(v.problems.Fields) {
		if v.used[name] {
			continue
		}
		for _, text := range v.problems.Fields[name] {
			v.view.General = append(v.view.General, name+": "+text)
		}
	}
}

func (v *viewBuilder) summarizeInputs(inputs []Input) {
	for i := range inputs {
		for _, text := range inputs[i].Problems {
			v.view.Summary = append(v.view.Summary, Summary{inputs[i].ID, inputs[i].Label, text})
		}
		v.summarizeInputs(inputs[i].Inputs)
		for _, row := range inputs[i].Rows {
			v.summarizeInputs(row.Inputs)
		}
	}
}

func sortedNames(fields map[string][]string) (names []string) {
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Of returns the fields with the given names, in the order of the names.
func Of(fields []apispec.Field, names ...string) (chosen []apispec.Field) {
	for _, name := range names {
		if f := apispec.Named(fields, name); f != nil {
			chosen = append(chosen, *f)
		}
	}
	return chosen
}

// Without returns the fields except those with the given names.
func Without(fields []apispec.Field, names ...string) (others []apispec.Field) {
	for _, f := range fields {
		if !slices.Contains(names, f.Name) {
			others = append(others, f)
		}
	}
	return others
}

// ReadInitial reads the first values of a new record's fields from the query of the page's address.
func ReadInitial(fields []apispec.Field, query url.Values) map[string]any {
	initial := make(map[string]any)
	for _, f := range fields {
		text := query.Get(f.Name)
		switch {
		case text == "" || f.Secret || len(text) > maxName:
		case f.Kind == apispec.Integer:
			initial[f.Name] = json.Number(text)
		case f.Kind == apispec.Text || f.Kind == apispec.Word || f.Kind == apispec.ID:
			initial[f.Name] = text
		}
	}
	return initial
}
