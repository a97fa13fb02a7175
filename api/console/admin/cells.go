package admin

import (
	"cmp"
	"encoding/json"
	"html/template"
	"net/url"

	"mizan/api/console/labels"
	"mizan/api/console/view"
)

// authorCell says who asked for a change: the kind of author, and the name of the author's record. If the record has no name,
// its id is shown. If the author has no record, only the kind is shown.
func authorCell(t *labels.Texts, row map[string]any) template.HTML {
	author, _ := row["author"].(map[string]any)
	kind, _ := author["kind"].(string)
	name, _ := author["name"].(string)
	id, _ := author["id"].(string)
	text := template.HTML(template.HTMLEscapeString(t.Word("author", kind)))
	if who := cmp.Or(name, id); who != "" {
		text += ` <bdi translate="no">` + template.HTML(template.HTMLEscapeString(who)) + `</bdi>`
	}
	return text
}

// eventCell returns the label of an event. The HTML attribute title contains the event's name in the API.
func eventCell(t *labels.Texts, row map[string]any) template.HTML {
	name, _ := row["event"].(string)
	kind, _ := row["kind"].(string)
	return titled(name, t.Event(kind, name))
}

// stateCell returns a function for the cells of a field that contains a state. The function returns the label of the state. The
// HTML attribute title contains the state's name in the API.
func stateCell(field string) func(*labels.Texts, map[string]any) template.HTML {
	return func(t *labels.Texts, row map[string]any) template.HTML {
		state, _ := row[field].(string)
		kind, _ := row["kind"].(string)
		if state == "" {
			return `<span class="muted" aria-hidden="true">—</span><span class="off">` + template.HTML(template.HTMLEscapeString(t.List.NoValue)) + `</span>`
		}
		return titled(state, t.State(kind, state))
	}
}

func titled(name, label string) template.HTML {
	return `<span title="` + template.HTML(template.HTMLEscapeString(name)) + `">` + template.HTML(template.HTMLEscapeString(label)) + `</span>`
}

// seqCell returns the number of an event, with a link to the event's page.
func seqCell(_ *labels.Texts, row map[string]any) template.HTML {
	seq, _ := row["seq"].(json.Number)
	path := view.Root + "ledger/events/" + url.PathEscape(seq.String())
	return `<a href="` + template.HTML(template.HTMLEscapeString(path)) + `">` + template.HTML(template.HTMLEscapeString(seq.String())) + `</a>`
}

// sourceCell returns the id of the changed record, with a link to the record's page.
func sourceCell(t *labels.Texts, row map[string]any) template.HTML {
	id, _ := row["source"].(string)
	kind, _ := row["kind"].(string)
	const shown = 8
	short := template.HTML(`<code dir="ltr" translate="no" title="` + template.HTMLEscapeString(id) + `">` + template.HTMLEscapeString(id[:min(shown, len(id))]) + `…</code>`)
	prefix := pathOfKind[kind]
	if prefix == "" || kind == "partner" || kind == "transaction" { // a partner's page has the partner's number in its path
		return short
	}
	return `<a href="` + template.HTML(template.HTMLEscapeString(prefix+url.PathEscape(id))) + `">` + short + `</a>`
}
