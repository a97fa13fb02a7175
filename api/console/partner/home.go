package partner

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mizan/api/console/visit"
	"mizan/ledger/money"
)

// turnoverRow is a row in the response to GET /turnover.
type turnoverRow struct {
	Day            string
	Type           string
	Currency       string
	Network        string
	Attempts       int
	Charged        int
	ChargedAmount  money.Amount `json:"charged_amount"`
	Refunds        int
	RefundedAmount money.Amount `json:"refunded_amount"`
	Reversals      int
	ReversedAmount money.Amount `json:"reversed_amount"`
	Declines       []decline
}

type decline struct {
	Code  string `json:"error_code"`
	Count int
}

// figures are the number of transactions in a period and their total amounts, for one type of transaction and one asset.
type figures struct {
	Attempts, Charged, Refunds, Reversals int
	Amount, Refunded, Reversed            money.Amount
}

// add adds a row. If a sum would overflow, the row's amount is left out, which never happens with amounts that the service has
// accepted.
func (f *figures) add(r *turnoverRow) {
	f.Attempts += r.Attempts
	f.Charged += r.Charged
	f.Refunds += r.Refunds
	f.Reversals += r.Reversals
	for _, sum := range [...]struct {
		to *money.Amount
		by money.Amount
	}{{&f.Amount, r.ChargedAmount}, {&f.Refunded, r.RefundedAmount}, {&f.Reversed, r.ReversedAmount}} {
		if added, err := sum.to.Add(sum.by); err == nil {
			*sum.to = added
		}
	}
}

// period has the figures of one period, such as today.
type period struct {
	Name     string
	Payments figures
	Payouts  figures
}

// dayFigures has the figures of the payments on one day.
type dayFigures struct {
	Day      string
	Payments figures
}

// assetFigures has what the first page shows for one currency and network.
type assetFigures struct {
	Currency, Network string
	Periods           []*period // today, yesterday and all days together
	Days              []dayFigures
}

// reason is an error code, with the number of payments that failed with it.
type reason struct {
	Code  string
	Count int
	Share string
}

// balance is a row in the response to GET /balances.
type balance struct {
	Currency, Network, Env string
	Available, Pending     string
}

// homePage is the data for the template of the first page.
type homePage struct {
	Env      string
	Assets   []*assetFigures
	Reasons  []reason
	Balances []balance
	AsOf     string
}

// environments are the possible values of the parameter env.
var environments = []string{money.Prod.String(), money.Test.String()}

// envOf returns the environment that the page's address names, or prod if it names none.
func envOf(v *visit.Visit) string {
	if env := v.Query("env"); slices.Contains(environments, env) {
		return env
	}
	return environments[0]
}

// Environments returns the environments to which the page links.
func (p *homePage) Environments() []string { return environments }

// Home shows a partner's first page, with the turnover of today, of yesterday and of the last thirty days.
func (h *Handlers) Home(v *visit.Visit) error {
	page := &homePage{Env: envOf(v)}
	query := url.Values{"env": {page.Env}}
	var turnover struct {
		Data []turnoverRow
		Meta struct {
			From, To string
			AsOf     string `json:"as_of"`
		}
	}
	if err := v.Get(v1+"/turnover", query, &turnover); err != nil {
		return err
	}
	var balances struct{ Data []balance }
	if err := v.Get(v1+"/balances", query, &balances); err != nil {
		return err
	}
	page.Balances = balances.Data
	t := textsOf(v)
	if at, err := time.Parse(time.RFC3339Nano, turnover.Meta.AsOf); err == nil {
		page.AsOf = t.Fill(t.Home.AsOf, "time", t.ShortDateTime(at))
	}
	page.Assets = assetsOf(t, turnover.Data, turnover.Meta.From, turnover.Meta.To)
	page.Reasons = reasonsOf(t, turnover.Data)
	return v.Show(templates, "home", visit.PageContent{Title: t.Texts.Home.Title, Page: page})
}

// assetsOf groups the rows by asset. The asset with the most attempted transactions comes first.
func assetsOf(t *Texts, rows []turnoverRow, from, to string) (assets []*assetFigures) {
	days := daysBetween(from, to)
	today, yesterday := days[0], days[min(1, len(days)-1)]
	for i := range rows {
		r := &rows[i]
		at := slices.IndexFunc(assets, func(a *assetFigures) bool { return a.Currency == r.Currency && a.Network == r.Network })
		if at < 0 {
			a := &assetFigures{Currency: r.Currency, Network: r.Network, Periods: []*period{{Name: t.Home.Today}, {Name: t.Home.Yesterday}, {Name: t.Home.Month}}}
			for _, day := range days {
				a.Days = append(a.Days, dayFigures{Day: day})
			}
			at, assets = len(assets), append(assets, a)
		}
		a := assets[at]
		for n, is := range [...]bool{r.Day == today, r.Day == yesterday, true} {
			switch {
			case is && r.Type == "payment":
				a.Periods[n].Payments.add(r)
			case is:
				a.Periods[n].Payouts.add(r)
			}
		}
		if day := slices.Index(days, r.Day); r.Type == "payment" && day >= 0 {
			a.Days[day].Payments.add(r)
		}
	}
	attempts := func(a *assetFigures) int { return a.Periods[2].Payments.Attempts + a.Periods[2].Payouts.Attempts }
	slices.SortStableFunc(assets, func(a, b *assetFigures) int { return attempts(b) - attempts(a) })
	return assets
}

// daysBetween returns all days from one day to another, including both. The latest day comes first.
func daysBetween(from, to string) (days []string) {
	first, err := time.Parse(time.DateOnly, from)
	last, lastErr := time.Parse(time.DateOnly, to)
	for day := last; err == nil && lastErr == nil && !day.Before(first); day = day.AddDate(0, 0, -1) {
		days = append(days, day.Format(time.DateOnly))
	}
	if days == nil {
		return []string{to}
	}
	return days
}

// reasonsOf counts the failed payments for each error code. The most frequent code comes first.
func reasonsOf(t *Texts, rows []turnoverRow) (reasons []reason) {
	total := 0
	for i := range rows {
		if rows[i].Type != "payment" {
			continue
		}
		for _, d := range rows[i].Declines {
			total += d.Count
			at := slices.IndexFunc(reasons, func(r reason) bool { return r.Code == d.Code })
			if at < 0 {
				at, reasons = len(reasons), append(reasons, reason{Code: d.Code})
			}
			reasons[at].Count += d.Count
		}
	}
	for i := range reasons {
		reasons[i].Share = t.percent(reasons[i].Count, total)
	}
	slices.SortStableFunc(reasons, func(a, b reason) int { return b.Count - a.Count })
	return reasons
}

// Rate returns the percentage of attempts that succeeded. It is empty if there were no attempts.
func (t *Texts) Rate(f figures) string {
	if f.Attempts == 0 {
		return ""
	}
	return t.percent(f.Charged, f.Attempts)
}

// percent returns a part as a percentage of the whole, with one decimal place. The percentage is rounded down, so a part that
// is less than the whole is never shown as 100%.
func (t *Texts) percent(part, whole int) string {
	const parts = 1_000
	share := part * parts / whole
	number := strconv.Itoa(share / 10)
	if tenth := share % 10; tenth != 0 {
		number += string(t.Separators().Decimal) + strconv.Itoa(tenth)
	}
	return t.Fill(t.Home.Percent, "number", number)
}

// Major returns an amount in major units with a decimal point, in a form that scripts can read. It is empty if the asset's
// number of decimal places is unknown.
func (a *assetFigures) Major(amount money.Amount) string {
	asset := money.Asset{Currency: money.Currency(a.Currency), Network: money.Network(a.Network), Env: money.Prod}
	digits, isKnown := asset.Scale()
	if !isKnown {
		return ""
	}
	text := amount.String()
	if missing := digits + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	if digits == 0 {
		return text
	}
	return text[:len(text)-digits] + "." + text[len(text)-digits:]
}

// Unix returns the beginning of the day in seconds since 1970, for scripts.
func (d *dayFigures) Unix() int64 {
	at, err := time.Parse(time.DateOnly, d.Day)
	if err != nil {
		return 0
	}
	return at.Unix()
}
