package auditor

import (
	"cmp"
	"net/url"

	"mizan/api/console/visit"
)

// filters are the parameters of a page, in the form in which the page shows them.
type filters struct {
	url.Values
	Envs   []choice
	Bys    []choice
	Limits []choice
}

// Keep returns hidden fields for the named parameters that have a value. The form has no visible fields for these parameters.
func (f filters) Keep(names ...string) (kept []field) {
	for _, name := range names {
		if f.Has(name) {
			kept = append(kept, field{name, f.Get(name)})
		}
	}
	return kept
}

type field struct{ Name, Value string }

// choice is a value that a person can choose for a parameter.
type choice struct {
	Value, Address string
	IsChosen       bool
}

// choices returns the values of a parameter. Each value has a link to the page that results if the value is chosen. The first
// value is the default.
func choices(path string, q url.Values, name string, values ...string) (list []choice) {
	chosen := q.Get(name)
	if chosen == "" {
		chosen = values[0]
	}
	for i, value := range values {
		set := value
		if i == 0 {
			set = ""
		}
		list = append(list, choice{value, address(path, with(q, name, set, "cursor", "")), value == chosen})
	}
	return list
}

func filtersOf(path string, q url.Values) filters {
	return filters{q, choices(path, q, "env", "prod", "test"), choices(path, q, "by", "booked", "effective"), choices(path, q, "limit", "50", "100", "500")}
}

// assetTotals contains the totals of all accounts in one asset.
type assetTotals struct {
	totals
	Balance sidedBalance // the difference between debits and credits
	Address string
}

// IsBalanced tells whether the debits equal the credits.
func (t *assetTotals) IsBalanced() bool { return isZero(t.Balance.Amount) }

// dayTotals contains the totals of all accounts at the end of a day, for each asset.
type dayTotals struct {
	Env        string
	Day        string // empty for the present moment
	Rows       []assetTotals
	IsBalanced bool
}

// newDayTotals returns the totals of all accounts at the end of a day.
func newDayTotals(q url.Values, day string, rows []totals) dayTotals {
	d := dayTotals{Env: cmp.Or(q.Get("env"), "prod"), Day: day, IsBalanced: true}
	for _, r := range rows {
		t := assetTotals{totals: r, Balance: r.balanceOf(), Address: address(trialPath, ofAsset(with(q, "cursor", ""), &r.Asset))}
		d.Rows, d.IsBalanced = append(d.Rows, t), d.IsBalanced && t.IsBalanced()
	}
	return d
}

// trialRow is an account of the trial balance.
type trialRow struct {
	accountRow
	Balance sidedBalance
	Address string

	Earlier         sidedBalance // the balance at the end of the earlier day
	Debits, Credits string       // sums of the debits and of the credits that were posted since that day, in minor units
}

type trialPage struct {
	Filters   filters
	AllAssets string      // address of the page for all assets
	Days      []dayTotals // one day, or two days to compare; empty on the second and later pages of the list
	Rows      []trialRow
	Compare   bool
	HasHeld   bool // at least one of the accounts contains held money
	Pager     pager
}

// showTrialBalance is GET /console/ledger/trial-balance. It shows the totals of all accounts in each asset, and a page of the
// list of accounts, at the end of a day. If there is a parameter since, it also shows the balances at the end of that earlier
// day, and the amounts that were posted in between.
func showTrialBalance(v *visit.Visit) error {
	q := query(v, "env", "by", "at", "since", "currency", "network", "limit", "cursor")
	p := trialPage{Filters: filtersOf(trialPath, q), AllAssets: address(trialPath, allAssets(q)), Compare: q.Get("since") != ""}
	problem, err := refusedFields(p.read(v, q))
	if err != nil {
		return err
	}
	return v.Show(templates, "trial_balance", visit.PageContent{Status: status(problem), Title: v.T.Menu["trialBalance"], Problem: problem, Page: &p})
}

// asOf returns the API's parameters for the balances at the end of the days in the query.
func asOf(q url.Values) url.Values {
	at, since := q.Get("at"), q.Get("since")
	if q.Get("by") != "effective" {
		at, since = endOfDay(at), endOfDay(since)
	}
	return with(q, "at", at, "since", since)
}

func (p *trialPage) read(v *visit.Visit, q url.Values) error {
	var l struct {
		list[accountRow]
		Totals []totals
	}
	if err := v.Get(apiTrial, with(asOf(q), "totals", "true"), &l); err != nil {
		return err
	}
	if !q.Has("cursor") {
		if p.Compare {
			var earlier []totals
			for _, t := range l.Totals {
				t.Since.Asset = t.Asset
				earlier = append(earlier, *t.Since)
			}
			p.Days = append(p.Days, newDayTotals(q, q.Get("since"), earlier))
		}
		p.Days = append(p.Days, newDayTotals(q, q.Get("at"), l.Totals))
	}
	for _, r := range l.Data {
		row := trialRow{accountRow: r, Balance: r.balanceOf(), Address: statementAddress(r.Account, &r.Asset, q)}
		if p.Compare {
			row.Earlier = r.Since.balanceOf()
			row.Debits, row.Credits = r.movedSince(r.Since)
		}
		p.HasHeld = p.HasHeld || r.Held()
		p.Rows = append(p.Rows, row)
	}
	p.Pager = pagerOf(trialPath, q, l.Cursor.Value)
	return nil
}

// readAccount reads an account's balances at the moment that q names. The result contains one row for each of the account's
// assets.
func readAccount(v *visit.Visit, path string, q url.Values) ([]accountRow, error) {
	l, err := readList[accountRow](v, apiAccounts+url.PathEscape(path), q)
	return l.Data, err
}
