package partner

import (
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/form"
	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
)

// How many rows the page of a payment shows.
const (
	maxSteps      = "100" // events in one page of the timeline
	maxDeliveries = "50"
)

// step is one step in the timeline of a payment: an event, the entry that it booked, and its notifications.
type step struct {
	Seq        int64
	Event      string
	From, To   *string
	At         string `json:"booked_at"`
	Entry      *entry
	Deliveries []delivery `json:"-"`
}

// Clock returns the time of the day with milliseconds, because several steps may occur in the same second.
func (s *step) Clock() string {
	at, err := time.Parse(time.RFC3339Nano, s.At)
	if err != nil {
		return ""
	}
	return at.UTC().Format("15:04:05.000 UTC")
}

// IsMove tells whether the event changed the payment's status.
func (s *step) IsMove() bool { return s.To != nil && (s.From == nil || *s.From != *s.To) }

// StatusClass returns the CSS class for the status after the event.
func (s *step) StatusClass() string { return StatusClass(*s.To) }

// entry is the ledger entry that an event booked.
type entry struct {
	Phase    string
	Postings []posting
}

type posting struct {
	Account, Side, Amount string
	Asset                 struct{ Currency, Network string }
}

// delivery is a notification and the attempts to deliver it.
type delivery struct {
	ID       string `json:"event_id"`
	Channel  string
	Type     *string
	State    string
	At       string  `json:"booked_at"`
	Next     *string `json:"next_at"`
	Attempts []attempt
	Count    int `json:"-"`
}

// StatusClass returns the CSS class for the state of the delivery.
func (d delivery) StatusClass() string { return StatusClass(d.State) }

// attempt is one attempt to deliver a notification.
type attempt struct {
	At       string
	Status   *int
	Error    *string
	Duration int `json:"duration_ms"`
}

// tried is one attempt to charge a payment at a terminal.
type tried struct {
	Terminal string `json:"terminal_id"`
	Name     *string
	Outcome  string
	Code     *string `json:"error_code"`
	At       string
	Attempt  int
}

// paymentPage is the data for the template of a payment's page.
type paymentPage struct {
	*transaction
	Left     string
	Actions  []string // the operations that may be tried now, by their names in addresses
	IsOwner  bool
	Steps    []*step
	More     string // address of the page with earlier steps; empty if there are none
	Others   []delivery
	Routing  []tried
	Meta     string // the merchant's data as JSON; empty if there is none
	Replay   string // path of the pages on which a person can send notifications again
	Original string // id of the returned payment if the transaction is a return, otherwise empty
}

// showPayment shows the page of a transaction.
func (h *Handlers) showPayment(v *visit.Visit) error {
	id := v.Parameter("id")
	_, x, err := fetch(v, id)
	if err != nil {
		return err
	}
	t := textsOf(v)
	page := &paymentPage{transaction: x, IsOwner: isOwner(v), Replay: view.Root + "admin/deliveries"}
	if page.IsOwner {
		page.Actions, page.Replay = x.possible(), webhooksPath+"/deliveries"
	}
	if slices.Contains(page.Actions, refundName) {
		page.Left = x.left().String()
	}
	if page.Meta, page.Original = metadataOf(x.Metadata); page.Meta == "{}" {
		page.Meta = ""
	}
	if err := page.addSteps(v); err != nil {
		return err
	}
	if err := page.addDeliveries(v); err != nil {
		return err
	}
	var routing struct{ Data []tried }
	if err := v.Get(v1+"/transactions/"+url.PathEscape(x.ID)+"/routing", nil, &routing); err != nil {
		return err
	}
	page.Routing = routing.Data
	title := t.Payment.Title
	if x.Type == "payout" {
		title = t.Payment.Payout
	}
	return v.Show(templates, "payment", visit.PageContent{Title: t.Fill(title, "amount", amountOf(v, x.Amount, x)), Crumbs: []view.Crumb{{Title: t.Record("payments"), Path: paymentsPath}}, Page: page})
}

// metadataOf returns the merchant's data as indented JSON and, if the transaction is a return, the id of the returned payment.
func metadataOf(raw json.RawMessage) (text, original string) {
	object := form.ReadObject(raw)
	original, _ = object["reversal_of"].(string)
	if object == nil {
		return "", ""
	}
	return form.Indented(object), original
}

// addSteps reads the events of the payment, oldest first.
func (p *paymentPage) addSteps(v *visit.Visit) error {
	query := url.Values{"source": {p.ID}, "limit": {maxSteps}}
	if cursor := v.Query("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	answer := v.Call(web.InternalRequest{Method: fiber.MethodGet, Path: v1 + "/ledger/events", Query: query})
	var list struct {
		Data   []*step
		Cursor struct {
			Value *string `json:"cursor_value"`
		}
	}
	if err := answer.Decode(&list); err != nil {
		return asUnknown(err) // if the cursor is malformed, the response is 404
	}
	slices.Reverse(list.Data)
	p.Steps = list.Data
	p.More, _ = pagesOf(paymentsPath+"/"+p.ID, url.Values{}, list.Cursor.Value)
	return nil
}

// addDeliveries reads the payment's notifications with their attempts. It adds each notification to the event that was booked
// at the same time.
func (p *paymentPage) addDeliveries(v *visit.Visit) error {
	var list struct {
		Data []struct {
			ID string `json:"event_id"`
		}
	}
	if err := v.Get(v1+"/deliveries", url.Values{"transaction_id": {p.ID}, "limit": {maxDeliveries}}, &list); err != nil {
		return err
	}
	for _, row := range slices.Backward(list.Data) {
		var one struct{ Data delivery }
		if err := v.Get(v1+"/deliveries/"+url.PathEscape(row.ID), nil, &one); err != nil {
			return err
		}
		at := slices.IndexFunc(p.Steps, func(s *step) bool { return s.At == one.Data.At })
		if at < 0 {
			p.Others = append(p.Others, one.Data)
		} else {
			p.Steps[at].Deliveries = append(p.Steps[at].Deliveries, one.Data)
		}
	}
	return nil
}
