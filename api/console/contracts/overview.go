package contracts

import (
	"errors"
	"html/template"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
)

// overviewPage is the data for the overview template.
type overviewPage struct{ Families []familyView }

// familyView shows one family: its products, and the number of contracts of each product.
type familyView struct {
	Title, About, Path string
	Products           []productView
	Total              int
	Chart              template.HTML
	Links              []link
}

type productView struct {
	Title, Path, New string
	Count            int
}

type link struct{ Text, Path string }

// overview shows the given families (all families, or one): their products, and the number of contracts of each product. A
// family is left out if the organization does not have the family's module.
func (h *Handlers) overview(v *visit.Visit, families []*family) error {
	t, areaTexts := labelsOf(v), textsOf(v)
	page := overviewPage{}
	var refusal error
	for _, f := range families {
		shown, err := f.counted(v)
		var refused *web.RefusedError
		switch {
		case errors.As(err, &refused) && refused.Status == fiber.StatusForbidden:
			refusal = err
		case err != nil:
			return err
		default:
			page.Families = append(page.Families, *shown)
		}
	}
	title, crumbs := t.Record("contracts"), []view.Crumb(nil)
	if len(families) == 1 {
		if refusal != nil {
			return refusal
		}
		crumbs = []view.Crumb{{Title: title, Path: Root}}
		title = areaTexts.Families[families[0].name]
	}
	return v.Show(templates, "overview", visit.PageContent{Title: title, Crumbs: crumbs, Page: page})
}

// counted reads the number of contracts of each product in the family.
func (f *family) counted(v *visit.Visit) (*familyView, error) {
	var stats struct {
		Data struct {
			Products []struct {
				Name  string `json:"product_type"`
				Count int
			}
			Total int
		}
	}
	if err := v.Get(f.api("stats"), url.Values{}, &stats); err != nil {
		return nil, err
	}
	t, areaTexts := labelsOf(v), textsOf(v)
	shown := &familyView{Title: areaTexts.Families[f.name], About: areaTexts.About[f.name], Path: Root + "/" + f.name, Total: stats.Data.Total}
	var bars []bar
	for _, p := range stats.Data.Products {
		shown.Products = append(shown.Products, productView{Title: t.Record(p.Name), Path: f.path(p.Name), New: f.path(p.Name) + "/new", Count: p.Count})
		bars = append(bars, bar{t.Record(p.Name), p.Count})
	}
	shown.Chart = barChart(v.T.Locale, areaTexts.Page.CountChart, bars)
	if f.reading.ReviewFirst {
		shown.Links = []link{{areaTexts.Page.Review, f.path("review")}, {areaTexts.Page.Screening, f.path("screening")}, {areaTexts.Page.Charity, f.path("charity")}}
	}
	return shown, nil
}
