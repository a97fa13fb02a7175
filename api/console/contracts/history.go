package contracts

import (
	"cmp"
	"encoding/json"
	"html/template"
	"net/url"

	"mizan/api/console/labels"
	"mizan/api/console/resource"
	"mizan/api/console/view"
	"mizan/api/console/visit"
)

// entryView is what a page shows about an entry and its postings.
type entryView struct {
	Seq, Event, Day string
	Postings        []postingView
}

type postingView struct {
	Account       string
	Debit, Credit template.HTML
}

// entries converts the API's entries of a contract to the form that the template needs.
func (k *kind) entries(v *visit.Visit, found []map[string]any) (list []entryView) {
	f := &view.Frame{T: v.T}
	for _, entry := range found {
		e := entryView{Seq: numberIn(entry, "seq"), Event: eventName(v, textIn(entry, "event")), Day: textIn(entry, "effective_date")}
		postings, _ := entry["postings"].([]any)
		for _, posting := range postings {
			p, _ := posting.(map[string]any)
			asset, _ := p["asset"].(map[string]any)
			shown := postingView{Account: textIn(p, "account")}
			amount := f.Money(textIn(p, "amount"), textIn(asset, "currency"), textIn(asset, "network"))
			if shown.Debit = amount; textIn(p, "side") == "credit" {
				shown.Debit, shown.Credit = "", amount
			}
			e.Postings = append(e.Postings, shown)
		}
		list = append(list, e)
	}
	return list
}

// eventView is what a page shows about an event of a contract.
type eventView struct {
	Seq, At, Event string
	From, To       string // statuses; empty if none
	By             string // the author, whose request caused the event; empty if there is none
}

// events converts the API's events of a contract to the form that the template needs.
func (k *kind) events(v *visit.Visit, found []map[string]any) (list []eventView) {
	for _, event := range found {
		e := eventView{Seq: numberIn(event, "seq"), At: textIn(event, "booked_at"), Event: eventName(v, textIn(event, "event")), By: authorOf(v, event)}
		e.From, e.To = k.status(v, textIn(event, "from")), k.status(v, textIn(event, "to"))
		list = append(list, e)
	}
	return list
}

// authorOf returns the name of an event's author. If the author has no name, it returns the kind of author. If the event has no
// author, the result is empty.
func authorOf(v *visit.Visit, event map[string]any) string {
	author, _ := event["author"].(map[string]any)
	if author == nil {
		return ""
	}
	return cmp.Or(textIn(author, "name"), labels.In(v.T.Lang).Word("author", textIn(author, "kind")))
}

// eventName returns the label of a contract's event.
func eventName(v *visit.Visit, event string) string { return labelsOf(v).Event("contract", event) }

// status returns the label of a status. If the status is empty, so is the label.
func (k *kind) status(v *visit.Visit, status string) string {
	if status == "" {
		return ""
	}
	return labelsOf(v).Word(k.name+".status", status)
}

// historyPage is the data for the page that lists all entries, all events or all rows of a register.
type historyPage struct {
	Entries     []entryView
	Events      []eventView
	Table       *table
	Next, First string
}

// showEntries serves the page with all entries of a contract, and showEvents the page with all its events.
func (k *kind) showEntries(v *visit.Visit) error {
	return k.showHistory(v, "entries", textsOf(v).Page.Entries, func(p *historyPage, found []map[string]any) { p.Entries = k.entries(v, found) })
}

func (k *kind) showEvents(v *visit.Visit) error {
	return k.showHistory(v, "events", textsOf(v).Page.History, func(p *historyPage, found []map[string]any) { p.Events = k.events(v, found) })
}

// showHolders serves the page that lists the holders of the certificates that a contract has issued. showSubscriptions serves
// the page that lists the subscriptions to these certificates.
func (k *kind) showHolders(v *visit.Visit) error {
	return k.showHistory(v, "holders", textsOf(v).Page.Holders, func(p *historyPage, found []map[string]any) { p.Table = k.register(v, "holders", found) })
}

func (k *kind) showSubscriptions(v *visit.Visit) error {
	return k.showHistory(v, "subscriptions", textsOf(v).Page.Subscriptions, func(p *historyPage, found []map[string]any) {
		p.Table = k.register(v, "subscriptions", found)
	})
}

// ofRegister wraps a handler. If the product has no register of holders, the response is 404.
func ofRegister(handle func(*kind, *visit.Visit) error) func(*kind, *visit.Visit) error {
	return func(k *kind, v *visit.Visit) error {
		if k.product.RegisterQuery == nil {
			return notFound()
		}
		return handle(k, v)
	}
}

// showHistory shows one page of a list (such as the entries) that belongs to a contract.
func (k *kind) showHistory(v *visit.Visit, list, title string, show func(*historyPage, []map[string]any)) error {
	id, record, err := k.fetch(v)
	if err != nil {
		return err
	}
	query := url.Values{}
	if cursor := v.Query("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	found, next, err := rows(v, k.api(id, list), query)
	if err != nil {
		return err
	}
	page := historyPage{}
	if show(&page, found); next != "" {
		page.Next = k.path(id, list) + "?cursor=" + url.QueryEscape(next)
	}
	if query.Has("cursor") {
		page.First = k.path(id, list)
	}
	return v.Show(templates, "history", visit.PageContent{Title: title, Crumbs: k.crumbs(v, k.crumb(id, record)), Page: page})
}

// register returns a table of the holders of a contract's certificates or, for the list of subscriptions, of the subscriptions
// to the certificates. If the list is empty, it returns nil.
func (k *kind) register(v *visit.Visit, list string, found []map[string]any) *table {
	if len(found) == 0 {
		return nil
	}
	w, fields := k.writer(v), k.handlers.operation("GET", k.api("{id}", list)).ResponseFields
	tab := &table{Caption: textsOf(v).Page.Holders}
	if list != "holders" {
		tab.Caption = textsOf(v).Page.Subscriptions
	}
	for i := range fields {
		tab.Heads = append(tab.Heads, head{w.Label(fields[i].Name), resource.IsNumber(&fields[i])})
	}
	for _, row := range found {
		var cells []cell
		for i := range fields {
			cells = append(cells, cell{w.Value(&fields[i], row[fields[i].Name], row), resource.IsNumber(&fields[i])})
		}
		tab.Rows = append(tab.Rows, cells)
	}
	return tab
}

func numberIn(record map[string]any, name string) string {
	number, _ := record[name].(json.Number)
	return number.String()
}
