package form

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"mizan/api/console/apispec"
)

// Parse converts a posted form to the JSON object for the API. If empty is true, the object has no members, so a form that
// changes a record changed nothing.
func (f *Form) Parse(posted url.Values) (object map[string]any, problems *Problems, empty bool) {
	p := &parser{form: f, problems: &Problems{}}
	root := treeOf(posted)
	shown := f.Record
	if text, ok := root.child(ShownName).text(); ok && f.Changes {
		if earlier := ReadObject([]byte(text)); earlier != nil {
			shown = earlier
		}
	}
	if !f.Changes {
		shown = nil
	}
	object, _ = p.members(f.Fields, "", root, shown, f.Record, scope{{f.Fields, root, f.Record}})
	return object, p.problems, len(object) == 0
}

// WantsRow tells whether a person posted the form with a button that adds a row.
func WantsRow(posted url.Values) bool { return posted.Get(AddName) != "" }

// Body returns the JSON of an object.
func Body(object map[string]any) []byte {
	if object == nil {
		object = map[string]any{}
	}
	body, err := json.Marshal(object)
	if err != nil {
		return []byte("{}")
	}
	return body
}

// parser reads one posted form.
type parser struct {
	form     *Form
	problems *Problems
}

// members reads the members of an object. shown has the values that the form showed, and stored the values that the record has
// now; both are nil for a new object. isSet tells whether the returned object has any members.
func (p *parser) members(fields []apispec.Field, path string, n *node, shown, stored map[string]any, enclosing scope) (object map[string]any, isSet bool) {
	object = make(map[string]any)
	for i := range fields {
		field := &fields[i]
		value, sent := p.value(field, join(path, field.Name), n.child(field.Name), shown[field.Name], stored[field.Name], enclosing)
		if sent {
			object[field.Name] = value
		}
	}
	return object, len(object) > 0
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// value reads the value of a field. If sent is false, the request leaves the field out.
func (p *parser) value(f *apispec.Field, name string, n *node, shown, stored any, enclosing scope) (value any, sent bool) {
	if n == nil {
		return p.missing(f, name)
	}
	switch {
	case f.Kind == apispec.File:
		return nil, false
	case f.Kind == apispec.List && isObject(f.Entry):
		return p.list(f, name, n, shown, enclosing)
	case f.Kind == apispec.List:
		return p.texts(f, name, n, shown)
	case f.Kind == apispec.Object && len(f.Fields) > 0:
		return p.object(f, name, n, shown, stored, enclosing)
	}
	return p.scalar(f, name, n, shown, enclosing)
}

// isObject tells whether the entries of a list are objects with known members.
func isObject(entry *apispec.Field) bool {
	return entry != nil && entry.Kind == apispec.Object && len(entry.Fields) > 0
}

// object reads an object with known members.
func (p *parser) object(f *apispec.Field, name string, n *node, shown, stored any, enclosing scope) (value any, sent bool) {
	shownMembers, _ := shown.(map[string]any)
	storedMembers, _ := stored.(map[string]any)
	members, isSet := p.members(f.Fields, name, n, shownMembers, storedMembers, enclosing.inside(f.Fields, n, storedMembers))
	if !isSet {
		return p.missing(f, name)
	}
	if p.form.Changes && p.form.IsMerged != nil && !p.form.IsMerged(name) {
		return replaced(storedMembers, members), true
	}
	return members, true
}

// missing returns the value of a field for which nothing was posted. If the field is an object that a new record requires, the
// value is an empty object. Otherwise there is no value.
func (p *parser) missing(f *apispec.Field, name string) (value any, sent bool) {
	if f.Required && f.Kind == apispec.Object && f.Name == name && !p.form.Changes {
		return map[string]any{}, true
	}
	return nil, false
}

// replaced returns the stored object with the changes applied. A change to null removes the member.
func replaced(stored, changed map[string]any) map[string]any {
	whole := make(map[string]any, len(stored)+len(changed))
	for name, value := range stored {
		whole[name] = value
	}
	for name, value := range changed {
		if whole[name] = value; value == nil {
			delete(whole, name)
		}
	}
	return whole
}

// list reads a list of objects, without its empty rows.
func (p *parser) list(f *apispec.Field, name string, n *node, shown any, enclosing scope) (value any, sent bool) {
	rows := []any{}
	for _, r := range n.rows() {
		if !rowHasText(f.Entry, r.node) {
			continue
		}
		if len(rows) == MaxRows {
			p.problems.add(name, p.form.Texts.Fill(p.form.Texts.Form.TooManyRows, "n", p.form.Texts.Number(MaxRows)))
			return nil, false
		}
		path := join(name, number(len(rows))) // numbered without the empty rows, as in the API's error messages
		members, _ := p.members(f.Entry.Fields, path, r.node, nil, nil, enclosing.inside(f.Entry.Fields, r.node, nil))
		rows = append(rows, members)
	}
	return p.changedRows(rows, shown)
}

// rowHasText tells whether a person filled in a row. Default values, such as the environment, do not count.
func rowHasText(entry *apispec.Field, n *node) bool {
	for i := range entry.Fields {
		f := &entry.Fields[i]
		child := n.child(f.Name)
		if text, ok := child.text(); ok && f.Default != nil && text == defaultText(f) || ok && f.Kind == apispec.Bool && !isTrue(text) {
			continue
		}
		if child.hasText() {
			return true
		}
	}
	return false
}

// changedRows returns the posted rows. If the form changes a record and showed the same rows, sent is false.
func (p *parser) changedRows(rows []any, shown any) (value any, sent bool) {
	before, _ := shown.([]any)
	if len(rows) == 0 && len(before) == 0 {
		return nil, false
	}
	return rows, !p.form.Changes || !reflect.DeepEqual(withoutNulls(rows), withoutNulls(before))
}

// withoutNulls returns the rows without the members that are null or empty. Rows are then equal even if a member is null in one
// row and absent in the other.
func withoutNulls(rows []any) any {
	compared := make([]any, len(rows))
	for i, r := range rows {
		members, ok := r.(map[string]any)
		if !ok {
			compared[i] = r
			continue
		}
		present := make(map[string]any, len(members))
		for name, value := range members {
			if value != nil && value != "" {
				present[name] = value
			}
		}
		compared[i] = present
	}
	return compared
}

// texts reads a list whose entries are single values. The entries are the words of the checked boxes, or the lines of a text.
func (p *parser) texts(f *apispec.Field, name string, n *node, shown any) (value any, sent bool) {
	var lines []string
	for _, posted := range n.values {
		for line := range strings.Lines(strings.ToValidUTF8(posted, "�")) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) == 1 && slices.Contains(f.TextAlternatives, lines[0]) {
		return lines[0], !p.form.Changes || shown != lines[0]
	}
	entries := []any{}
	for _, line := range lines {
		if f.Entry.Kind == apispec.Object && !strings.HasPrefix(line, "{") { // the API also takes a text as an entry
			entries = append(entries, line)
			continue
		}
		entry, problem := p.parsed(f.Entry, line, scope{})
		if problem != "" {
			p.problems.add(name, problem)
			continue
		}
		entries = append(entries, entry)
	}
	return p.changedRows(entries, shown)
}

// scalar reads one value.
func (p *parser) scalar(f *apispec.Field, name string, n *node, shown any, enclosing scope) (value any, sent bool) {
	text, posted := n.text()
	if _, clears := n.child(clearName).text(); f.Secret && clears && text == "" {
		return nil, true
	}
	if !posted || f.Secret && text == "" {
		return nil, false
	}
	if !f.Secret && f.Kind != apispec.Text {
		text = strings.TrimSpace(text)
	}
	if text == "" {
		return p.emptyValue(f, shown)
	}
	if p.form.Changes && shown != nil && !f.Secret && f.Kind != apispec.Bool && text == p.form.editText(f, shown, enclosing) {
		return nil, false
	}
	value, problem := p.parsed(f, text, enclosing)
	if problem != "" {
		p.problems.add(name, problem)
		return nil, false
	}
	if shown == nil && f.Kind == apispec.Bool && hasCheckbox(f) {
		shown = f.Default == true
	}
	return value, !p.form.Changes || f.Secret || !reflect.DeepEqual(value, shown)
}

// emptyValue returns the value for a control that is empty in the posted form. A form for a new record sends no value. A form
// that changes a record sends null or an empty text, but only if the form had shown a value.
func (p *parser) emptyValue(f *apispec.Field, shown any) (value any, sent bool) {
	if !p.form.Changes || shown == nil || shown == "" {
		return nil, false
	}
	if f.Nullable || f.Kind != apispec.Text {
		return nil, true
	}
	return "", true // the API refuses the empty text, and says why
}
