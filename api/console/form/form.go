package form

import (
	"bytes"
	"encoding/json"
	"slices"

	"mizan/api/console/apispec"
	"mizan/api/console/labels"
	"mizan/api/web"
)

// Form is an HTML form for a request of the API.
type Form struct {
	Fields []apispec.Field
	Texts  *labels.Texts

	// Context is the name of the kind of record. Labels are looked up under this name first.
	Context string

	// Changes tells whether the form changes Record. Such a form sends only the fields that differ from Record.
	Changes bool

	// Record is the record that the form changes, or on which an operation acts, in the API's format. It is nil if there is
	// none. The currencies of amounts may come from the record.
	Record map[string]any

	// IsMerged tells whether the API merges the sent members of the named object into the stored object. If the API replaces
	// the object instead, the form sends all members. If IsMerged is nil, the API merges all objects.
	IsMerged func(name string) bool

	// Initial are the values that a new record's form shows at first, such as values from the page's address.
	Initial map[string]any
}

// Names of the form's own controls.
const (
	AddName   = "_add"   // a button that adds a row; the button's value is the name of the list
	ShownName = "_shown" // a hidden field with the values that the form showed, as JSON
	clearName = "_clear" // a check box that removes a secret; its name is SECRET._clear
	dropName  = "_drop"  // a check box that removes a row; its name is LIST.NUMBER._drop
)

// Bounds of a posted form.
const (
	MaxRows   = 200 // rows of a list
	maxNames  = 4000
	maxName   = 200 // bytes of a control's name
	maxNested = 8   // dots in a control's name
)

// ReadObject reads a JSON object. Numbers are json.Number, so that no digits are lost. If the text is not a JSON object, the
// result is nil.
func ReadObject(text []byte) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if decoder.Decode(&object) != nil {
		return nil
	}
	return object
}

// Problems are the reasons why a form is refused.
type Problems struct {
	Fields  map[string][]string // by the names of controls
	General []string            // problems that concern no field of the form

	// FromAPI tells whether the texts come from the API. The API's texts are in English.
	FromAPI bool
}

// None tells whether there are no problems.
func (p *Problems) None() bool { return p == nil || len(p.Fields) == 0 && len(p.General) == 0 }

func (p *Problems) add(name, text string) {
	if p.Fields == nil {
		p.Fields = make(map[string][]string)
	}
	if !slices.Contains(p.Fields[name], text) {
		p.Fields[name] = append(p.Fields[name], text)
	}
}

// RefusedBy returns the problems that the API reported when it refused a request.
func RefusedBy(refused *web.RefusedError) *Problems {
	p := &Problems{FromAPI: true}
	for _, problem := range refused.Problems {
		p.add(problem.Field, problem.Detail)
	}
	switch {
	case refused.Message != "":
		p.General = append(p.General, refused.Message)
	case p.None():
		p.General = append(p.General, refused.Code)
	}
	return p
}
