package contracts

import (
	"errors"
	"html/template"
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/resource"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger/schema"
)

// listPage is the data for the list template.
type listPage struct {
	New                             string
	NewText                         string
	Filters, Problems               template.HTML
	Table                           *table
	Empty                           string // why there are no rows; empty if there are rows
	Next, First, Previous, Position string
}

// table is a table with a caption.
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

// paging are the parameters that select a page of a list. They are not filters.
var paging = []string{"page", "per_page"}

// filters are the parameters by which the list can be filtered.
func (k *kind) filters() []apispec.Field { return form.Without(k.list.Filters, paging...) }

// showList shows the product's contracts, newest first.
func (k *kind) showList(v *visit.Visit) error {
	t, areaTexts, query := labelsOf(v), textsOf(v), v.Params()
	requestedQuery, problems := form.FilterQuery(t, k.list.Filters, query)
	status, found, err := fiber.StatusOK, []map[string]any(nil), error(nil)
	page := listPage{New: k.path("new"), NewText: t.Fill(t.List.New, "record", t.Single(k.name))}
	if problems.None() {
		found, err = k.readList(v, requestedQuery, &page)
		var refused *web.RefusedError
		switch {
		case errors.As(err, &refused) && refused.Status == fiber.StatusUnprocessableEntity:
			problems = form.RefusedBy(refused)
		case err != nil:
			return err
		}
	}
	filters := form.NewFilters(t, k.name, k.path(), k.filters(), query, problems)
	switch {
	case !problems.None():
		status = fiber.StatusUnprocessableEntity
	case len(found) > 0:
		page.Table = k.table(v, found)
	case filters.IsFiltered:
		page.Empty = t.List.NoneFor
	default:
		page.Empty = t.Fill(areaTexts.Page.Empty, "records", t.Record(k.name))
	}
	page.Filters, page.Problems = filters.HTML(), filters.Problems()
	return v.Show(templates, "list", visit.PageContent{Status: status, Title: t.Record(k.name), Crumbs: k.family.crumbs(v), Page: page})
}

// readList reads one page of the list, and sets the addresses of the first, previous and next pages. The API pages the lists of
// the secular reading by cursor, and the lists of the religious reading by page number.
func (k *kind) readList(v *visit.Visit, requestedQuery url.Values, page *listPage) ([]map[string]any, error) {
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: k.list.Path, Query: requestedQuery})
	found, next, err := resource.ReadRows(answer)
	if err != nil || k.list.HasCursor {
		if next != "" {
			page.Next = k.pageAt(requestedQuery, "cursor", next)
		}
		if requestedQuery.Has("cursor") {
			page.First = k.pageAt(requestedQuery, "cursor", "")
		}
		return found, err
	}
	var list struct {
		Meta struct {
			Page    int
			PerPage int `json:"per_page"`
			Total   int
		}
	}
	if err := answer.Decode(&list); err != nil {
		return nil, err
	}
	meta, t := list.Meta, labelsOf(v)
	if meta.Page*meta.PerPage < meta.Total {
		page.Next = k.pageAt(requestedQuery, "page", strconv.Itoa(meta.Page+1))
	}
	if meta.Page > 1 {
		page.First = k.pageAt(requestedQuery, "page", "")
		page.Previous = k.pageAt(requestedQuery, "page", strconv.Itoa(meta.Page-1))
	}
	page.Position = textsOf(v).Page.Total + ": " + t.Number(meta.Total)
	return found, nil
}

// pageAt returns the address of the list with one query parameter set to a value. An empty value removes the parameter.
func (k *kind) pageAt(requestedQuery url.Values, name, value string) string {
	query := make(url.Values)
	for other, values := range requestedQuery {
		query[other] = values
	}
	if query.Set(name, value); value == "" {
		query.Del(name)
	}
	if len(query) == 0 {
		return k.path()
	}
	return k.path() + "?" + query.Encode()
}

// columns returns the columns of the list: the contract's number, status and environment, the product's own columns for short
// lists, and the time when the contract was created.
func (k *kind) columns() (columns []apispec.Field) {
	add := func(name string) {
		if f := apispec.Named(k.list.ResponseFields, name); f != nil {
			columns = append(columns, *f)
		}
	}
	for _, name := range []string{"contract_number", "status", "env"} {
		add(name)
	}
	for _, c := range k.product.Columns.Columns {
		if c.Visibility == schema.Short && c.Name != "currency" { // no column, because amounts are shown with their currency
			add(c.Name)
		}
	}
	add("inserted_at")
	return columns
}

// table builds the table that lists the contracts.
func (k *kind) table(v *visit.Visit, found []map[string]any) *table {
	t := labelsOf(v)
	w, columns := k.writer(v), k.columns()
	tab := &table{Caption: t.Record(k.name)}
	for i := range columns {
		tab.Heads = append(tab.Heads, head{w.Label(columns[i].Name), resource.IsNumber(&columns[i])})
	}
	for _, record := range found {
		cells := make([]cell, len(columns))
		for i := range columns {
			f := &columns[i]
			cells[i] = cell{w.Value(f, record[f.Name], record), resource.IsNumber(f)}
		}
		cells[0].HTML = linkTo(k.path(textIn(record, "id")), textIn(record, "contract_number"))
		tab.Rows = append(tab.Rows, cells)
	}
	return tab
}

// writer returns a Writer that formats the values of the product's contracts.
func (k *kind) writer(v *visit.Visit) *resource.Writer {
	return resource.NewWriter(labelsOf(v), k.name, map[string]string{"screening_id": k.family.screeningPath()})
}

// linkTo returns a link to a contract. The link's text is the contract number, which the class keeps on one line.
func linkTo(path, text string) template.HTML {
	return template.HTML(`<a href="` + template.HTMLEscapeString(path) + `"><bdi class="whole">` + template.HTMLEscapeString(text) + `</bdi></a>`)
}
