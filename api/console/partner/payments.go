package partner

import (
	"encoding/json"
	"html/template"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/apispec"
	"mizan/api/console/form"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// transaction is a transaction as the API returns it.
type transaction struct {
	ID           string
	TxID         *string
	Type, Status string
	Why          string  `json:"error_description"`
	Code         *string `json:"error_code"`
	Amount       string
	Total        string  `json:"amount_with_fee"`
	Dest         string  `json:"amount_dest"`
	Merchant     string  `json:"merchant_amount"`
	Captured     *string `json:"captured_amount"`
	Currency     string
	DestCurrency string `json:"currency_dest"`
	DestNetwork  string `json:"network_dest"`
	Network, Env string
	Rate         string `json:"currency_rate"`
	Description  *string
	Metadata     json.RawMessage                           `json:"merchant_meta"`
	Method       *struct{ Type, Brand, BIN, Last4 string } `json:"payment_method"`
	Customer     json.RawMessage
	Started      string
	Finished     *string
	Route, RRN   string
	HoldUntil    *string `json:"hold_expires_at"`
	ReturnID     *string `json:"return_id"`
	LinkID       *string `json:"link_id"`
	Refunds      []refund
}

// refund is a refund of a transaction.
type refund struct {
	ID                string `json:"refund_id"`
	Amount            string
	Fee               string `json:"fee_amount"`
	Status            string
	Code              *string `json:"error_code"`
	Message           string  `json:"msg"`
	Created, Finished string
}

// left returns the amount of a payment that can still be refunded.
func (t *transaction) left() money.Amount {
	settled := t.Amount
	if t.Captured != nil {
		settled = *t.Captured
	}
	left, _ := money.Parse(settled)
	for i := range t.Refunds {
		amount, err := money.Parse(t.Refunds[i].Amount)
		if remaining, underflow := left.Sub(amount); err == nil && underflow == nil && t.Refunds[i].Status != "failed" {
			left = remaining
		}
	}
	return left
}

// StatusClass returns the CSS class for a status. The class shows whether the status is good, bad or neither.
func StatusClass(status string) string {
	switch status {
	case "charged", "succeeded", "delivered":
		return "good"
	case "rejected", "failed", "parked", "reversed":
		return "bad"
	case "refunded", "refunding", "payment_suspended", "payout_suspended":
		return "warn"
	}
	return "info"
}

// StatusClass returns the CSS class for the status.
func (t *transaction) StatusClass() string { return StatusClass(t.Status) }

// StatusClass returns the CSS class for the status.
func (r refund) StatusClass() string { return StatusClass(r.Status) }

// paymentsPage is the data for the template that lists payments.
type paymentsPage struct {
	Filters  template.HTML
	Problems template.HTML
	Rows     []transaction
	Empty    string
	Next     string
	First    string
}

// shownFilters are the names of the list's filters, in the order in which the page shows them.
var shownFilters = []string{"env", "status", "type", "started_from", "started_to", "amount_from", "amount_to", "rrn", "link_id"}

// statuses are the statuses by which the list can be filtered.
var statuses = []string{
	"created", "action_required", "charging", "payment_suspended", "payout_suspended", "charged", "refunding", "refunded", "reversed", "rejected", "failed",
}

// filters returns the filters that the person who visits the page may use.
func (h *Handlers) filters(v *visit.Visit) []apispec.Field {
	all := h.catalog.Operation("listTransactions").Filters
	fields := form.Of(all, shownFilters...)
	for i := range fields {
		switch f := &fields[i]; f.Name {
		case "status": // the API takes any text, because providers may have statuses of their own
			f.Kind, f.Words = apispec.Word, statuses
		case "started_from", "started_to": // the API accepts a day or an instant; the form offers only a day
			f.Kind = apispec.Day
		}
	}
	if v.Partner() == nil {
		partner := form.Of(all, "partner_id")
		partner[0].Required = true
		fields = append(partner, fields...)
	}
	return append(fields, form.Of(all, "limit", "cursor")...)
}

// listPayments shows the list of transactions.
func (h *Handlers) listPayments(v *visit.Visit) error {
	t, query := textsOf(v), v.Params()
	page, status := paymentsPage{}, 0
	fields := h.filters(v)
	requestedQuery, problems := form.FilterQuery(t.Texts, fields, query)
	switch {
	case v.Partner() == nil && query.Get("partner_id") == "":
		page.Empty = t.Payment.ChoosePartner
	case problems.None():
		answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: v1 + "/transactions", Query: requestedQuery})
		if answer.Status == fiber.StatusUnprocessableEntity {
			problems = form.RefusedBy(answer.Refusal())
			break
		}
		var list struct {
			Data   []transaction
			Cursor struct {
				Value *string `json:"cursor_value"`
			}
		}
		if err := answer.Decode(&list); err != nil {
			return err
		}
		page.Rows = list.Data
		page.Next, page.First = pagesOf(paymentsPath, query, list.Cursor.Value)
	}
	if !problems.None() {
		status = fiber.StatusUnprocessableEntity
	}
	filters := form.NewFilters(t.Texts, "payments", paymentsPath, form.Without(fields, "limit", "cursor"), query, problems)
	page.Filters, page.Problems = filters.HTML(), filters.Problems()
	if page.Empty == "" && len(page.Rows) == 0 && status == 0 {
		if page.Empty = t.Payment.Empty; filters.IsFiltered {
			page.Empty = t.List.NoneFor
		}
	}
	return v.Show(templates, "payments", visit.PageContent{Status: status, Title: t.Record("payments"), Page: page})
}

// pagesOf returns the addresses of the list's next page and first page. next is empty on the last page, and first is empty on
// the first page.
func pagesOf(path string, query url.Values, cursor *string) (next, first string) {
	address := func(cursor string) string {
		values := url.Values{}
		for name, list := range query {
			values[name] = list
		}
		if values.Del("cursor"); cursor != "" {
			values.Set("cursor", cursor)
		}
		if len(values) == 0 {
			return path
		}
		return path + "?" + values.Encode()
	}
	if cursor != nil && *cursor != "" {
		next = address(*cursor)
	}
	if query.Get("cursor") != "" {
		first = address("")
	}
	return next, first
}

// isOwner tells whether the person belongs to the partner, and so may change the partner's payments.
func isOwner(v *visit.Visit) bool { return v.Has(directory.PartnerRole) && v.Partner() != nil }

// fetch reads a transaction. A malformed id causes the same error as an unknown id.
func fetch(v *visit.Visit, id string) (raw []byte, x *transaction, err error) {
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: v1 + "/transactions/" + url.PathEscape(id)})
	if err := answer.Decode(&x); err != nil {
		return nil, nil, asUnknown(err)
	}
	return answer.Body, x, nil
}

// asUnknown changes the status for a malformed id or cursor (422) to the status for an unknown id (404).
func asUnknown(err error) error {
	if refused, ok := err.(*web.RefusedError); ok && refused.Status == fiber.StatusUnprocessableEntity {
		refused.Status = fiber.StatusNotFound
	}
	return err
}
