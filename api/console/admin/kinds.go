package admin

import (
	"html/template"
	"net/url"

	"mizan/api/console/apispec"
	"mizan/api/console/labels"
	"mizan/api/console/resource"
	"mizan/api/console/visit"
)

// kinds returns the configuration of each kind of record in this area. The columns in Columns are the first columns of a list.
func kinds(catalog *apispec.Catalog) []resource.Kind {
	return []resource.Kind{
		{Name: "partners", List: "listPartners", Columns: []string{"id", "name", "active"}, Hidden: []string{"lang", "notify_url", "source_addresses"},
			Above: hint(func(t *areaTexts) string { return t.Health.Window }),
			Extra: []resource.Extra{{Label: func(t *labels.Texts) string { return textsIn(t.Lang).Health.Title }, Cells: healthCells}}},
		{Name: "terminals", List: "listTerminals", Columns: []string{"id", "name", "partner_id", "provider", "type", "env", "is_active"},
			Hidden: []string{"merchant_adapter"}},
		{Name: "circuits", List: "listCircuits", Columns: []string{"terminal_id", "name", "partner_id", "provider", "state", "failures"},
			Above: hint(func(t *areaTexts) string { return t.Circuits.Hint })},
		{Name: "keys", List: "listApiKeys", Columns: []string{"id", "name", "prefix", "partner_id"}, ShownOnce: []string{"key"}},
		{Name: "limits", List: "listLimits", Columns: []string{"id", "partner_id", "kind", "max_amount", "max_count", "window", "scope", "active"},
			Hidden: []string{"currency", "network"}, SkipParts: []string{"getLimitUsage"}, Section: usageSection,
			Extra: []resource.Extra{{Label: func(t *labels.Texts) string { return textsIn(t.Lang).Usage.Title }, Cells: usageCells}}},
		{Name: "blocklist", List: "listBlocklist", Columns: []string{"id", "kind", "value"}},
		{Name: "rates", List: "listRates", Columns: []string{"id", "from", "to", "rate"}},
		{Name: "users", List: "listUsers", Columns: []string{"id", "login", "name", "roles", "active"}},
		{Name: "organizations", List: "listOrganizations", Columns: []string{"id", "name", "type", "status"}, ByOperator: true},
		{Name: "settlements", List: "listPartnerSettlements", Parent: "partner_id", Read: "getSettlement", ByOperator: true,
			Columns: []string{"id", "direction", "amount", "gross", "fee", "net", "reference"}},
		{Name: "deliveries", List: "listDeliveries", Columns: []string{"event_id", "type", "state", "channel", "attempts", "booked_at", "next_at"}},
		changes(),
	}
}

// figures are the pages that show the response of a single API operation.
var figures = []resource.Figures{{Name: "system", Operation: "getSystem", ByOperator: true}}

// changes configures the list of changes. A change is an event of a record that administrators manage. The list leaves out
// events that nobody asked for.
func changes() resource.Kind {
	return resource.Kind{
		Name: "changes", List: "listEvents", Above: hint(func(t *areaTexts) string { return t.Changes.Hint }),
		Columns: []string{"booked_at", "author", "kind", "event", "source", "from", "to", "seq"}, FixedFilters: url.Values{"kind": {"administration"}},
		HiddenOperations: []string{"getEvent"}, // the auditor's page shows more about an event
		Cells: map[string]func(*labels.Texts, map[string]any) template.HTML{
			"source": sourceCell, "author": authorCell, "seq": seqCell, "event": eventCell, "from": stateCell("from"), "to": stateCell("to"),
		},
	}
}

// hint returns a function that returns the text above a list, as an HTML paragraph.
func hint(text func(*areaTexts) string) func(*visit.Visit) (template.HTML, error) {
	return func(v *visit.Visit) (template.HTML, error) {
		return `<p class="muted">` + template.HTML(template.HTMLEscapeString(text(textsIn(v.T.Lang)))) + `</p>`, nil
	}
}
