package partner

import (
	"encoding/csv"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger"
)

// line is a posting on the partner's account, with the account's balance after the posting.
type line struct {
	Seq           int64
	Kind          string // the API's word for the kind of the posting's record
	Source, Event string
	At            string `json:"booked_at"`
	Side, Amount  string
	Phase         string
	Balance       string
}

// IsPayment tells whether the posting's record is a transaction. Transactions have a page to which the line can link.
func (l *line) IsPayment() bool { return l.Kind == ledger.Transaction.Word() }

// IsDebit tells whether the posting is on the debit side.
func (l *line) IsDebit() bool { return l.Side == "debit" }

// showBalances shows the partner's balance in each currency.
func (h *Handlers) showBalances(v *visit.Visit) error {
	var balances struct{ Data []balance }
	if err := v.Get(v1+"/balances", nil, &balances); err != nil {
		return err
	}
	return v.Show(templates, "balances", visit.PageContent{Title: textsOf(v).Record("balances"), Page: balances.Data})
}

// statementPage is the data for the template of an account statement.
type statementPage struct {
	Currency, Network string
	Filters           any
	Problems          any
	Lines             []line
	Empty             string
	Next, First       string
	Download          string
}

// statementParameters are the API's parameters that the address of a statement may contain.
var statementParameters = []string{"currency", "network", "env", "from", "to", "limit", "cursor"}

// statementQuery reads the filters in the address of a statement's page. It returns the path and the query of the request to
// the API, the fields of the filters, and what is wrong with the address.
func (h *Handlers) statementQuery(v *visit.Visit) (path string, fields []apispec.Field, requestedQuery url.Values, problems *form.Problems) {
	fields = form.Of(h.catalog.Operation("listPostings").Filters, statementParameters...)
	query := v.Params()
	requestedQuery, problems = form.FilterQuery(textsOf(v).Texts, fields, query)
	account := ledger.PartnerAvailable(v.Partner().Number)
	return v1 + "/ledger/accounts/" + url.PathEscape(string(account)) + "/postings", fields, requestedQuery, problems
}

// showStatement shows the lines of the partner's account in one currency, newest first.
func (h *Handlers) showStatement(v *visit.Visit) error {
	t, query := textsOf(v), v.Params()
	page, status := statementPage{Currency: query.Get("currency"), Network: query.Get("network")}, 0
	path, fields, requestedQuery, problems := h.statementQuery(v)
	if problems.None() {
		answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: path, Query: requestedQuery})
		switch answer.Status {
		case fiber.StatusUnprocessableEntity:
			problems = form.RefusedBy(answer.Refusal())
		case fiber.StatusNotFound: // nothing was ever booked in this currency
		default:
			var list struct {
				Data   []line
				Cursor struct {
					Value *string `json:"cursor_value"`
				}
			}
			if err := answer.Decode(&list); err != nil {
				return err
			}
			page.Lines = list.Data
			page.Next, page.First = pagesOf(balancesPath+"/statement", query, list.Cursor.Value)
		}
	}
	if !problems.None() && page.Currency != "" { // if the address has no currency, the page asks for one, with status 200
		status = fiber.StatusUnprocessableEntity
	}
	if len(page.Lines) == 0 && status == 0 {
		page.Empty = t.Balance.NoLines
	}
	filters := form.NewFilters(t.Texts, "balances", balancesPath+"/statement", form.Without(fields, "limit", "cursor"), query, problems)
	if page.Currency != "" { // removing the filters keeps the currency, because the page needs one
		filters.Clear = balancesPath + "/statement?" + url.Values{"currency": {page.Currency}, "network": {page.Network}, "env": {query.Get("env")}}.Encode()
	}
	page.Filters, page.Problems = filters.HTML(), filters.Problems()
	download := url.Values{}
	for _, name := range statementParameters[:5] {
		if value := query.Get(name); value != "" {
			download.Set(name, value)
		}
	}
	page.Download = balancesPath + "/" + statementFileName + "?" + download.Encode()
	title := t.Balance.Statement
	if page.Currency != "" && problems.None() {
		title = t.Fill(t.Balance.Of, "currency", page.Currency)
	}
	return v.Show(templates, "statement", visit.PageContent{Status: status, Title: title, Crumbs: []view.Crumb{{Title: t.Record("balances"), Path: balancesPath}}, Page: page})
}

// Limits for the CSV file of a statement.
const (
	linesOfRequest = "500"  // number of lines that one request to the API reads
	maxLines       = 20_000 // number of lines from which a statement is refused as too long
)

// statementColumns are the columns of a statement's CSV file. They have the same names as in the API.
var statementColumns = []string{"seq", "booked_at", "event", "source", "phase", "debit", "credit", "balance", "currency", "network"}

// sendStatement responds with a statement as a CSV file: all lines of the period, newest first, with amounts in minor units.
func (h *Handlers) sendStatement(v *visit.Visit) error {
	path, _, requestedQuery, problems := h.statementQuery(v)
	if !problems.None() {
		return &web.RefusedError{Status: fiber.StatusBadRequest, Code: string(web.BadRequest)}
	}
	requestedQuery.Set("limit", linesOfRequest)
	requestedQuery.Del("cursor")
	var file strings.Builder
	w := csv.NewWriter(&file)
	_ = w.Write(statementColumns) // writing to a strings.Builder can't fail
	for count := 0; ; {
		var list struct {
			Data   []line
			Cursor struct {
				Value *string `json:"cursor_value"`
			}
		}
		answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: path, Query: requestedQuery})
		if answer.Status == fiber.StatusNotFound { // nothing was ever booked in this currency
			break
		}
		if err := answer.Decode(&list); err != nil {
			return err
		}
		for i := range list.Data {
			_ = w.Write(list.Data[i].columns(requestedQuery.Get("currency"), requestedQuery.Get("network")))
		}
		if list.Cursor.Value == nil {
			break
		}
		if count += len(list.Data); count >= maxLines {
			t := textsOf(v)
			return v.Show(view.Notice, view.NoticeName, visit.PageContent{Status: fiber.StatusUnprocessableEntity, Title: t.Balance.Statement, Page: t.Fill(t.Balance.TooLong, "n", t.Number(maxLines))})
		}
		requestedQuery.Set("cursor", *list.Cursor.Value)
	}
	w.Flush()
	v.SendFile(statementFileName, "text/csv; charset=utf-8", []byte(file.String()))
	return nil
}

// columns returns the line's values in the order of statementColumns.
func (l *line) columns(currency, network string) []string {
	cells := []string{strconv.FormatInt(l.Seq, 10), l.At, l.Event, l.Source, l.Phase, "", l.Amount, l.Balance, currency, network}
	if l.IsDebit() {
		debit := slices.Index(statementColumns, "debit")
		cells[debit], cells[debit+1] = l.Amount, ""
	}
	return cells
}
