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

// layout has the frame of every page and the parts that pages share.
var layout = template.Must(template.New("layout.html").Funcs(template.FuncMap{"dict": dict}).ParseFS(sharedFiles, "templates/layout.html", "templates/parts.html"))

// dict makes a map of alternating names and values. Templates use it to pass several values to another template.
func dict(namesAndValues ...any) map[string]any {
	m := make(map[string]any, len(namesAndValues)/2)
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		m[namesAndValues[i].(string)] = namesAndValues[i+1]
	}
	return m
}

// Templates are the templates of an area's pages. Each page is one file, which defines the block "main" and may define other
// blocks of the layout.
type Templates struct {
	byName map[string]*template.Template
	texts  func(lang string) any
}

// NewTemplates parses the files templates/*.html of an area. Files whose names begin with an underscore are not pages: they
// define blocks for all pages of the area. texts returns the area's own texts in a language; nil: the area has none. NewTemplates
// panics if a template is faulty.
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

// maxKept is the greatest capacity, in bytes, of a buffer that is reused for another page.
const maxKept = 1 << 20

// Render renders the page with the name, and calls send with the result. The bytes are valid until send returns. part is the
// name of the block to render; empty: the whole page.
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

// Part renders a block of a page as HTML, for use in a page of another area.
func Part(t *Templates, name, part string, f *Frame) (html template.HTML, err error) {
	err = t.Render(name, part, f, func(written []byte) { html = template.HTML(written) })
	return html, err
}

// Notice is the template of a page that only explains why there is nothing else to show. The page's data (Frame.Page) is a text.
var Notice = NewTemplates(noticeFile, nil)

//go:embed templates/notice.html
var noticeFile embed.FS

// NoticeName is the name of the page in Notice.
const NoticeName = "notice"
