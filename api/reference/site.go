package reference

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"slices"
	"strings"

	"mizan/api/description"
	"mizan/internal/assert"
)

//go:embed templates
var templateFiles embed.FS

// style is the only inline style of the pages.
var style = strings.TrimSpace(readTemplate("style.css"))

// pagePolicy is the Content-Security-Policy of the pages.
var pagePolicy = "default-src 'none'; base-uri 'none'; style-src " + hashOf(style) + "; form-action 'self'; frame-ancestors 'none'"

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

const htmlType = "text/html; charset=utf-8"

func readTemplate(name string) string {
	content, err := templateFiles.ReadFile("templates/" + name)
	assert.NoError(err)
	return string(content)
}

// site contains all files and the index for the search.
type site struct {
	document  *description.Document
	cfg       Config
	templates map[string]*template.Template
	groups    []groupView
	files     map[string]*file
	notFound  *file
	found     []foundView // all operations, webhooks and error codes, for the search
}

// newSite makes all files.
func newSite(document *description.Document, cfg Config) *site {
	s := &site{document: document, cfg: cfg, files: make(map[string]*file), templates: make(map[string]*template.Template)}
	layout := template.Must(template.New("layout.html").Funcs(template.FuncMap{"markdown": markdown, "line": markdownLine}).Parse(readTemplate("layout.html")))
	for _, name := range []string{"start", "index", "tag", "errors", "search", "missing"} {
		s.templates[name] = template.Must(template.Must(layout.Clone()).Parse(readTemplate(name + ".html")))
	}
	s.groups = s.groupsOf()
	tree := document.Object()
	s.files["/openapi.json"] = newFile(description.AppendJSON(nil, tree), "application/json", "")
	s.files["/openapi.yaml"] = newFile(description.AppendYAML(nil, tree), "application/yaml", "")
	s.add("/", "start", startView{pageView{Title: "Mizan", Style: template.CSS(style)}, cfg.Version, cfg.Env, cfg.Env == "sandbox"})
	s.add(docsPath, "index", indexView{s.pageView("Reference", ""), document.Text, s.groups})
	s.add(docsPath+"/"+errorsPage, "errors", errorsView{s.pageView("Errors", errorsPage), document.ErrorText, refusalRows(), document.Failures,
		s.objects(description.RefusalComponents)})
	for _, tag := range document.Tags {
		v := s.tagView(tag)
		s.add(docsPath+"/"+tag.Slug(), "tag", v)
		s.collect(&v)
	}
	s.collectErrors()
	s.notFound = newFile(s.render("missing", s.pageView("Not found", "")), htmlType, pagePolicy)
	return s
}

func (s *site) add(path, name string, view any) {
	s.files[path] = newFile(s.render(name, view), htmlType, pagePolicy)
}

func (s *site) render(name string, view any) []byte {
	var out bytes.Buffer
	assert.NoError(s.templates[name].Execute(&out, view))
	return out.Bytes()
}

// groupView is a group of tags (chapters of the description) in the navigation at the left of a page.
type groupView struct {
	Name string
	Tags []linkView
}

// linkView is a link to a page or an operation.
type linkView struct {
	Title, Address, Text string
	Links                []linkView
}

// groupsOf returns the groups for the navigation: links to all tags that have operations, and below each tag links to its
// operations.
func (s *site) groupsOf() (groups []groupView) {
	for _, tag := range s.document.Tags {
		link := linkView{Title: tag.Name, Address: docsPath + "/" + tag.Slug()}
		for i := range s.document.DescribedOperations {
			if o := &s.document.DescribedOperations[i]; o.Tag == tag.Name {
				link.Links = append(link.Links, linkView{Title: o.Summary, Address: link.Address + "#" + o.ID, Text: o.Method + " " + o.Path})
			}
		}
		for i := range s.document.Webhooks {
			if h := &s.document.Webhooks[i]; h.Tag == tag.Name {
				link.Links = append(link.Links, linkView{Title: h.Name, Address: link.Address + "#" + h.Name, Text: h.Summary})
			}
		}
		if len(link.Links) == 0 {
			continue
		}
		at := slices.IndexFunc(groups, func(g groupView) bool { return g.Name == tag.Group })
		if at < 0 {
			groups, at = append(groups, groupView{Name: tag.Group}), len(groups)
		}
		groups[at].Tags = append(groups[at].Tags, link)
	}
	return groups
}

// pageView has the data for the layout that all pages share.
type pageView struct {
	Title, Slug string
	Style       template.CSS
	Groups      []groupView
	Query       string
}

func (s *site) pageView(title, slug string) pageView {
	return pageView{Title: title, Slug: slug, Style: template.CSS(style), Groups: s.groups}
}

// IsCurrent tells whether an address is the address of this page.
func (v pageView) IsCurrent(address string) bool { return address == docsPath+"/"+v.Slug }

type startView struct {
	pageView
	Version, Env string
	IsSandbox    bool
}

type indexView struct {
	pageView
	Text   string
	Listed []groupView
}

type searchView struct {
	pageView
	Query string
	Found []foundView
}

// foundView is an operation, a webhook or an error code that a search can find.
type foundView struct {
	linkView
	Tag     string
	Method  string
	Path    string
	words   string // all texts in lower case
	summary string // name, summary and path in lower case; matches in these come first
}

// collect adds a page's operations and webhooks to the index of the search.
func (s *site) collect(v *tagView) {
	address := docsPath + "/" + v.Slug + "#"
	for i := range v.Webhooks {
		h := &v.Webhooks[i]
		s.found = append(s.found, newFoundText(linkView{Title: h.Name, Address: address + h.Name, Text: h.Summary}, v.Title, h.Text))
	}
	for i := range v.Operations {
		o := &v.Operations[i]
		var words strings.Builder
		words.WriteString(strings.Join([]string{o.ID, o.Summary, o.Method, o.Path, o.Text, v.Title}, " "))
		for _, p := range o.Parameters {
			words.WriteString(" " + p.Name + " " + p.Text)
		}
		words.WriteString(" " + strings.Join(o.bodyWords, " ") + " " + strings.Join(o.responseWords, " "))
		s.found = append(s.found, foundView{
			linkView: linkView{Title: o.Summary, Address: address + o.ID}, Tag: v.Title, Method: o.Method, Path: o.Path,
			words: strings.ToLower(words.String()), summary: strings.ToLower(o.ID + " " + o.Summary + " " + o.Path),
		})
	}
}

// collectErrors adds the codes of refusals and of failures to the index of the search.
func (s *site) collectErrors() {
	address := docsPath + "/" + errorsPage + "#"
	for _, row := range refusalRows() {
		s.found = append(s.found, newFoundText(linkView{Title: row.Name, Address: address + "refusals", Text: row.When}, "Errors", row.Remedy))
	}
	for _, f := range s.document.Failures {
		s.found = append(s.found, newFoundText(linkView{Title: f.Code, Address: address + f.Code, Text: f.Meaning}, "Errors", f.Remedy))
	}
}

// newFoundText returns an entry of the index. A search finds the entry by the link's title and text, and by the text in more.
func newFoundText(link linkView, tag, more string) foundView {
	summary := strings.ToLower(link.Title + " " + link.Text)
	return foundView{linkView: link, Tag: tag, summary: summary, words: summary + " " + strings.ToLower(more)}
}

// find returns the entries of the index that contain all words of the query. Entries that contain all words in the name,
// summary or path come first.
func (s *site) find(query string) (found []foundView) {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil
	}
	hasAll := func(text string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	}
	for _, f := range s.found {
		if hasAll(f.summary) {
			found = append(found, f)
		}
	}
	for _, f := range s.found {
		if hasAll(f.words) && !hasAll(f.summary) {
			found = append(found, f)
		}
	}
	return found
}
