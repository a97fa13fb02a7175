package consoletest

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Field is a control of a form.
type Field struct {
	Name, Kind string   // Kind is the type of an input, or "select" or "textarea"
	Options    []string // the values of a select, a check box or a radio button
	IsMultiple bool
}

// Forms returns the page's forms.
func (p *Page) Forms() (forms []*Form) {
	for _, n := range p.all("form") {
		if attribute(n, "method") != "dialog" {
			forms = append(forms, newForm(p, n))
		}
	}
	return forms
}

// IsPage tells whether the response is an HTML page.
func (p *Page) IsPage() bool { return p.root != nil }

// Action returns the address to which the form is sent, and whether the method is POST. If the form names no address, it is
// sent to the address of its page.
func (f *Form) Action() (address string, isPosted bool) {
	if address = attribute(f.node, "action"); address == "" {
		address = f.page.Path
	}
	return address, attribute(f.node, "method") == "post"
}

// Values returns the values that the form would send.
func (f *Form) Values() url.Values { return f.values }

// Fields returns the controls that a person can change. Controls with the same name are combined into one.
func (f *Form) Fields() (fields []Field) {
	for n := range f.node.Descendants() {
		if n.Type != html.ElementNode || !slices.Contains([]string{"input", "select", "textarea"}, n.Data) || attribute(n, "name") == "" {
			continue
		}
		field := Field{Name: attribute(n, "name"), Kind: n.Data, IsMultiple: has(n, "multiple")}
		switch n.Data {
		case "input":
			if field.Kind = attribute(n, "type"); field.Kind == "checkbox" || field.Kind == "radio" {
				field.Options = []string{attribute(n, "value")}
			}
		case "select":
			for _, option := range find(n, "option") {
				value := textOf(option)
				if has(option, "value") {
					value = attribute(option, "value")
				}
				field.Options = append(field.Options, value)
			}
		}
		if field.Kind == "hidden" || field.Kind == "submit" || field.Kind == "file" {
			continue
		}
		if i := slices.IndexFunc(fields, func(other Field) bool { return other.Name == field.Name }); i >= 0 {
			fields[i].Options = append(fields[i].Options, field.Options...)
			fields[i].IsMultiple = fields[i].IsMultiple || field.Kind == "checkbox"
			continue
		}
		fields = append(fields, field)
	}
	return fields
}

// Buttons returns the form's buttons. Each result can be passed to Submit.
func (f *Form) Buttons() (buttons []string) {
	for _, n := range find(f.node, "button") {
		button := attribute(n, "name")
		if button != "" && has(n, "value") {
			button += "=" + attribute(n, "value")
		}
		if attribute(n, "type") != "button" {
			buttons = append(buttons, button)
		}
	}
	return buttons
}

// References returns the values of all HTML attributes on the page that have one of the given names, such as href and src.
func (p *Page) References(attributes ...string) (addresses []string) {
	if p.root == nil {
		return nil
	}
	for n := range p.root.Descendants() {
		for _, name := range attributes {
			if n.Type == html.ElementNode && has(n, name) {
				addresses = append(addresses, attribute(n, name))
			}
		}
	}
	return addresses
}

// WholeText returns the text of the whole page, including the menu.
func (p *Page) WholeText() string {
	if p.root == nil {
		return p.Body
	}
	var text strings.Builder
	for child := range p.root.Descendants() {
		if child.Type == html.TextNode {
			text.WriteString(child.Data + " ")
		}
	}
	return strings.Join(strings.Fields(text.String()), " ")
}
