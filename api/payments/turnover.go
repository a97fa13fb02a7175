package payments

import (
	"maps"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	turnoveractor "mizan/actors/turnover"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/turnover"
)

// Turnover returns counts and sums of a partner's transactions for each day; *turnover.Counter of package
// actors/turnover implements it.
type Turnover interface {
	Read(turnoveractor.Query) (days []turnoveractor.DatedFigures, asOf ledger.Micros, err error)
}

// The default number and the maximum number of days in a response.
const (
	defaultDays = 30
	maxDays     = 366
)

// readTurnover is GET /turnover: counts and sums of a partner's transactions for each day of a period.
func (h *Handlers) readTurnover(req *web.Request) error {
	parameters := []string{"from", "to", "env", "currency"}
	isPartner := req.Principal.Partner != nil
	if !isPartner {
		parameters = append(parameters, "partner_id")
	}
	q := web.QueryOf(req.RequestCtx, parameters...)
	env, currency := q.Env(), acceptedCurrency(q)
	from, to := readDays(q, ledger.DateOf(h.cfg.Clock.Now()))
	number := int64(0)
	if !isPartner {
		number = readPartnerID(q)
	}
	if err := q.Problems.Err(); err != nil {
		return err
	}
	if !isPartner {
		org, err := h.organization(req)
		if err != nil {
			return err
		}
		if err := h.actAs(req, org, number); err != nil {
			return err
		}
	}
	days, asOf, err := h.cfg.Turnover.Read(turnoveractor.Query{Org: req.Principal.Org, Env: env, Partner: req.Principal.Partner.Number, From: from, To: to})
	if err != nil {
		return err
	}
	response := turnoverJSON{Data: []turnoverRow{}, Meta: turnoverMeta{from.String(), to.String(), web.Instant(asOf)}}
	for _, day := range days {
		for _, key := range slices.SortedFunc(maps.Keys(day.Day), turnover.Key.Compare) {
			if currency == "" || key.Currency == currency {
				response.Data = append(response.Data, newTurnoverRow(day.Date, env, key, day.Day[key]))
			}
		}
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, web.Marshal(response))
	return nil
}

// readDays returns the first and the last requested day.
func readDays(q *web.Query, today ledger.Date) (from, to ledger.Date) {
	to = readDay(q, "to", today)
	from = readDay(q, "from", to-defaultDays+1)
	switch {
	case from > to:
		q.Problems.Add("from", "from must not be after to")
	case to-from >= maxDays:
		q.Problems.Add("from", "from must be at most 366 days before to, both included")
	}
	return from, to
}

func readDay(q *web.Query, name string, ifAbsent ledger.Date) ledger.Date {
	text, sent := q.Sent(name)
	if !sent {
		return ifAbsent
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Before(time.Unix(0, 0)) {
		q.Problems.Add(name, name+" must be a day from 1970-01-01 on")
		return ifAbsent
	}
	return ledger.DateOf(day)
}

type turnoverJSON struct {
	Data []turnoverRow `json:"data"`
	Meta turnoverMeta  `json:"meta"`
}

type turnoverMeta struct {
	From string      `json:"from"`
	To   string      `json:"to"`
	AsOf web.Instant `json:"as_of"` // booked time of the organization's last event that the counts include
}

// turnoverRow has the counts and sums for one day, one type of transaction and one asset.
type turnoverRow struct {
	Day            string         `json:"day"`
	Type           string         `json:"type"`
	Currency       money.Currency `json:"currency"`
	Network        money.Network  `json:"network"`
	Env            string         `json:"env"`
	Scale          *int           `json:"scale"` // nil if the scale is not known; the amounts are then zero
	Attempts       uint64         `json:"attempts"`
	Charged        uint64         `json:"charged"`
	ChargedAmount  money.Amount   `json:"charged_amount"`
	Refunds        uint64         `json:"refunds"`
	RefundedAmount money.Amount   `json:"refunded_amount"`
	Reversals      uint64         `json:"reversals"`
	ReversedAmount money.Amount   `json:"reversed_amount"`
	Declines       []declineJSON  `json:"declines"`
	LastAt         web.Instant    `json:"last_at"`
}

type declineJSON struct {
	Code  payment.Code `json:"error_code"`
	Count uint64       `json:"count"`
}

func newTurnoverRow(day ledger.Date, env money.Env, key turnover.Key, f *turnover.Figures) turnoverRow {
	row := turnoverRow{
		Day: day.String(), Type: key.Type.String(), Currency: key.Currency, Network: key.Network, Env: env.String(),
		Attempts: f.Attempts(), Charged: f.Charges.Count, ChargedAmount: f.Charges.Amount, Refunds: f.Refunds.Count, RefundedAmount: f.Refunds.Amount,
		Reversals: f.Chargebacks.Count, ReversedAmount: f.Chargebacks.Amount, Declines: []declineJSON{}, LastAt: web.Instant(f.LastBooked),
	}
	if digits, isKnown := (money.Asset{Currency: key.Currency, Network: key.Network, Env: env}).Scale(); isKnown {
		row.Scale = &digits
	}
	for _, d := range f.Declines() {
		row.Declines = append(row.Declines, declineJSON(d))
	}
	return row
}
