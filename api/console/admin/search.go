package admin

import (
	"net/url"
	"strings"

	"mizan/api/console/labels"
	"mizan/api/console/view"
	"mizan/api/console/visit"
)

// searchPage is the data for the search page.
type searchPage struct {
	Text       string
	Hits       []hitView
	IsSearched bool
	Incomplete bool
	L          *labels.Texts
}

// hitView is what the search page shows about a record that was found.
type hitView struct {
	Kind, Name, ID, Field string
	Path                  string // path of the record's page; empty if there is none
	Partner               string // number of the record's partner; empty if none
}

// pathOfKind maps the API's word for a kind of record to the path prefix of these records' pages.
var pathOfKind = map[string]string{
	"partner": Root + "partners/", "terminal": Root + "terminals/", "api_key": Root + "keys/", "user": Root + "users/", "limit": Root + "limits/",
	"blocklist_entry": Root + "blocklist/", "block": Root + "blocklist/", "rate": Root + "rates/", "settlement": Root + "settlements/", "delivery": Root + "deliveries/",
	"transaction": view.Root + "payments/",
}

// search is GET /console/admin/search.
func (h *Handlers) search(v *visit.Visit) error {
	l := labels.In(v.T.Lang)
	page := searchPage{Text: strings.TrimSpace(v.Query("q")), L: l}
	if page.Text != "" {
		var answer struct {
			Data struct {
				Hits []struct {
					Kind, ID, Field string
					Name            *string
					Partner         *int64 `json:"partner_id"`
				}
				Complete bool
			}
		}
		if err := v.Get("/api/v1/search", url.Values{"q": {page.Text}}, &answer); err != nil {
			return err
		}
		page.IsSearched, page.Incomplete = true, !answer.Data.Complete
		for _, found := range answer.Data.Hits {
			hit := hitView{Kind: l.Word("search.kind", found.Kind), ID: found.ID, Field: l.Field("search." + found.Field)}
			if prefix := pathOfKind[found.Kind]; v.HasPage(prefix + ":id") {
				hit.Path = prefix + url.PathEscape(found.ID)
			}
			if found.Name != nil {
				hit.Name = *found.Name
			}
			if found.Partner != nil && found.Kind != "partner" {
				hit.Partner = l.Number(int(*found.Partner))
			}
			page.Hits = append(page.Hits, hit)
		}
	}
	return v.Show(templates, "search", visit.PageContent{Title: l.Record("search"), Page: page})
}
