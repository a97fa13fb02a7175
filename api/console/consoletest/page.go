package consoletest

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Page is a response of the console.
type Page struct {
	browser *Browser
	Path    string // path and query of the request
	Status  int
	Header  http.Header
	Body    string
	root    *html.Node // nil if the response is not a page
}

// check checks the properties that every response of the console must have.
func (p *Page) check(method string) {
	t := p.browser.t
	t.Helper()
	if p.Header.Get("X-Request-Id") == "" {
		t.Errorf("%s has no request id", p.Path)
	}
	isPart := p.browser.header.Get("HX-Request") != "" // the response is a fragment of a page
	if !strings.HasPrefix(p.Header.Get("Content-Type"), "text/html") || method == http.MethodHead || isPart {
		return
	}
	root, err := html.Parse(strings.NewReader(p.Body))
	if err != nil {
		t.Fatalf("%s: %v", p.Path, err)
	}
	p.root = root
	policy := p.Header.Get("Content-Security-Policy")
	if p.Header.Get("Cache-Control") != "no-store" || !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
		t.Errorf("%s: cache %q, policy %q", p.Path, p.Header.Get("Cache-Control"), policy)
	}
	for _, n := range p.all("html") {
		if attribute(n, "lang") == "" || attribute(n, "dir") == "" {
			t.Errorf("%s has no language or direction", p.Path)
		}
	}
	if headings := p.all("h1"); len(headings) != 1 || textOf(headings[0]) == "" || p.Title() == "" {
		t.Errorf("%s has %d h1, and the title %q", p.Path, len(headings), p.Title())
	}
	for _, n := range append(p.all("script"), p.all("style")...) {
		if attribute(n, "src") == "" {
			t.Errorf("%s has an inline %s", p.Path, n.Data)
		}
	}
	for _, f := range p.all("form") {
		isLogin := attribute(f, "action") == "/console/login"
		if attribute(f, "method") == "post" && !isLogin && (&Form{page: p, node: f}).value("csrf") == "" {
			t.Errorf("%s: the form to %s has no token", p.Path, attribute(f, "action"))
		}
	}
}

// Want checks that the page has the status and contains the texts. It returns the page.
func (p *Page) Want(status int, texts ...string) *Page {
	p.browser.t.Helper()
	if p.Status != status {
		p.browser.t.Errorf("%s: %d, want %d: %.2000s", p.Path, p.Status, status, p.Body)
	}
	for _, text := range texts {
		if !strings.Contains(p.Text(), text) {
			p.browser.t.Errorf("%s has no %q: %.2000s", p.Path, text, p.Text())
		}
	}
	return p
}

// WantNone checks that the page contains none of the texts.
func (p *Page) WantNone(texts ...string) *Page {
	p.browser.t.Helper()
	for _, text := range texts {
		if strings.Contains(p.Text(), text) {
			p.browser.t.Errorf("%s has %q: %.2000s", p.Path, text, p.Text())
		}
	}
	return p
}

// Text returns the text of the page's main element, with single spaces. If the response is not a page, it returns the body.
func (p *Page) Text() string {
	if p.root == nil {
		return p.Body
	}
	for _, n := range p.all("main") {
		return textOf(n)
	}
	return ""
}

// Title returns the page's h1.
func (p *Page) Title() string {
	for _, n := range p.all("h1") {
		return textOf(n)
	}
	return ""
}

// Lang returns the page's language and direction.
func (p *Page) Lang() (lang, dir string) {
	for _, n := range p.all("html") {
		return attribute(n, "lang"), attribute(n, "dir")
	}
	return "", ""
}

// Links returns the addresses to which the page links, in the order of the links.
func (p *Page) Links() (addresses []string) {
	for _, n := range p.all("a") {
		addresses = append(addresses, attribute(n, "href"))
	}
	return addresses
}

// Link returns the address of the page's first link with the given text. If there is none, the address is empty.
func (p *Page) Link(text string) string {
	for _, n := range p.all("a") {
		if textOf(n) == text {
			return attribute(n, "href")
		}
	}
	return ""
}

// Problem returns the error message that the page shows for a field of a form. If the page shows none, the result is empty.
func (p *Page) Problem(field string) string {
	id := "f-" + strings.ReplaceAll(field, ".", "-") + "-problem"
	for _, n := range p.all("p") {
		if attribute(n, "id") == id {
			return textOf(n)
		}
	}
	return ""
}

// Rows returns the body rows of all tables on the page. Each row is the texts of its cells.
func (p *Page) Rows() (rows [][]string) {
	for _, body := range p.all("tbody") {
		for _, tr := range find(body, "tr") {
			var cells []string
			for n := range tr.ChildNodes() {
				if n.Type == html.ElementNode && (n.Data == "td" || n.Data == "th") {
					cells = append(cells, textOf(n))
				}
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

// Form returns the page's first form with the given action. The argument need not contain the query of the action.
func (p *Page) Form(action string) *Form {
	p.browser.t.Helper()
	for _, n := range p.all("form") {
		if found, _, _ := strings.Cut(attribute(n, "action"), "?"); found == action || attribute(n, "action") == action {
			return newForm(p, n)
		}
	}
	p.browser.t.Fatalf("%s has no form to %s: %.2000s", p.Path, action, p.Body)
	return nil
}

// Button returns the value of the page's first button with the given name.
func (p *Page) Button(name string) string {
	p.browser.t.Helper()
	for _, n := range p.all("button") {
		if attribute(n, "name") == name {
			return attribute(n, "value")
		}
	}
	p.browser.t.Fatalf("%s has no button %s", p.Path, name)
	return ""
}

// HasForm tells whether the page contains a form with the given action, without its query.
func (p *Page) HasForm(action string) bool {
	return slices.ContainsFunc(p.all("form"), func(n *html.Node) bool {
		found, _, _ := strings.Cut(attribute(n, "action"), "?")
		return found == action
	})
}

func (p *Page) all(name string) []*html.Node {
	if p.root == nil {
		return nil
	}
	return find(p.root, name)
}

// Form is a form on a page, and the values of its fields.
type Form struct {
	page   *Page
	node   *html.Node
	values url.Values
}

// newForm returns the form with the values that a browser would send.
func newForm(p *Page, node *html.Node) *Form {
	f := &Form{page: p, node: node, values: make(url.Values)}
	for _, n := range find(node, "input") {
		name, kind := attribute(n, "name"), attribute(n, "type")
		switch {
		case name == "", kind == "submit", kind == "file":
		case kind == "checkbox" || kind == "radio":
			if has(n, "checked") {
				value := "on"
				if has(n, "value") {
					value = attribute(n, "value")
				}
				f.values.Add(name, value)
			}
		default:
			f.values.Add(name, attribute(n, "value"))
		}
	}
	for _, n := range find(node, "textarea") {
		f.values.Add(attribute(n, "name"), strings.TrimPrefix(rawTextOf(n), "\n"))
	}
	for _, n := range find(node, "select") {
		for i, option := range find(n, "option") {
			value := textOf(option)
			if has(option, "value") {
				value = attribute(option, "value")
			}
			if has(option, "selected") || i == 0 && !has(n, "multiple") {
				if !has(n, "multiple") {
					f.values.Del(attribute(n, "name"))
				}
				f.values.Add(attribute(n, "name"), value)
			}
		}
	}
	return f
}

func (f *Form) value(name string) string {
	if f.values == nil {
		*f = *newForm(f.page, f.node)
	}
	return f.values.Get(name)
}

// Value returns the value of a field.
func (f *Form) Value(name string) string { return f.value(name) }

// Set fills in a field. If the form has no such field, the test fails. A field for a list may get several values.
func (f *Form) Set(name string, values ...string) *Form {
	f.page.browser.t.Helper()
	if !f.hasField(name) {
		f.page.browser.t.Fatalf("%s: the form has no field %s", f.page.Path, name)
	}
	f.values[name] = values
	return f
}

func (f *Form) hasField(name string) bool {
	for _, kind := range []string{"input", "select", "textarea"} {
		if slices.ContainsFunc(find(f.node, kind), func(n *html.Node) bool { return attribute(n, "name") == name }) {
			return true
		}
	}
	return false
}

// Force sets the value of a field even if the form has no such field, like an attacker.
func (f *Form) Force(name, value string) *Form {
	f.values.Set(name, value)
	return f
}

// Submit presses a button and follows redirects. The argument is the button's name, or "name=value" if several buttons have the
// same name. For a button without a name, it is empty.
func (f *Form) Submit(button string) *Page {
	f.page.browser.t.Helper()
	if name, value, hasValue := strings.Cut(button, "="); name != "" {
		pressed := false
		for _, n := range find(f.node, "button") {
			if attribute(n, "name") == name && (!hasValue || attribute(n, "value") == value) {
				f.values.Set(name, attribute(n, "value"))
				pressed = true
				break
			}
		}
		if !pressed {
			f.page.browser.t.Fatalf("%s: the form has no button %s", f.page.Path, button)
		}
	}
	b := f.page.browser
	action, isPosted := f.Action()
	if isPosted {
		return b.Post(action, f.values)
	}
	path, _, _ := strings.Cut(action, "?")
	return b.Get(path + "?" + f.values.Encode())
}

// SubmitFile sends the form with a file in one of its fields, and follows redirects.
func (f *Form) SubmitFile(field string, content []byte) *Page {
	b := f.page.browser
	b.t.Helper()
	f.value("csrf")
	if !f.hasField(field) || attribute(f.node, "enctype") != "multipart/form-data" {
		b.t.Fatalf("%s: the form takes no file %s", f.page.Path, field)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, values := range f.values {
		for _, value := range values {
			if err := w.WriteField(name, value); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	part, err := w.CreateFormFile(field, "picture")
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return b.follow(b.send(http.MethodPost, attribute(f.node, "action"), w.FormDataContentType(), &body))
}

func find(n *html.Node, name string) (found []*html.Node) {
	for child := range n.Descendants() {
		if child.Type == html.ElementNode && child.Data == name {
			found = append(found, child)
		}
	}
	return found
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func rawTextOf(n *html.Node) string {
	var text strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			text.WriteString(child.Data)
		}
	}
	return text.String()
}

// textOf returns the text of an element, with a single space between words and between inner elements.
func textOf(n *html.Node) string {
	var text strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			text.WriteString(child.Data + " ")
		}
	}
	return strings.Join(strings.Fields(text.String()), " ")
}
