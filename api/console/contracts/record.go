package contracts

import (
	"html/template"
	"net/url"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/apispec"
	"mizan/api/console/resource"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger/schema"
)

// recordPage is the data for the template of a contract's page.
type recordPage struct {
	Actions  []actionView
	Ended    bool   // no action can ever become possible again
	Batches  string // progress of an action that is running in batches; empty if there is none
	Pairs    []resource.Pair
	Schedule *scheduleView
	Sections []section
	Holders  *table
	Entries  []entryView
	Events   []eventView
	Links    map[string]string // addresses of the pages with all holders, subscriptions, entries and events
}

// section is a value that has several parts, such as an object, and is shown under a heading of its own.
type section struct {
	Title string
	HTML  template.HTML
}

// firstRows is how many rows of each list the page of a contract shows.
const firstRows = "10"

// show shows the page of a contract.
func (k *kind) show(v *visit.Visit) error {
	id, record, err := k.fetch(v)
	if err != nil {
		return err
	}
	page := recordPage{Links: make(map[string]string)}
	available, err := k.available(v, id)
	if err != nil {
		return err
	}
	for i := range available {
		page.Actions = append(page.Actions, k.view(v, id, record, &available[i]))
	}
	page.Ended = !slices.ContainsFunc(page.Actions, func(a actionView) bool { return a.IsAllowed || !a.IsOver })
	page.Batches = batchesOf(v, record)
	page.Schedule = k.schedule(v, id, record)
	k.addValues(v, record, &page)
	if err := k.addLists(v, id, record, &page); err != nil {
		return err
	}
	return v.Show(templates, "record", visit.PageContent{Title: textIn(record, "contract_number"), Crumbs: k.crumbs(v), Page: page})
}

// addValues adds the contract's fields to the page: a simple value as a pair of label and value, and a value with several parts
// as a section.
func (k *kind) addValues(v *visit.Visit, record map[string]any, page *recordPage) {
	w := k.writer(v)
	fields := slices.Clone(k.read.ResponseFields)
	if metadata, _ := record["metadata"].(map[string]any); metadata != nil {
		record = withMetadata(record, metadata)
		for _, c := range k.product.Columns.Columns {
			if c.Visibility == schema.Metadata {
				fields = append(fields, fieldOf(c))
			}
		}
	}
	for _, pair := range w.Pairs(fields, record) {
		switch f := apispec.Named(fields, pair.Name); {
		case f == nil, pair.Name == "payment_schedule", pair.Name == "progress", pair.Name == "subscriptions":
		case isEmpty(record[pair.Name]):
		case f.Kind == apispec.List || f.Kind == apispec.Object:
			page.Sections = append(page.Sections, section{pair.Label, pair.HTML})
		default:
			page.Pairs = append(page.Pairs, pair)
		}
	}
}

// withMetadata returns a copy of the record to which the members of its metadata are added. If the record has a member of the
// same name, the record's value is kept.
func withMetadata(record, metadata map[string]any) map[string]any {
	merged := make(map[string]any, len(record)+len(metadata))
	for name, value := range metadata {
		merged[name] = value
	}
	for name, value := range record {
		merged[name] = value
	}
	return merged
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// fieldOf converts a column of package schema to a field of the description.
func fieldOf(c *schema.Column) apispec.Field {
	f := apispec.Field{Name: c.Name, Kind: apispec.Text, Help: c.Help}
	switch c.Kind {
	case schema.KindAmount, schema.KindSigned:
		f.Kind, f.Negative, f.Numeric = apispec.Amount, c.Kind == schema.KindSigned, true
	case schema.KindInteger, schema.KindPercent:
		f.Kind = apispec.Integer
	case schema.KindDate:
		f.Kind = apispec.Day
	case schema.KindRows:
		rows := apispec.Field{Kind: apispec.Object}
		for _, column := range c.Nested.Members(schema.Use{}) {
			rows.Fields = append(rows.Fields, fieldOf(column))
		}
		if f.Kind, f.Fields = apispec.Object, rows.Fields; !c.Single {
			f.Kind, f.Entry, f.Fields = apispec.List, &rows, nil
		}
	}
	return f
}

// batchesOf returns a text with the progress of an action that is running in batches. The text is empty if there is no such
// action.
func batchesOf(v *visit.Visit, record map[string]any) string {
	progress, _ := record["progress"].(map[string]any)
	if progress == nil {
		return ""
	}
	return v.T.Fill(textsOf(v).Page.Batches, "done", numberIn(progress, "done"), "total", numberIn(progress, "total"))
}

// addLists adds the first rows of each list that belongs to the contract, such as its entries and events.
func (k *kind) addLists(v *visit.Visit, id string, record map[string]any, page *recordPage) error {
	limit := url.Values{"limit": {firstRows}}
	if k.product.RegisterQuery != nil {
		found, _, err := rows(v, k.api(id, "holders"), limit)
		if err != nil {
			return err
		}
		page.Links["subscriptions"] = k.path(id, "subscriptions")
		page.Holders, page.Links["holders"] = k.register(v, "holders", found), k.path(id, "holders")
	}
	entries, _, err := rows(v, k.api(id, "entries"), limit)
	if err != nil {
		return err
	}
	page.Entries, page.Links["entries"] = k.entries(v, entries), k.path(id, "entries")
	events, _, err := rows(v, k.api(id, "events"), limit)
	if err != nil {
		return err
	}
	page.Events, page.Links["events"] = k.events(v, events), k.path(id, "events")
	return nil
}

// scheduleView is the data that shows a payment schedule.
type scheduleView struct {
	Table    *table
	Chart    template.HTML
	Title    string // title of the chart; the title includes the numbers that the chart shows
	Download string
}

// The statuses of rows of a schedule. If the API reports a row as pending, the page shows it as due on its due date, and as
// late after that date.
const (
	rowPending = "pending"
	rowLate    = "late"
	rowDue     = "due"
	rowPaid    = "paid"
)

var rowTones = map[string]string{rowPaid: "good", rowLate: "bad", rowDue: "warn", rowPending: "info"}

// schedule returns the table and the chart of the payment schedule, or nil if the contract has no schedule.
func (k *kind) schedule(v *visit.Visit, id string, record map[string]any) *scheduleView {
	list, _ := record["payment_schedule"].([]any)
	column := apispec.Named(k.read.ResponseFields, "payment_schedule")
	if len(list) == 0 || column == nil {
		return nil
	}
	areaTexts, w := textsOf(v), k.writer(v)
	today := k.handlers.cfg.Clock.Now().UTC().Format(time.DateOnly)
	shown := &scheduleView{Download: k.path(id, "schedule.csv"), Table: &table{Caption: areaTexts.Page.Schedule}}
	fields, counts := column.Entry.Fields, make(map[string]int)
	for i := range fields {
		shown.Table.Heads = append(shown.Table.Heads, head{w.Label(fields[i].Name), resource.IsNumber(&fields[i])})
	}
	for _, entry := range list {
		row, _ := entry.(map[string]any)
		status := textIn(row, "status")
		if due := textIn(row, "due_date"); status == rowPending && due < today {
			status = rowLate
		} else if status == rowPending && due == today {
			status = rowDue
		}
		counts[status]++
		var cells []cell
		for i := range fields {
			html := w.Value(&fields[i], row[fields[i].Name], row, record)
			if fields[i].Name == "status" {
				html = tag(rowTones[status], areaTexts.Rows[status])
			}
			cells = append(cells, cell{html, resource.IsNumber(&fields[i])})
		}
		shown.Table.Rows = append(shown.Table.Rows, cells)
	}
	open := len(list) - counts[rowPaid] - counts[rowLate]
	shown.Title = v.T.Fill(areaTexts.Page.ScheduleChart, "paid", v.T.Number(counts[rowPaid]), "late", v.T.Number(counts[rowLate]), "open", v.T.Number(open))
	shown.Chart = partsChart(v.T.Locale, shown.Title, []part{{"paid", counts[rowPaid]}, {"late", counts[rowLate]}, {"open", open}})
	return shown
}

// tag returns the HTML of a highlighted word.
func tag(tone, text string) template.HTML {
	return template.HTML(`<span class="tag ` + tone + `">` + template.HTMLEscapeString(text) + `</span>`)
}

// sendSchedule responds with the payment schedule as a CSV file.
func (k *kind) sendSchedule(v *visit.Visit) error {
	id, err := idOf(v)
	if err != nil {
		return err
	}
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: k.api(id, "schedule.csv")})
	if refused := answer.Refusal(); refused != nil {
		return refused
	}
	answer.SendTo(v.Request)
	return nil
}
