package reconciliation

import (
	"mizan/api/console/apispec"
	"mizan/api/console/resource"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
)

// Root is the path of the area's pages.
const Root = view.Root + "reconciliation/"

// kinds are the kinds of records in this area. The columns in Columns are the first columns of a list.
var kinds = []resource.Kind{
	{Name: "differences", List: "listDifferences", Columns: []string{"id", "kind", "state", "day", "line_kind", "amount", "entry_amount", "currency", "entry_seq", "decision", "note"},
		Hidden: []string{"report_id", "line_id", "date", "fee", "network", "entry_date", "entry_currency", "linked_seq", "decided_at", "posted_seq"}},
	{Name: "reports", List: "listReports", Columns: []string{"id", "format", "state", "from", "to", "lines", "matched", "differences"},
		Hidden: []string{"totals", "sha256", "after", "until", "finished_at"}, HiddenOperations: []string{"importReport"}},
}

// New returns the pages. The function routes returns the routes of the API.
func New(catalog *apispec.Catalog, routes func() []web.Route) []visit.Page {
	return resource.New(resource.Area{
		Root: Root, Roles: web.LedgerRoles, Catalog: catalog, Kinds: kinds, Routes: routes,
		Links: map[string]string{"entry_seq": view.Root + "ledger/entries/", "posted_seq": view.Root + "ledger/entries/"},
	}).Pages()
}
