package view

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"sync"

	"mizan/internal/assert"
)

//go:embed templates
var sharedFiles embed.FS

// layout has the templates that all pages share: the layout of a page, and parts of pages.
var layout = template.Must(template.New("layout.html").Funcs(template.FuncMap{"dict": dict}).ParseFS(sharedFiles, "templates/layout.html", "templates/parts.html"))

// dict makes a map from arguments that are alternately names and values. Templates use dict to pass several values to another
// template.
func dict(namesAndValues ...any) map[string]any {
	m := make(map[string]any, len(namesAndValues)/2)
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		m[namesAndValues[i].(string)] = namesAndValues[i+1]
	}
	return m
}

// Templates are the templates of an area's pages. Each page is one file. It defines the block "main", and may define other
// blocks of the layout.
type Templates struct {
	byName map[string]*template.Template
	texts  func(lang string) any
}

// NewTemplates parses the files templates/*.html of an area. Files whose names begin with an underscore are not pages: they
// define blocks for all pages of the area. texts returns the area's own texts in a language, and is nil if the area has none.
// NewTemplates panics if a template is faulty.
func NewTemplates(files fs.FS, texts func(lang string) any) *Templates {
	t := &Templates{byName: make(map[string]*template.Template), texts: texts}
	names, err := fs.Glob(files, "templates/*.html")
	assert.NoError(err)
	base := template.Must(layout.Clone())
	var pages []string
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			template.Must(base.ParseFS(files, name))
		} else {
			pages = append(pages, name)
		}
	}
	for _, name := range pages {
		page := template.Must(template.Must(base.Clone()).ParseFS(files, name))
		t.byName[strings.TrimSuffix(path.Base(name), ".html")] = page
	}
	return t
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxKept is the capacity in bytes up to which a buffer is kept for rendering other pages.
const maxKept = 1 << 20

// Render renders the page with the given name, and calls send with the result. The bytes are valid only until send returns. If
// part is not empty, Render renders only the block of that name.
func (t *Templates) Render(name, part string, f *Frame, send func([]byte)) error {
	page := t.byName[name]
	assert.That(page != nil, "view: there is no template %s", name)
	if t.texts != nil {
		f.A = t.texts(f.T.Lang)
	}
	out := buffers.Get().(*bytes.Buffer)
	defer func() {
		if out.Cap() <= maxKept {
			clear(out.Bytes())
			out.Reset()
			buffers.Put(out)
		}
	}()
	if part == "" {
		part = "layout.html"
	}
	if err := page.ExecuteTemplate(out, part, f); err != nil {
		return err
	}
	send(out.Bytes())
	return nil
}

// Part renders one block of a page as HTML, which a page of another area can contain.
func Part(t *Templates, name, part string, f *Frame) (html template.HTML, err error) {
	err = t.Render(name, part, f, func(written []byte) { html = template.HTML(written) })
	return html, err
}

// Notice is the template of a page that shows nothing but an explanation, such as an error. Frame.Page is the text of the
// explanation.
var Notice = NewTemplates(noticeFile, nil)

//go:embed templates/notice.html
var noticeFile embed.FS

// NoticeName is the name of the page in Notice. NoticePart is the name of the block that shows the same explanation in place of
// a part of a page.
const (
	NoticeName = "notice"
	NoticePart = "part"
)
