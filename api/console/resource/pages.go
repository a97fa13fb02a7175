package resource

import (
	"embed"
	"encoding/json"
	"net/url"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/labels"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger"
)

//go:embed all:templates
var files embed.FS

var templates = view.NewTemplates(files, func(lang string) any { return labels.In(lang) })

// Pages has the pages of an area.
type Pages struct {
	Area
	kinds  []*kind
	routes func() map[string]*web.Route // returns the API's routes, by method and pattern
}

// New returns the pages of an area.
func New(area Area) *Pages {
	p := &Pages{Area: area}
	for _, config := range area.Kinds {
		p.kinds = append(p.kinds, newKind(p, config))
	}
	p.routes = sync.OnceValue(func() map[string]*web.Route {
		routes := make(map[string]*web.Route)
		for _, r := range area.Routes() {
			routes[r.Method+" "+r.Path] = &r
		}
		return routes
	})
	return p
}

// Pages returns the pages in the form that visit.Console serves.
func (p *Pages) Pages() (pages []visit.Page) {
	for _, k := range p.kinds {
		pages = append(pages, k.pages()...)
	}
	for _, f := range p.Figures {
		o := p.Catalog.Operation(f.Operation)
		pages = append(pages, visit.Page{Method: fiber.MethodGet, Path: p.Root + f.Name, Roles: p.Roles, Handle: asOperator(f.ByOperator, func(v *visit.Visit) error { return p.showFigures(v, f.Name, o) })})
	}
	return pages
}

// showFigures shows a page with the response of an operation.
func (p *Pages) showFigures(v *visit.Visit, name string, o *apispec.Operation) error {
	var answer struct {
		Data json.RawMessage `json:"data"`
	}
	if err := v.Get(o.Path, nil, &answer); err != nil {
		return err
	}
	t := labelsOf(v)
	page := recordPage{}
	page.add((&valueWriter{t: t, area: p, context: name}).pairs(o.ResponseFields, name, form.ReadObject(answer.Data), nil), o.ResponseFields, form.ReadObject(answer.Data))
	return v.Show(templates, "record", visit.PageContent{Title: t.Record(name), Page: page})
}

func (k *kind) pages() (pages []visit.Page) {
	add := func(method, path string, handle func(*visit.Visit) error) {
		pages = append(pages, visit.Page{Method: method, Path: path, Roles: k.area.Roles, Handle: asOperator(k.ByOperator, handle)})
	}
	get := func(path string, handle func(*visit.Visit) error) { add(fiber.MethodGet, path, handle) }
	both := func(path string, handle func(*visit.Visit) error) {
		get(path, handle)
		add(fiber.MethodPost, path, handle)
	}
	get(k.path(), k.list)
	if k.creation() != nil {
		both(k.path("new"), k.create)
	}
	for _, o := range k.BulkActions {
		both(k.path(actionName(o)), func(v *visit.Visit) error { return k.act(v, o, "") })
	}
	if k.Record.Read != nil {
		get(k.path(":id"), k.show)
	}
	if k.Patch != nil {
		both(k.path(":id", "edit"), k.edit)
	}
	if k.Delete != nil {
		both(k.path(":id", "delete"), k.remove)
	}
	for _, o := range k.Actions {
		both(k.path(":id", actionName(o)), func(v *visit.Visit) error { return k.act(v, o, v.Parameter("id")) })
	}
	return pages
}

// asOperator returns a handler that uses the administration token if the person has entered it during the session. If the
// person has not, and the page needs the token, the handler asks for it. A page that does not need the token is shown without
// the token.
func asOperator(needsToken bool, handle func(*visit.Visit) error) func(*visit.Visit) error {
	return func(v *visit.Visit) error {
		if operator, ok := v.AsOperator(ledger.ID{}); ok {
			return handle(operator)
		}
		if needsToken {
			return v.AskForToken()
		}
		return handle(v)
	}
}

// creation returns the operation that creates a record. It may be a PUT, which also replaces a record. If the API has no such
// operation, creation returns nil.
func (k *kind) creation() *apispec.Operation {
	if k.Create != nil && k.Parent == "" {
		return k.Create
	}
	return k.Put
}

// may tells whether the person may call an operation (ok). maySend tells which members of the request's body the person may
// send.
func (p *Pages) may(v *visit.Visit, o *apispec.Operation) (maySend func(member string) bool, ok bool) {
	route := p.routes()[o.Method+" "+o.RouteOf()]
	if route == nil {
		return nil, false
	}
	return v.May(route)
}

// mayCall tells whether the person may call an operation.
func (p *Pages) mayCall(v *visit.Visit, o *apispec.Operation) bool {
	_, ok := p.may(v, o)
	return ok
}

// labelsOf returns the labels in the language of the visited page.
func labelsOf(v *visit.Visit) *labels.Texts { return labels.In(v.T.Lang) }

// escapePath escapes an id for a path of the API. If an id would change the path, such as "..", escapePath returns an id that
// no record has.
func escapePath(id string) string {
	if id == "" || strings.Trim(id, ".") == "" {
		return "-"
	}
	return url.PathEscape(id)
}
