package main

import (
	"embed"
	"html/template"
	"log"
	"net/http"

	mizan "mizan/api/sdk/go"
)

// products are what the shop sells.
var products = []struct {
	id, name string
	price    mizan.Amount
}{
	{"tea", "Green tea, 100 g", mizan.MinorUnits(690)}, {"pot", "Teapot <blue>", mizan.MinorUnits(2450)}, {"cup", "Cup", mizan.MinorUnits(495)},
}

// line is a line of a cart, with amounts formatted for pages.
type line struct {
	ID, Name, Price, Sum string
	Quantity             int
}

// shown returns the data of an order that pages show.
func (o *order) shown() map[string]any {
	o.mu.Lock()
	defer o.mu.Unlock()
	return map[string]any{"Number": o.Number, "Total": o.Total.Decimal(2), "Lines": o.Lines, "Status": o.state.Status,
		"Reason": o.state.ErrorDescription, "IsPaid": o.state.Status == mizan.StatusCharged}
}

//go:embed pages.html
var files embed.FS

var pages = template.Must(template.ParseFS(files, "pages.html"))

// show writes the page with the given data. The page's template escapes the data.
func show(w http.ResponseWriter, status int, page string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if err := pages.ExecuteTemplate(w, page, data); err != nil {
		log.Print(err)
	}
}
