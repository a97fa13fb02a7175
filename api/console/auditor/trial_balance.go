package auditor

import (
	"cmp"
	"net/url"

	"mizan/api/console/visit"
)

// filters are the parameters of a page as its form shows them.
type filters struct {
	url.Values
	Envs   []choice
	Bys    []choice
	Limits []choice
}

// Keep returns the named parameters that have a value, as hidden fields. A page's form has no visible fields for them.
func (f filters) Keep(names ...string) (kept []field) {
	for _, name := range names {
		if f.Has(name) {
			kept = append(kept, field{name, f.Get(name)})
		}
	}
	return kept
}

type field struct{ Name, Value string }

// choice is a value of a parameter.
type choice struct {
	Value, Address string
	IsChosen       bool
}

// choices returns the values of a parameter, each with the address of the page that selects it. The first value is the default.
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

// assetTotals is a row of the totals of all accounts.
type assetTotals struct {
	totals
	Balance sided // the difference of debits and credits
	Address string
}

// IsBalanced tells whether the debits equal the credits.
func (t *assetTotals) IsBalanced() bool { return isZero(t.Balance.Amount) }

// dayTotals are the totals of all accounts on a day.
type dayTotals struct {
	Env        string
	Day        string // empty: now
	Rows       []assetTotals
	IsBalanced bool
}

// newDayTotals returns the totals of a day.
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
	Balance sided
	Address string

	Earlier         sided  // the balance on the day to compare with
	Debits, Credits string // sums of the amounts that were posted since then, in minor units
}

type trialPage struct {
	Filters   filters
	AllAssets string      // address of the page without the choice of an asset
	Days      []dayTotals // one day, or two days to compare; none on later pages of the list
	Rows      []trialRow
	Compare   bool
	HasHeld   bool // money is held on one of the accounts
	Pager     pager
}

// showTrialBalance is GET /console/ledger/trial-balance: the totals of all accounts in each asset, and a page of the accounts, as
// of a day. With the parameter since, it also shows the balances as of an earlier day, and the amounts posted in between.
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

// readAccount reads an account as of the moment in q. The result has a row for each asset.
func readAccount(v *visit.Visit, path string, q url.Values) ([]accountRow, error) {
	l, err := readList[accountRow](v, apiAccounts+url.PathEscape(path), q)
	return l.Data, err
}
