package resource

import (
	"encoding/json"
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

// listPage is the data for the list template.
type listPage struct {
	Above    template.HTML
	Filters  template.HTML
	Problems template.HTML
	Table    *table
	Empty    string // why there are no rows; empty if there are rows, or if no list was requested
	Next     string
	First    string
	Links    []link
}

// link is a hyperlink: its text and its path.
type link struct{ Text, Path string }

// table is a table in which each row shows one record or object.
type table struct {
	Caption string
	Heads   []head
	Rows    [][]cell
}

type head struct {
	Text     string
	IsNumber bool
}

type cell struct {
	HTML     template.HTML
	IsNumber bool
}

// list shows the list of records.
func (k *kind) list(v *visit.Visit) error {
	t, query := labelsOf(v), v.Params()
	page := listPage{}
	status := 0
	if k.Above != nil {
		above, err := k.Above(v)
		if err != nil {
			return err
		}
		page.Above = above
	}
	rows, problems, err := k.read(v, query, &page)
	switch {
	case err != nil:
		return err
	case !problems.None():
		status = fiber.StatusUnprocessableEntity
	case len(rows) == 0 && (k.Parent == "" || query.Get(k.Parent) != ""):
		page.Empty = t.Common.Nothing
	}
	filters := form.NewFilters(t, k.Name, k.path(), k.filters(v), query, problems)
	if filters.IsFiltered && page.Empty != "" {
		page.Empty = t.List.NoneFor
	}
	page.Filters, page.Problems = filters.HTML(), filters.Problems()
	if len(rows) > 0 {
		if page.Table, err = k.table(v, t.Record(k.Name), rows); err != nil {
			return err
		}
	}
	page.Links = k.listLinks(v)
	return v.Show(templates, "list", visit.PageContent{Status: status, Title: t.Record(k.Name), Page: page})
}

// read reads one page of the list from the API. It also sets the addresses of the list's next page and first page.
func (k *kind) read(v *visit.Visit, query url.Values, page *listPage) (rows []map[string]any, problems *form.Problems, err error) {
	requestedQuery, problems := form.FilterQuery(labelsOf(v), k.filters(v), query)
	for name, values := range k.FixedFilters {
		requestedQuery[name] = values
	}
	path := k.Record.List.Path
	if k.Parent != "" {
		parent := requestedQuery.Get(k.Parent)
		if requestedQuery.Del(k.Parent); parent == "" {
			return nil, problems, nil
		}
		path = apiPath(k.Record.List, parent)
	}
	if !problems.None() {
		return nil, problems, nil
	}
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: path, Query: requestedQuery})
	if answer.Status == fiber.StatusUnprocessableEntity {
		return nil, form.RefusedBy(answer.Refusal()), nil
	}
	rows, next, err := readRows(answer)
	if err != nil {
		return nil, nil, err
	}
	page.Next, page.First = k.pagePath(query, next), k.firstPath(query)
	return rows, nil, nil
}

// pagePath returns the address of the page that begins at the cursor. The address is empty if the cursor is empty.
func (k *kind) pagePath(query url.Values, cursor string) string {
	if cursor == "" {
		return ""
	}
	next := maps.Clone(query)
	next.Set("cursor", cursor)
	return k.path() + "?" + next.Encode()
}

// firstPath returns the address of the list's first page, or an empty text if this page is the first.
func (k *kind) firstPath(query url.Values) string {
	if query.Get("cursor") == "" {
		return ""
	}
	first := maps.Clone(query)
	first.Del("cursor")
	if len(first) == 0 {
		return k.path()
	}
	return k.path() + "?" + first.Encode()
}

// readRows reads the rows of a list, and the cursor of the next page.
func readRows(answer *web.InternalResponse) (rows []map[string]any, next string, err error) {
	var list struct {
		Data   []json.RawMessage `json:"data"`
		Cursor struct {
			Value *string `json:"cursor_value"`
		} `json:"cursor"`
	}
	if err := answer.Decode(&list); err != nil {
		return nil, "", err
	}
	for _, raw := range list.Data {
		if row := form.ReadObject(raw); row != nil {
			rows = append(rows, row)
		}
	}
	if list.Cursor.Value != nil {
		next = *list.Cursor.Value
	}
	return rows, next, nil
}

// table returns a table of the given rows. It leaves out the columns whose names are in without.
func (k *kind) table(v *visit.Visit, caption string, rows []map[string]any, without ...string) (*table, error) {
	t := labelsOf(v)
	tab := &table{Caption: caption}
	columns := form.Without(k.columns, without...)
	for _, f := range columns {
		tab.Heads = append(tab.Heads, head{t.Field(k.Name + "." + f.Name), isNumber(&f)})
	}
	s := &valueWriter{t: t, area: k.area, context: k.Name}
	for _, row := range rows {
		cells := make([]cell, len(columns))
		for i := range columns {
			f := &columns[i]
			cells[i] = cell{s.cell(f, row[f.Name], row, k), isNumber(f)}
		}
		tab.Rows = append(tab.Rows, cells)
	}
	at := len(form.Of(columns, k.Columns...)) // Extra columns follow the columns of Kind.Columns
	for _, extra := range k.Extra {
		tab.Heads = slices.Insert(tab.Heads, at, head{extra.Label(t), extra.IsNumber})
		cells, err := extra.Cells(v, rows)
		if err != nil {
			return nil, err
		}
		for i := range tab.Rows {
			tab.Rows[i] = slices.Insert(tab.Rows[i], at, cell{cells[i], extra.IsNumber})
		}
	}
	return tab, nil
}

// isNumber tells whether the values of a column are aligned like numbers, to the end of the column.
func isNumber(f *apispec.Field) bool {
	return f.Kind == apispec.Amount || f.Kind == apispec.Decimal
}

// listLinks returns the links above a list: to the form of a new record, and to the forms of actions on several records.
func (k *kind) listLinks(v *visit.Visit) (links []link) {
	t := labelsOf(v)
	if o := k.creation(); o != nil && k.area.mayCall(v, o) {
		links = append(links, link{t.Fill(t.List.New, "record", t.Single(k.Name)), k.path("new")})
	}
	for _, o := range k.BulkActions {
		if k.area.mayCall(v, o) {
			links = append(links, link{t.Action(o.ID), k.path(actionName(o))})
		}
	}
	return links
}

// crumbs returns the links to the pages above a page of a record.
func (k *kind) crumbs(v *visit.Visit, more ...view.Crumb) []view.Crumb {
	return append([]view.Crumb{{Title: labelsOf(v).Record(k.Name), Path: k.path()}}, more...)
}
