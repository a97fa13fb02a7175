package resource

import (
	"html/template"
	"maps"
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
)

// recordPage is the data for the template of a record's page.
type recordPage struct {
	ID       string
	Actions  []link
	Danger   []link
	Pairs    []pair
	Sections []section
}

// section is a part of a page, with a heading.
type section struct {
	Title string
	HTML  template.HTML
	Table *table
	More  []link
}

// fetch reads a record.
func (k *kind) fetch(v *visit.Visit, id string) (record map[string]any, err error) {
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: apiPath(k.Record.Read, id)})
	if refused := answer.Refusal(); refused != nil {
		if refused.Status == fiber.StatusUnprocessableEntity { // the id is malformed
			refused.Status = fiber.StatusNotFound
		}
		return nil, refused
	}
	return dataOf(answer.Body), nil
}

// dataOf returns the record that a response contains.
func dataOf(body []byte) map[string]any {
	object := form.ReadObject(body)
	if data, ok := object["data"].(map[string]any); ok {
		return data
	}
	return object
}

// show shows the page of one record.
func (k *kind) show(v *visit.Visit) error {
	id := v.Parameter("id")
	record, err := k.fetch(v, id)
	if err != nil {
		return err
	}
	t := labelsOf(v)
	page := recordPage{ID: id, Actions: k.recordLinks(v, id)}
	if k.Delete != nil && k.area.mayCall(v, k.Delete) && isInForce(record) {
		page.Danger = []link{{t.Form.Deactivate, k.path(escapePath(id), "delete")}}
	}
	s := &valueWriter{t: t, area: k.area, context: k.Name}
	page.add(s.pairs(k.Shown(), k.Name, record, nil), k.Shown(), record)
	if k.Section != nil {
		html, err := k.Section(v, id, record)
		if err != nil {
			return err
		}
		page.Sections = append(page.Sections, section{HTML: html})
	}
	page.Sections = append(page.Sections, k.parts(v, id)...)
	page.Sections = append(page.Sections, k.related(v, id)...)
	return v.Show(templates, "record", visit.PageContent{Title: k.title(labelsOf(v), record), Crumbs: k.crumbs(v), Page: page})
}

// add adds the fields of a record to the page. Objects and lists of objects become sections.
func (p *recordPage) add(pairs []pair, fields []apispec.Field, record map[string]any) {
	for _, one := range pairs {
		if isWide(fields, record, one.Name) {
			p.Sections = append(p.Sections, section{Title: one.Label, HTML: one.HTML})
		} else {
			p.Pairs = append(p.Pairs, one)
		}
	}
}

// isInForce tells whether a record can still be deactivated. A record can't if one of its fields says that it is inactive or
// revoked.
func isInForce(record map[string]any) bool {
	return record["active"] != false && record["is_active"] != false && record["revoked_at"] == nil
}

// isWide tells whether a value is an object or a list of objects, and so needs a section of its own.
func isWide(fields []apispec.Field, record map[string]any, name string) bool {
	f := apispec.Named(fields, name)
	if f == nil {
		return false
	}
	isComposed := f.Kind == apispec.Object || f.Kind == apispec.List && f.Entry != nil && f.Entry.Kind == apispec.Object
	switch value := record[name].(type) {
	case map[string]any:
		return isComposed && len(value) > 0
	case []any:
		return isComposed && len(value) > 0
	}
	return false
}

// recordLinks returns the links to the forms that change a record or act on it.
func (k *kind) recordLinks(v *visit.Visit, id string) (links []link) {
	t := labelsOf(v)
	if k.Patch != nil && k.area.mayCall(v, k.Patch) {
		links = append(links, link{t.Common.Edit, k.path(escapePath(id), "edit")})
	}
	for _, o := range k.Actions {
		if k.area.mayCall(v, o) {
			links = append(links, link{t.Action(o.ID), k.path(escapePath(id), actionName(o))})
		}
	}
	return links
}

// partRows is the number of rows that the page of a record shows of each list.
const partRows = "5"

// parts returns the sections with the parts of a record. For each operation whose path continues the record's path, a section
// shows the response: the first rows of a list, or other data.
func (k *kind) parts(v *visit.Visit, id string) (sections []section) {
	t := labelsOf(v)
	for _, o := range k.Parts {
		if !k.area.mayCall(v, o) || k.area.showsPart(k, o) || slices.Contains(k.SkipParts, o.ID) {
			continue
		}
		query := url.Values{}
		if o.HasCursor {
			query.Set("limit", partRows)
		}
		answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: apiPath(o, id), Query: query})
		if answer.Status == fiber.StatusUnprocessableEntity { // the operation needs parameters
			continue
		}
		one := section{Title: t.Action(o.ID)}
		switch {
		case !answer.IsOK():
			one.HTML = `<p class="muted">` + escape(t.List.NotShown) + `</p>`
		case o.IsList:
			rows, _, _ := readRows(answer)
			if len(rows) == 0 {
				continue
			}
			one.HTML = (&valueWriter{t: t, area: k.area, context: k.Name}).rows(o.ResponseFields, "", anyOf(rows), nil)
		default:
			one.HTML = (&valueWriter{t: t, area: k.area, context: k.Name}).object(&apispec.Field{Fields: o.ResponseFields}, k.Name, dataOf(answer.Body), nil)
		}
		sections = append(sections, one)
	}
	return sections
}

// showsPart tells whether the operation lists records of another kind of the area. Such a list is not a part, because the
// method related shows it on the record's page.
func (p *Pages) showsPart(k *kind, o *apispec.Operation) bool {
	return slices.ContainsFunc(p.kinds, func(other *kind) bool { return other != k && other.Record.List == o })
}

func anyOf(rows []map[string]any) (list []any) {
	for _, row := range rows {
		list = append(list, row)
	}
	return list
}

// related returns sections for the area's lists that can be filtered by this record. A section shows the first rows of one
// list.
func (k *kind) related(v *visit.Visit, id string) (sections []section) {
	t := labelsOf(v)
	for _, other := range k.area.kinds {
		if other == k || apispec.Named(other.filters(v), k.idName()) == nil || !k.area.mayCall(v, other.Record.List) {
			continue
		}
		query := url.Values{k.idName(): {id}}
		one := section{Title: t.Record(other.Name), More: []link{{t.Fill(t.List.All, "records", t.Record(other.Name)), other.path() + "?" + query.Encode()}}}
		if o := other.creation(); o != nil && k.area.mayCall(v, o) && apispec.Named(o.Body, k.idName()) != nil {
			one.More = append(one.More, link{t.Fill(t.List.New, "record", t.Single(other.Name)), other.path("new") + "?" + query.Encode()})
		}
		limited := maps.Clone(query)
		limited.Set("limit", partRows)
		rows, problems, err := other.read(v, limited, &listPage{})
		switch {
		case err != nil || !problems.None():
			one.HTML = `<p class="muted">` + escape(t.List.NotShown) + `</p>`
		case len(rows) == 0:
			one.HTML = `<p class="muted">` + escape(t.Common.Nothing) + `</p>`
		default:
			one.Table, err = other.table(v, t.Record(other.Name), rows, k.idName())
		}
		if err != nil {
			one.HTML = `<p class="muted">` + escape(t.List.NotShown) + `</p>`
		}
		sections = append(sections, one)
	}
	return sections
}

// recordCrumb returns the links to the pages above the form of a record. The last link leads to the record's page.
func (k *kind) recordCrumb(v *visit.Visit, id string, record map[string]any) []view.Crumb {
	return k.crumbs(v, view.Crumb{Title: k.title(labelsOf(v), record), Path: k.path(escapePath(id))})
}
