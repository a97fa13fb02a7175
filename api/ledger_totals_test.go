package api_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/ledger/money"
)

// totalsFixture is a server whose ledger has accounts on several levels, in several assets.
func totalsFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	for _, currency := range []string{"USD", "EUR", "ETH"} {
		f.partner().post(transactions, paymentBody(`"amount":"12345","currency":"`+currency+`"`)).want(201, "")
	}
	return f
}

// groupRow returns a row of the totals of account groups as a text, without its balance. The row has the group's path, its
// asset and its posted debits and credits.
func groupRow(path, asset, debits, credits string) string {
	return strings.Join([]string{path, asset, debits, credits}, " ")
}

// readGroups reads the totals of account groups in pages of one group each, and calls afterPage between the pages.
func (f *fixture) readGroups(query string, afterPage func()) (rows []string) {
	f.t.Helper()
	cursor := ""
	for {
		r := f.auditor().get(ledgerPath+"/totals?limit=1&"+query+cursor).want(200, "")
		paths := map[string]bool{}
		for i := range r.rows() {
			at := func(name string) string { return r.at(fmt.Sprint("data.", i, ".", name)) }
			paths[at("path")] = true
			rows = append(rows, groupRow(at("path"), at("asset"), at("debits_posted"), at("credits_posted")))
		}
		if len(paths) > 1 {
			f.t.Errorf("%s: a page of one group has %v", query, paths)
		}
		if cursor = r.at("cursor.cursor_value"); cursor == "null" {
			return rows
		}
		cursor = "&cursor=" + url.QueryEscape(cursor)
		afterPage()
	}
}

// sumGroups returns the rows that the totals of account groups must have. It sums them up from the trial balance. groupOf returns
// the path of an account's group; false means that the account has no group.
func (f *fixture) sumGroups(t *testing.T, query string, groupOf func(path string) (string, bool)) (rows []string) {
	f.t.Helper()
	type group struct{ path, asset string }
	type sum struct{ debits, credits money.Amount }
	sums, order := map[group]*sum{}, []group{}
	path := ledgerPath + "/trial-balance?" + query
	columns := make([][]string, 4)
	for i, name := range []string{"account", "asset", "debits_posted", "credits_posted"} {
		columns[i] = columnOfPages(t, f.auditor(), path, 500, name)
	}
	for i := range columns[0] {
		name, isIn := groupOf(columns[0][i])
		if !isIn {
			continue
		}
		g := group{name, columns[1][i]}
		if sums[g] == nil {
			sums[g], order = new(sum), append(order, g)
		}
		s := sums[g]
		for _, total := range []struct {
			sum  *money.Amount
			text string
		}{{&s.debits, columns[2][i]}, {&s.credits, columns[3][i]}} {
			var err error
			*total.sum, err = total.sum.Add(money.MustParse(total.text))
			must(f.t, err)
		}
	}
	for _, g := range order {
		rows = append(rows, groupRow(g.path, g.asset, sums[g].debits.String(), sums[g].credits.String()))
	}
	return rows
}

func TestTotalsAreTheSumsOfTheTrialBalance(t *testing.T) {
	t.Parallel()
	f := totalsFixture(t)
	for _, query := range []string{"env=test", "env=test&by=effective", "env=test&currency=ETH&network=ethereum", "env=prod", "env=test&at=1960-01-01T00:00:00Z"} {
		all := func(string) (string, bool) { return "", true }
		got, want := f.readGroups(query, func() {}), f.sumGroups(t, query, all)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", query, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, prefix := range []string{"", "A:", "L:", "L:part", "L:partner:", "L:partner:1:", "A:bank", "X:"} {
			bySegment := func(path string) (string, bool) {
				rest, isIn := strings.CutPrefix(path, prefix)
				segment, _, hasMore := strings.Cut(rest, ":")
				if hasMore {
					segment += ":"
				}
				return prefix + segment, isIn
			}
			got, want := f.readGroups(query+"&group=segment&prefix="+prefix, func() {}), f.sumGroups(t, query, bySegment)
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s below %q:\n%s\nwant\n%s", query, prefix, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	if rows := f.readGroups("env=test&group=segment", func() {}); len(rows) < 4 {
		t.Errorf("the first level has only %v", rows)
	}
}

func TestTotalsOfAllAccountsBalance(t *testing.T) {
	t.Parallel()
	f := totalsFixture(t)
	r := f.auditor().get(ledgerPath+"/totals?env=test").want(200, "")
	if r.rows() < 3 {
		t.Fatalf("%s", r.body)
	}
	for i := range r.rows() {
		if balance := r.at(fmt.Sprint("data.", i, ".balance")); balance != "0" {
			t.Errorf("asset %d: the debits less the credits are %s", i, balance)
		}
	}
	liabilities := f.auditor().get(ledgerPath+"/totals?env=test&prefix=L:&currency=USD").want(200, "")
	if balance := liabilities.at("data.0.balance"); balance == "0" || strings.HasPrefix(balance, "-") {
		t.Errorf("the balance of all liabilities is %s, want a positive number", balance)
	}
}

func TestPagesOfTotalsShowOneMoment(t *testing.T) {
	t.Parallel()
	f := totalsFixture(t)
	const query = "env=test&group=segment"
	want := f.readGroups(query, func() {})
	got := f.readGroups(query, func() {
		f.partner().post(transactions, paymentBody(`"amount":"777","currency":"USD"`)).want(201, "")
	})
	if !slices.Equal(got, want) {
		t.Errorf("in pages:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if later := f.readGroups(query, func() {}); slices.Equal(later, want) {
		t.Error("nothing has changed meanwhile")
	}
	cursor := f.auditor().get(ledgerPath + "/totals?limit=1&" + query).at("cursor.cursor_value")
	f.auditor().get(ledgerPath+"/totals?env=test&cursor="+url.QueryEscape(cursor)).want(422, cursorMismatch)
}

// since has the totals of a row of the trial balance at the earlier moment of a comparison.
type since struct {
	Debits  string `json:"debits_posted"`
	Credits string `json:"credits_posted"`
}

// A trial balance that compares two moments has the totals of each row at both moments. Its sums cover the rows of all pages.
func TestTrialBalanceComparesTwoMomentsAndHasItsTotals(t *testing.T) {
	t.Parallel()
	f := totalsFixture(t)
	before := f.Clock.Now()
	f.setClock(before.Add(48 * time.Hour).Format(time.RFC3339Nano))
	f.partner().post(transactions, paymentBody(`"amount":"777","currency":"USD"`)).want(201, "")
	for _, query := range []string{
		"env=test&since=" + before.Format(time.RFC3339Nano), "env=test&by=effective&since=" + before.Format(time.DateOnly), "env=test&since=1960-01-01T00:00:00Z",
		"env=test&since=" + f.Clock.Now().Format(time.RFC3339Nano), "env=test&currency=ETH&network=ethereum&since=" + before.Format(time.RFC3339Nano),
	} {
		_, day, _ := strings.Cut(query, "since=")
		own, _, _ := strings.Cut(query, "&since=")
		rows := columnOfPages(t, f.auditor(), ledgerPath+"/trial-balance?"+query, 7, "since")
		accounts := columnOfPages(t, f.auditor(), ledgerPath+"/trial-balance?"+query, 7, "account")
		assets := columnOfPages(t, f.auditor(), ledgerPath+"/trial-balance?"+query, 7, "asset")
		then := map[string]string{}
		earlier := ledgerPath + "/trial-balance?" + own + "&at=" + day
		for i, debits := range columnOfPages(t, f.auditor(), earlier, 500, "debits_posted") {
			account := columnOfPages(t, f.auditor(), earlier, 500, "account")[i] + columnOfPages(t, f.auditor(), earlier, 500, "asset")[i]
			then[account] = debits + " " + columnOfPages(t, f.auditor(), earlier, 500, "credits_posted")[i]
		}
		for i, row := range rows {
			var s since
			must(t, json.Unmarshal([]byte(row), &s))
			want := cmp.Or(then[accounts[i]+assets[i]], "0 0")
			if got := s.Debits + " " + s.Credits; got != want {
				t.Errorf("%s: %s %s had %s, want %s", query, accounts[i], assets[i], got, want)
			}
		}
		first := f.auditor().get(ledgerPath+"/trial-balance?limit=1&totals=true&"+query).want(200, "")
		var got []string
		for i := 0; first.at(fmt.Sprint("totals.", i)) != "(absent)"; i++ {
			at := func(name string) string { return first.at(fmt.Sprint("totals.", i, ".", name)) }
			got = append(got, groupRow("", at("asset"), at("debits_posted"), at("credits_posted")))
			if at("balance") != "0" || at("since.balance") != "0" || at("since.debits_posted") != at("since.credits_posted") {
				t.Errorf("%s: %s does not balance", query, first.at(fmt.Sprint("totals.", i)))
			}
		}
		want := f.sumGroups(t, own, func(string) (string, bool) { return "", true })
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("%s: the totals are\n%s\nwant\n%s", query, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if cursor := first.at("cursor.cursor_value"); cursor != "null" {
			second := f.auditor().get(ledgerPath+"/trial-balance?limit=1&totals=true&"+query+"&cursor="+url.QueryEscape(cursor)).want(200, "")
			if strings.Contains(second.body, `"totals"`) {
				t.Errorf("%s: the second page has totals", query)
			}
		}
	}
	f.auditor().get(ledgerPath+"/trial-balance?since=2026-09-03T00:00:00Z&at=2026-09-02T00:00:00Z").want(422, `{"errors":[{"code":"invalid","detail":"since must not be after at","field":"since"}]}`)
	f.auditor().get(ledgerPath+"/trial-balance?by=effective&since=2999-01-01").want(422, "")
}

// A partner's trial balance has the sums of the accounts that the partner may see, and of no other account.
func TestSumsOfAPartnersTrialBalanceAreThoseOfItsAccounts(t *testing.T) {
	t.Parallel()
	f := totalsFixture(t)
	for _, query := range []string{"env=test", "env=test&by=effective", "env=test&currency=USD&network="} {
		want := map[string]*money.Amount{} // by asset
		path := ledgerPath + "/trial-balance?" + query
		accounts := columnOfPages(t, f.partner(), path, 500, "account")
		assets, credits := columnOfPages(t, f.partner(), path, 500, "asset"), columnOfPages(t, f.partner(), path, 500, "credits_posted")
		for i, asset := range assets {
			if strings.HasPrefix(accounts[i], "A:bank") || strings.HasPrefix(accounts[i], "I:") {
				t.Errorf("%s: the partner sees %s", query, accounts[i])
			}
			if want[asset] == nil {
				want[asset] = new(money.Amount)
			}
			sum, err := want[asset].Add(money.MustParse(credits[i]))
			must(t, err)
			*want[asset] = sum
		}
		r := f.partner().get(path+"&totals=true&limit=1").want(200, "")
		found := 0
		for ; r.at(fmt.Sprint("totals.", found)) != "(absent)"; found++ {
			asset, sum := r.at(fmt.Sprint("totals.", found, ".asset")), r.at(fmt.Sprint("totals.", found, ".credits_posted"))
			if want[asset] == nil || want[asset].String() != sum {
				t.Errorf("%s: the sum of %s is %s, want %v", query, asset, sum, want[asset])
			}
		}
		if found != len(want) || found == 0 {
			t.Errorf("%s: there are sums of %d assets, want %d", query, found, len(want))
		}
	}
	f.partner().get(ledgerPath+"/totals?env=test").want(403, "")
}

// Sums without at include the payment that the caller has just made.
func TestTotalsHaveTheLastPayment(t *testing.T) {
	t.Parallel()
	f := totalsFixture(t)
	const query = "env=test&currency=EUR&network=&prefix=L:"
	last := ""
	for range 3 {
		sum := f.auditor().get(ledgerPath+"/totals?"+query).want(200, "").at("data.0.credits_posted")
		if sum == last {
			t.Errorf("after a payment the sum is still %s", sum)
		}
		last = sum
		f.partner().post(transactions, paymentBody(`"amount":"777","currency":"EUR"`)).want(201, "")
	}
}
