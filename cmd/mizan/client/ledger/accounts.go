package ledgerclient

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/cmd/mizan/client"
	"mizan/ledger/money"
)

// The columns of a table of accounts and totals, the headings of the columns, and the order in which a narrow terminal leaves
// columns out.
var (
	totalsColumns  = []string{"account", "asset.currency", "asset.network", "debits_posted", "credits_posted", "debits_pending", "credits_pending", "balance"}
	totalsHeadings = map[string]string{
		"asset.currency": "currency", "asset.network": "network", "debits_posted": "debits", "credits_posted": "credits",
		"debits_pending": "pending_debits", "credits_pending": "pending_credits",
	}
	totalsLeastImportant = []string{"asset.network", "debits_pending", "credits_pending", "credits_posted", "debits_posted"}
)

// trialBalance is the command `mizan ledger trial-balance`.
type trialBalance struct {
	assetFlags
	asOfFlags
}

// Run prints the trial balance.
func (c *trialBalance) Run(l *client.Ledger) error {
	sums := make(totals)
	return l.List(client.Listing{
		Path:    ledgerPath + "/trial-balance",
		Query:   query(map[string]*string{"env": c.Env, "currency": c.Currency, "network": c.Network, "at": c.At, "by": c.By}),
		Columns: totalsColumns, Headings: totalsHeadings, OmitOrder: totalsLeastImportant, HasEnv: true,
		Expand: func(row client.Object) []client.Object {
			sums.add(&row)
			return []client.Object{row}
		},
		Footer: sums.rows,
	}, client.Paging{All: true})
}

// totals maps each asset in a trial balance to its sums.
type totals map[money.Asset]*assetTotals

// assetTotals are the sums of the columns debits_posted, credits_posted, debits_pending and credits_pending.
type assetTotals struct {
	sums [4]money.Amount
	bad  bool // an amount could not be read, or a sum is too large
}

// add adds an account's row to the sums of the account's asset.
func (t totals) add(row *client.Object) {
	env, _ := money.ParseEnv(textOf(row, "asset.env"))
	asset := money.Asset{Currency: money.Currency(textOf(row, "asset.currency")), Network: money.Network(textOf(row, "asset.network")), Env: env}
	if t[asset] == nil {
		t[asset] = new(assetTotals)
	}
	of := t[asset]
	for i, name := range []string{"debits_posted", "credits_posted", "debits_pending", "credits_pending"} {
		amount, err := money.Parse(textOf(row, name))
		if err == nil {
			of.sums[i], err = of.sums[i].Add(amount)
		}
		of.bad = of.bad || err != nil
	}
}

// rows returns a table row with the sums of each asset. The row's balance is the sum of posted debits minus the sum of posted
// credits. The balance is 0 unless the ledger is broken.
func (t totals) rows() (rows [][]string) {
	assets := slices.SortedFunc(maps.Keys(t), func(a, b money.Asset) int { return strings.Compare(a.String(), b.String()) })
	for _, asset := range assets {
		network := string(asset.Network)
		if network == "" {
			network = client.AbsentValue
		}
		cells := []string{"TOTAL", client.Printable(string(asset.Currency)), client.Printable(network)}
		of := t[asset]
		for _, sum := range of.sums {
			cells = append(cells, formatAmount(sum.String(), asset))
		}
		cells = append(cells, formatAmount(money.Difference(of.sums[0], of.sums[1]).String(), asset))
		if of.bad {
			for i := 3; i < len(cells); i++ {
				cells[i] = "?"
			}
		}
		rows = append(rows, cells)
	}
	return rows
}

// formatAmount formats an amount in major units. If the number of the asset's decimals is not known, the amount stays in minor
// units.
func formatAmount(minor string, asset money.Asset) string {
	if decimals, ok := asset.Scale(); ok {
		if text, ok := client.MajorUnits(minor, decimals); ok {
			return text
		}
	}
	return minor
}

// textOf returns the text of a member. If the member is missing or is not a string, textOf returns an empty text.
func textOf(o *client.Object, name string) string {
	value, _ := o.Value(name)
	if value.Kind() != '"' {
		return ""
	}
	unquoted, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(unquoted)
}

// listAccounts is the command `mizan ledger accounts [ACCOUNT]`.
type listAccounts struct {
	Account *string `arg:"" optional:"" help:"Show this account, such as L:partner:1:available, in all its currencies."`
	Prefix  *string `name:"prefix" placeholder:"PREFIX" help:"Only accounts whose path begins with this."`
	assetFlags
	asOfFlags
	client.Paging
}

// Run lists accounts, or shows one.
func (c *listAccounts) Run(l *client.Ledger) error {
	listing := client.Listing{
		Path:    ledgerPath + "/accounts",
		Query:   query(map[string]*string{"prefix": c.Prefix, "env": c.Env, "currency": c.Currency, "network": c.Network}),
		Columns: totalsColumns, Headings: totalsHeadings, OmitOrder: totalsLeastImportant, HasEnv: true,
	}
	switch {
	case c.Account != nil && c.Prefix != nil:
		return l.Misused("--prefix: does not go with an account")
	case c.Account != nil:
		listing.Path += "/" + url.PathEscape(*c.Account)
		listing.Query = query(map[string]*string{"env": c.Env, "currency": c.Currency, "network": c.Network, "at": c.At, "by": c.By})
	case c.At != nil || c.By != nil:
		return l.Misused("--at, --by: go with an account; `mizan ledger trial-balance` has all accounts as of a time")
	}
	return l.List(listing, c.Paging)
}

// showStatement is the command `mizan ledger statement ACCOUNT`.
type showStatement struct {
	Account string `arg:"" help:"The account, such as L:partner:1:available."`
	assetFlags
	timeFlags
	client.Paging
}

// Run prints the statement of an account. The lines of a statement do not contain the account's asset. So before a table is
// printed, the account is read to find the asset.
func (c *showStatement) Run(l *client.Ledger) error {
	path := ledgerPath + "/accounts/" + url.PathEscape(c.Account)
	listing := client.Listing{
		Path:    path + "/postings",
		Query:   query(map[string]*string{"env": c.Env, "currency": c.Currency, "network": c.Network, "from": c.From, "to": c.To}),
		Columns: []string{"seq", "booked_at", "event", "source", "debit", "credit", "phase", "balance"}, HasEnv: true,
		OmitOrder: []string{"source", "phase", "event", "booked_at"}, Expand: inColumns,
	}
	if !l.JSON {
		assetQuery := query(map[string]*string{"env": c.Env, "currency": c.Currency, "network": c.Network})
		assetQuery.Set("limit", "1")
		rows, err := l.Rows(path, assetQuery)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			listing.Around = rows
			listing.Headings = map[string]string{"balance": strings.TrimSpace("balance " + textOf(&rows[0], "asset.currency"))}
		}
	}
	return l.List(listing, c.Paging)
}

// inColumns puts the amount of a statement's line into the column debit or credit.
func inColumns(line client.Object) []client.Object {
	amount, _ := line.Value("amount")
	debit, credit := amount, jsontext.Value(blank)
	if textOf(&line, "side") == "credit" {
		debit, credit = credit, debit
	}
	line.Members = append(slices.Clone(line.Members), client.Member{Name: "debit", Value: debit}, client.Member{Name: "credit", Value: credit})
	return []client.Object{line}
}

// blank is a JSON value that is printed as an empty cell.
const blank = `" "`

// listEntries is the command `mizan ledger entries [SEQ]`.
type listEntries struct {
	Seq     *uint64    `arg:"" optional:"" help:"Show this entry."`
	Source  *client.ID `name:"source" placeholder:"ID" help:"Only entries of this transaction or contract."`
	Account *string    `name:"account" placeholder:"ACCOUNT" help:"Only entries that touch this account."`
	Event   *string    `name:"event" placeholder:"EVENT" help:"Only entries of this event, such as settle."`
	Env     *string    `name:"env" placeholder:"ENV" help:"prod or test; the server takes prod if absent."`
	timeFlags
	client.Paging
}

// Run lists entries, or shows one.
func (c *listEntries) Run(l *client.Ledger) error {
	listing := client.Listing{
		Path:    ledgerPath + "/entries",
		Query:   query(map[string]*string{"source": (*string)(c.Source), "account": c.Account, "event": c.Event, "env": c.Env, "from": c.From, "to": c.To}),
		Columns: []string{"seq", "effective_date", "event", "phase", "account", "debit", "credit", "asset.currency"}, HasEnv: true,
		Headings: map[string]string{"effective_date": "date", "asset.currency": "currency"}, OmitOrder: []string{"phase", "effective_date", "event"},
		Expand: postings,
	}
	if c.Seq == nil {
		return l.List(listing, c.Paging)
	}
	if len(listing.Query) > 0 {
		return l.Misused("an entry is named by its seq alone: leave out the filters")
	}
	entry, err := l.Read(fmt.Sprint(listing.Path, "/", *c.Seq), nil)
	if err != nil {
		return err
	}
	return l.PrintRows(listing, []client.Object{entry})
}

// postings returns a table row for each posting of an entry. Only the first row shows the members of the entry itself.
func postings(entry client.Object) (rows []client.Object) {
	list, _ := entry.Value("postings")
	elements, _ := client.Objects(list)
	for i, posting := range elements {
		row := inColumns(posting)[0]
		for _, m := range entry.Members {
			if i > 0 {
				m.Value = jsontext.Value(blank)
			}
			if m.Name != "postings" {
				row.Members = append(row.Members, m)
			}
		}
		rows = append(rows, row)
	}
	return rows
}
