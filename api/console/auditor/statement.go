package auditor

import (
	"net/url"

	"mizan/api/console/labels"
	"mizan/api/console/visit"
	"mizan/ledger"
)

// statementAddress returns the address of an account's statement, in the environment that the query names. The statement is for
// one asset or, if a is nil, for all assets of the account.
func statementAddress(path string, a *asset, q url.Values) string {
	own := url.Values{}
	if env := q.Get("env"); env != "" {
		own.Set("env", env)
	}
	if a != nil {
		own = ofAsset(own, a)
	}
	return address(accountsPath+"/"+url.PathEscape(path), own)
}

// line is a line of a statement. Either Debit or Credit is empty.
type line struct {
	statementLine
	Event         named
	Debit, Credit string
	IsHeld        bool // the posting only holds or releases money, so the posted balance stays the same
}

func newLine(l statementLine, event named) line {
	shown := line{statementLine: l, Event: event, IsHeld: l.Phase == ledger.Pending.String() || l.Phase == ledger.Void.String()}
	if l.Side == ledger.Debit.String() {
		shown.Debit = l.Amount
	} else {
		shown.Credit = l.Amount
	}
	return shown
}

type statementPage struct {
	Filters filters
	Path    string
	Class   string
	Asset   asset
	HasEnd  bool // the query names the last day of the period; otherwise the period ends now

	Choices          []nodeChoice // the account's assets, if the person must choose one
	Opening, Closing sidedBalance
	Debits, Credits  string // sums of the debits and of the credits that were posted in the period, in minor units
	Held             *totals
	Lines            []line
	Pager            pager
	CSV              string
}

// nodeChoice is an asset of an account that a person can choose. Address is the statement of this asset.
type nodeChoice struct {
	accountRow
	Balance sidedBalance
	Address string
}

// statementQuery are the parameters of a statement.
func statementQuery(v *visit.Visit) url.Values {
	return query(v, "env", "currency", "network", "from", "to", "limit", "cursor")
}

// linesQuery returns the API's parameters for the lines of a statement. It converts the days of the page's parameters to
// instants.
func linesQuery(q url.Values) url.Values {
	return with(q, "from", startOfDay(q.Get("from")), "to", endOfDay(q.Get("to")))
}

// showStatement is GET /console/ledger/accounts/{path}. It shows the postings of an account in a period, and the account's
// balance before and after the period.
func showStatement(v *visit.Visit) error {
	q := statementQuery(v)
	path := pathOf(v)
	p := statementPage{Path: path, Filters: filtersOf(accountsPath+"/"+url.PathEscape(path), q), Class: path[:min(1, len(path))]}
	problem, err := refusedFields(p.read(v, q))
	if err != nil {
		return err
	}
	crumbs := treeCrumbs(v, with(url.Values{}, "env", q.Get("env")), path+":")
	return v.Show(templates, "statement", visit.PageContent{Status: status(problem), Title: path, Problem: problem, Page: &p, Crumbs: crumbs[:max(1, len(crumbs)-1)]})
}

// pathOf returns the account that the request's path names.
func pathOf(v *visit.Visit) string {
	path, err := url.PathUnescape(v.Parameter("path"))
	if err != nil {
		return v.Parameter("path")
	}
	return path
}

func (p *statementPage) read(v *visit.Visit, q url.Values) error {
	own := with(q, "from", "", "to", "", "limit", "", "cursor", "")
	now, err := readAccount(v, p.Path, own)
	if err != nil {
		return err
	}
	if len(now) > 1 {
		for _, r := range now {
			p.Choices = append(p.Choices, nodeChoice{r, r.balanceOf(), statementAddress(p.Path, &r.Asset, q)})
		}
		return nil
	}
	if len(now) == 0 {
		return nil
	}
	p.Asset = now[0].Asset
	base := accountsPath + "/" + url.PathEscape(p.Path)
	p.CSV = address(base+"/statement.csv", with(q, "cursor", "", "limit", ""))
	if err := p.readPeriod(v, q, own, now[0].totals); err != nil {
		return err
	}
	l, err := readList[statementLine](v, apiAccounts+url.PathEscape(p.Path)+"/postings", linesQuery(q))
	if err != nil {
		return err
	}
	t := labels.In(v.T.Lang)
	for _, r := range l.Data {
		p.Lines = append(p.Lines, newLine(r, eventNamed(t, r.Kind, r.Name)))
	}
	p.Pager = pagerOf(base, q, l.Cursor.Value)
	return nil
}

// readPeriod reads the balances before and after the period. now contains the account's present totals.
func (p *statementPage) readPeriod(v *visit.Visit, q, own url.Values, now totals) error {
	at := func(instant string) (t totals, err error) {
		rows, err := readAccount(v, p.Path, with(own, "at", instant))
		if err == nil && len(rows) > 0 {
			t = rows[0].totals
		}
		return t, err
	}
	opening, closing := totals{}, now
	var err error
	if to := q.Get("to"); to != "" {
		p.HasEnd = true
		if closing, err = at(endOfDay(to)); err != nil {
			return err
		}
	}
	if before, ok := dayBefore(q.Get("from")); ok {
		if opening, err = at(before); err != nil {
			return err
		}
	}
	p.Opening, p.Closing = opening.balanceOf(), closing.balanceOf()
	p.Debits, p.Credits = closing.movedSince(&opening)
	if closing.Held() {
		p.Held = &closing
	}
	return nil
}
