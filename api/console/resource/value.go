package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/labels"
	"mizan/ledger/money"
)

// valueWriter formats the API's values as HTML.
type valueWriter struct {
	t       *labels.Texts
	area    *Pages
	context string // the name under which labels are looked up first
}

func escape(text string) template.HTML { return template.HTML(template.HTMLEscapeString(text)) }

// absent returns the mark that is shown instead of an absent value.
func (w *valueWriter) absent() template.HTML {
	return `<span class="muted" aria-hidden="true">—</span><span class="off">` + escape(w.t.List.NoValue) + `</span>`
}

// cell writes a value in a list. The record's id is a link to the record's page.
func (w *valueWriter) cell(f *apispec.Field, value any, row map[string]any, k *kind) template.HTML {
	if write := k.Cells[f.Name]; write != nil {
		return write(w.t, row)
	}
	if f.Kind == apispec.Object {
		return w.compact(f, value)
	}
	if f.Name == k.Key && k.Record.Read != nil {
		id := textOf(value)
		return `<a href="` + escape(k.path(escapePath(id))) + `">` + shortID(f, id) + `</a>`
	}
	return w.value(f, join(w.context, f.Name), value, []map[string]any{row})
}

// compact writes the members of an object on one line, without their names.
func (w *valueWriter) compact(f *apispec.Field, value any) template.HTML {
	object, _ := value.(map[string]any)
	var parts []string
	for i := range f.Fields {
		member := &f.Fields[i]
		if v := object[member.Name]; v != nil && v != "" && member.Kind != apispec.Object {
			text := w.value(member, join(w.context, f.Name+"."+member.Name), v, []map[string]any{object})
			if id, ok := v.(string); ok && member.Kind == apispec.ID {
				text = shortID(member, id)
			}
			parts = append(parts, string(text))
		}
	}
	if len(parts) == 0 {
		return w.absent()
	}
	return template.HTML(strings.Join(parts, " · "))
}

// idShown is the number of characters that a list shows of a long id. The page to which the id links shows the whole id.
const idShown = 8

// shortID writes the beginning of a long id. The result is the text of a link to the page that shows the whole id.
func shortID(f *apispec.Field, id string) template.HTML {
	if f.Kind != apispec.ID || len(id) <= idShown {
		return escape(id)
	}
	return `<code dir="ltr" translate="no" title="` + escape(id) + `">` + escape(id[:idShown]) + `…</code>`
}

// value writes a value. around are the objects that contain the value, innermost first. They are needed to find the currency of
// an amount.
func (w *valueWriter) value(f *apispec.Field, path string, value any, around []map[string]any) template.HTML {
	switch v := value.(type) {
	case nil:
		return w.absent()
	case bool:
		if v {
			return escape(w.t.Common.Yes)
		}
		return escape(w.t.Common.No)
	case json.Number:
		return w.number(f, v.String(), around)
	case string:
		return w.text(f, path, v, around)
	case []any:
		return w.list(f, path, v, around)
	case map[string]any:
		return w.object(f, path, v, around)
	}
	return escape(fmt.Sprint(value))
}

func (w *valueWriter) number(f *apispec.Field, digits string, around []map[string]any) template.HTML {
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case f.Kind == apispec.Amount && f.Numeric:
		return w.amount(digits, around)
	case err != nil:
	case strings.HasSuffix(f.Name, "bytes"):
		return escape(w.size(n))
	case strings.HasSuffix(f.Name, "_seconds"):
		return escape(w.duration(n))
	}
	return w.linked(f, digits, escape(digits))
}

// size writes a number of bytes in the largest unit in which the number is at least 1.
func (w *valueWriter) size(n int64) string {
	units, unit := []string{w.t.List.Bytes, w.t.List.KB, w.t.List.MB, w.t.List.GB}, 0
	value := float64(n)
	for value >= 1000 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	decimals := 0
	if unit > 0 && value < 100 {
		decimals = 1
	}
	number := strings.Replace(strconv.FormatFloat(value, 'f', decimals, 64), ".", string(w.t.Separators().Decimal), 1)
	return w.t.Fill(units[unit], "n", number)
}

// duration writes a number of seconds in the largest unit in which the number is at least 2.
func (w *valueWriter) duration(n int64) string {
	for _, unit := range []struct {
		seconds int64
		text    string
	}{{86400, w.t.List.Days}, {3600, w.t.List.Hours}, {60, w.t.List.Minutes}} {
		if n >= 2*unit.seconds {
			return w.t.Fill(unit.text, "n", w.t.Number(int(n/unit.seconds)))
		}
	}
	return w.t.Fill(w.t.List.Seconds, "n", w.t.Number(int(n)))
}

func (w *valueWriter) text(f *apispec.Field, path, text string, around []map[string]any) template.HTML {
	switch {
	case text == "":
		return w.absent()
	case f.Secret:
		return `<span class="muted">` + escape(w.t.List.IsSet) + `</span>`
	}
	switch f.Kind {
	case apispec.Amount:
		return w.amount(text, around)
	case apispec.Word:
		return w.word(path, text)
	case apispec.Instant:
		return w.instant(text, w.t.ShortDateTime, time.RFC3339Nano)
	case apispec.Day:
		return w.instant(text, w.t.ShortDate, time.DateOnly)
	case apispec.ID:
		return w.linked(f, text, `<code class="id" dir="ltr" translate="no">`+escape(text)+`</code>`)
	case apispec.Decimal:
		return `<bdi>` + escape(strings.Replace(text, ".", string(w.t.Separators().Decimal), 1)) + `</bdi>`
	}
	if isHash(text) {
		return `<code class="id" dir="ltr" translate="no">` + escape(text) + `</code>`
	}
	return w.linked(f, text, `<bdi>`+escape(text)+`</bdi>`)
}

// tones are the CSS classes of words that a page highlights, because the word needs attention or says that all is well.
var tones = map[string]string{
	"active": "good", "delivered": "good", "charged": "good", "paid": "good", "pending": "info", "charging": "info", "action_required": "info",
	"parked": "bad", "failed": "bad", "rejected": "bad", "past_due": "warn", "maintenance": "warn", "provisioning": "info",
}

// word writes a word of the API in the page's language, highlighted if it has a tone.
func (w *valueWriter) word(path, word string) template.HTML {
	label := escape(w.t.Word(path, word))
	if tone := tones[word]; tone != "" {
		return `<span class="tag ` + template.HTML(tone) + `">` + label + `</span>`
	}
	return label
}

// isHash tells whether a text is a SHA-256 hash in hex.
func isHash(text string) bool {
	hash, err := hex.DecodeString(text)
	return err == nil && len(hash) == sha256.Size
}

// instant writes a time.
func (w *valueWriter) instant(text string, write func(time.Time) string, layout string) template.HTML {
	at, err := time.Parse(layout, text)
	if err != nil {
		return escape(text)
	}
	return `<time datetime="` + escape(text) + `">` + escape(write(at)) + `</time>`
}

// linked makes a link from a record's id to the record's page. If the record has no page, the id stays plain text.
func (w *valueWriter) linked(f *apispec.Field, id string, html template.HTML) template.HTML {
	if path := w.area.linkTo(f.Name); path != "" && id != "0" {
		return `<a href="` + escape(path+escapePath(id)) + `">` + html + `</a>`
	}
	return html
}

// linkTo returns the path of the pages for the records whose ids a field contains. The path is empty if there are no such
// pages.
func (p *Pages) linkTo(field string) string {
	if path := p.Links[field]; path != "" {
		return path
	}
	for _, k := range p.kinds {
		if k.idName() == field && k.Record.Read != nil {
			return k.path("")
		}
	}
	return ""
}

// amount writes an amount with its currency.
func (w *valueWriter) amount(minor string, around []map[string]any) template.HTML {
	digits, isNegative := strings.CutPrefix(minor, "-")
	amount, err := money.Parse(digits)
	if err != nil {
		return escape(minor)
	}
	sign := ""
	if isNegative {
		sign = "−"
	}
	asset, ok := form.AssetIn(around...)
	if !ok {
		return `<bdi class="money">` + escape(minor) + `</bdi>`
	}
	return `<bdi class="money">` + escape(sign+w.t.BreakableAmount(amount, asset)) + `</bdi>`
}

// list writes a list. Objects become the rows of a table, and simple entries are written on one line.
func (w *valueWriter) list(f *apispec.Field, path string, list []any, around []map[string]any) template.HTML {
	if len(list) == 0 {
		return w.absent()
	}
	if f.Entry == nil {
		return w.json(list)
	}
	if f.Entry.Kind == apispec.Object && len(f.Entry.Fields) > 0 {
		return w.rows(f.Entry.Fields, path, list, around)
	}
	var entries []string
	for _, entry := range list {
		entries = append(entries, string(w.value(f.Entry, path, entry, around)))
	}
	return template.HTML(strings.Join(entries, ", "))
}

// rows writes a list of objects as a table.
func (w *valueWriter) rows(fields []apispec.Field, path string, list []any, around []map[string]any) template.HTML {
	var out strings.Builder
	out.WriteString(`<div class="scroll" tabindex="0" role="group" aria-label="` + string(escape(w.t.Field(path))) + `"><table><thead><tr>`)
	for i := range fields {
		out.WriteString(`<th scope="col">` + string(escape(w.t.Field(join(path, fields[i].Name)))) + `</th>`)
	}
	out.WriteString(`</tr></thead><tbody>`)
	for _, entry := range list {
		members, _ := entry.(map[string]any)
		out.WriteString(`<tr>`)
		for i := range fields {
			value := w.value(&fields[i], join(path, fields[i].Name), members[fields[i].Name], append([]map[string]any{members}, around...))
			out.WriteString(`<td>` + string(value) + `</td>`)
		}
		out.WriteString(`</tr>`)
	}
	out.WriteString(`</tbody></table></div>`)
	return template.HTML(out.String())
}

// object writes the members of an object: first the members that the description names, then the others.
func (w *valueWriter) object(f *apispec.Field, path string, object map[string]any, around []map[string]any) template.HTML {
	if len(f.Fields) == 0 {
		return w.json(object)
	}
	var out strings.Builder
	for _, pair := range w.pairs(f.Fields, path, object, around) {
		if object[pair.Name] != nil {
			out.WriteString(`<div><dt>` + string(escape(pair.Label)) + `</dt><dd>` + string(pair.HTML) + `</dd></div>`)
		}
	}
	if out.Len() == 0 {
		return w.absent()
	}
	return template.HTML(`<dl class="rows">` + out.String() + `</dl>`)
}

func (w *valueWriter) json(value any) template.HTML {
	return `<pre dir="ltr" tabindex="0">` + escape(form.Indented(value)) + `</pre>`
}

// pair is a field of a record: its label and its value.
type pair struct {
	Name, Label string
	HTML        template.HTML
}

// pairs writes the members of an object that fields describes, and after them the object's other members as JSON.
func (w *valueWriter) pairs(fields []apispec.Field, path string, object map[string]any, around []map[string]any) (pairs []pair) {
	inside := append([]map[string]any{object}, around...)
	for i := range fields {
		f := &fields[i]
		if value, isThere := object[f.Name]; isThere || f.Required {
			pairs = append(pairs, pair{f.Name, w.t.Field(join(path, f.Name)), w.value(f, join(path, f.Name), value, inside)})
		}
	}
	for _, name := range othersOf(fields, object) {
		pairs = append(pairs, pair{name, w.t.Field(join(path, name)), w.json(object[name])})
	}
	return pairs
}

// othersOf returns the names of the object's members that fields does not describe, sorted.
func othersOf(fields []apispec.Field, object map[string]any) (names []string) {
	for name := range object {
		if apispec.Named(fields, name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// textOf returns a value as a text for an address.
func textOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}
