package api_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

const ledgerPath = "/api/v1/ledger"

// columnOfPages reads a list to its end, in pages of a given size, and returns one column of all rows.
func columnOfPages(t *testing.T, c caller, path string, limit int, column string) (values []string) {
	t.Helper()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	cursor := ""
	for range 1000 {
		r := c.get(path+separator+"limit="+strconv.Itoa(limit)+cursor).want(200, "")
		if r.rows() > limit {
			t.Fatalf("%s: a page of %d rows", path, r.rows())
		}
		for i := range r.rows() {
			values = append(values, r.at(fmt.Sprintf("data.%d.%s", i, column)))
		}
		next := r.at("cursor.cursor_value")
		if next == "null" {
			return values
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
	t.Fatalf("%s never ends", path)
	return nil
}

func TestPaymentIsSeenInTheLedger(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.partner().post(transactions, paymentBody(`"amount":"1250","currency":"USD"`)).at("id")
	list := f.auditor().get(ledgerPath+"/entries?env=test&source="+id).want(200, "")
	if list.rows() != 1 {
		t.Fatalf("%s", list.body)
	}
	seq := list.at("data.0.seq")
	for path, want := range map[string]string{
		"source": id, "event": "settle", "phase": "posted", "effective_date": "2026-09-03", "reverses": "null", "closes": "(absent)",
		"postings.1.account": "L:partner:1:available", "postings.1.side": "credit", "postings.1.amount": "1250", "postings.1.balance": "100001250",
		"postings.1.asset.currency": "USD", "postings.1.asset.network": "", "postings.1.asset.env": "test",
		"postings.0.side": "debit", "postings.0.balance": "1250", "postings.2": "(absent)",
	} {
		if got := list.at("data.0." + path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	ledgerEntry := f.auditor().get(ledgerPath+"/entries/"+seq).want(200, "")
	if ledgerEntry.at("data.seq") != seq || ledgerEntry.at("data.postings.1.balance") != "100001250" {
		t.Errorf("%s", ledgerEntry.body)
	}
	// Other queries find the same entry.
	for _, query := range []string{"/entries?env=test", "/entries?env=test&account=L:partner:1:available", "/entries?env=test&event=settle&source=" + id} {
		if got := f.auditor().get(ledgerPath+query).want(200, ""); got.at("data.0.seq") != seq {
			t.Errorf("%s: %s", query, got.body)
		}
	}
	// A later payment does not change the balance after this one.
	f.partner().post(transactions, paymentBody(`"amount":"1","currency":"USD"`)).want(201, "")
	f.auditor().get(ledgerPath+"/entries/"+seq).want(200, ledgerEntry.body)
}

func TestEventsShowEveryTransition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.partner().post(transactions, paymentBody(`"amount":"5","currency":"USD"`)).at("id")
	events := f.auditor().get(ledgerPath+"/events?source="+id).want(200, "")
	last := events.rows() - 1
	if last < 1 || events.at("data.0.to") != "charged" || events.at("data.0.entry.phase") != "posted" || events.at("data.0.entry.postings.0.amount") != "5" {
		t.Errorf("newest: %s", events.body)
	}
	if first := fmt.Sprintf("data.%d.", last); events.at(first+"version") != "1" || events.at(first+"from") != "null" || events.at(first+"entry") != "(absent)" {
		t.Errorf("oldest: %s", events.body)
	}
	seqs := columnOfPages(t, f.auditor(), ledgerPath+"/events", 3, "seq")
	for i, seq := range seqs {
		if seq != strconv.Itoa(len(seqs)-i) {
			t.Fatalf("seqs %v: not newest first and gap-free", seqs)
		}
	}
	if seqsOfSource := columnOfPages(t, f.auditor(), ledgerPath+"/events?source="+id, 1, "seq"); len(seqsOfSource) != last+1 {
		t.Errorf("%v in pages of one", seqsOfSource)
	}
	noEvents := f.auditor().get(ledgerPath+"/events?source=0f8fad5b-d9cb-469f-a165-70867728950e").want(200, "")
	if noEvents.rows() != 0 || noEvents.at("cursor.cursor_value") != "null" {
		t.Errorf("%s", noEvents.body)
	}
}

// totals returns for each asset the sums of a trial balance's debits and credits, in this order.
func totals(t *testing.T, c caller, query string) map[string][2]money.Amount {
	t.Helper()
	sums := map[string][2]money.Amount{}
	const path = ledgerPath + "/trial-balance"
	assets := columnOfPages(t, c, path+query, 7, "asset")
	debits, credits := columnOfPages(t, c, path+query, 7, "debits_posted"), columnOfPages(t, c, path+query, 7, "credits_posted")
	for i, asset := range assets {
		sum := sums[asset]
		for side, text := range [2]string{debits[i], credits[i]} {
			amount, err := money.Parse(text)
			must(t, err)
			sum[side], err = sum[side].Add(amount)
			must(t, err)
		}
		sums[asset] = sum
	}
	return sums
}

func TestTrialBalanceBalances(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, currency := range []string{"USD", "EUR", "ETH"} {
		f.partner().post(transactions, paymentBody(`"amount":"12345","currency":"`+currency+`"`)).want(201, "")
	}
	before := totals(t, f.auditor(), "?env=test")
	if len(before) != 25 {
		t.Errorf("%d assets", len(before))
	}
	for asset, sum := range before {
		if sum[0] != sum[1] || sum[0].IsZero() {
			t.Errorf("%s: debits %v, credits %v", asset, sum[0], sum[1])
		}
	}
	prod := totals(t, f.auditor(), "")
	if fmt.Sprint(prod) == fmt.Sprint(before) {
		t.Error("env is ignored")
	}
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":86400}`).want(200, "")
	f.partner().post(transactions, paymentBody(`"amount":"1","currency":"USD"`)).want(201, "")
	for _, at := range []string{"&at=2026-09-03T23:59:59Z", "&at=2026-09-03T23:59:59.999999%2B00:00&by=booked", "&at=2026-09-03&by=effective", "&at=2026-09-03T12:00:00Z&by=effective"} {
		if got := totals(t, f.auditor(), "?env=test"+at); fmt.Sprint(got) != fmt.Sprint(before) {
			t.Errorf("%s: %v, want %v", at, got, before)
		}
	}
	if now := totals(t, f.auditor(), "?env=test"); fmt.Sprint(now) == fmt.Sprint(before) {
		t.Error("the later payment is missing")
	}
	if early := f.auditor().get(ledgerPath+"/trial-balance?at=1960-01-01T00:00:00Z").want(200, ""); early.rows() != 0 {
		t.Errorf("before everything: %s", early.body)
	}
}

// All pages of a trial balance show one moment, even if entries are booked between them.
func TestTrialBalancePagesShowOneMoment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.partner().post(transactions, paymentBody(`"amount":"1","currency":"USD"`)).want(201, "")
	want := columnOfPages(t, f.auditor(), ledgerPath+"/trial-balance?env=test", 500, "balance")
	var got []string
	cursor := ""
	for {
		r := f.auditor().get(ledgerPath+"/trial-balance?env=test&limit=9"+cursor).want(200, "")
		for i := range r.rows() {
			got = append(got, r.at(fmt.Sprintf("data.%d.balance", i)))
		}
		if cursor = r.at("cursor.cursor_value"); cursor == "null" {
			break
		}
		cursor = "&cursor=" + cursor
		f.partner().post(transactions, paymentBody(`"amount":"1000","currency":"USD"`)).want(201, "")
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAccountsAreListedAndRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.partner().post(transactions, paymentBody(`"amount":"5","currency":"USD"`)).want(201, "")
	paths := columnOfPages(t, f.auditor(), ledgerPath+"/accounts?env=test", 10, "account")
	if !slices.IsSorted(paths) || paths[0] != "A:bank" || paths[len(paths)-1] != "L:partner:1:available" || len(paths) != 51 {
		t.Errorf("%d accounts: %v", len(paths), paths)
	}
	for query, want := range map[string]int{
		"?env=test&prefix=A:provider:": 1, "?prefix=A:provider:": 0, "?prefix=L:&currency=USDT": 4, "?prefix=L:&currency=USDT&network=bsc": 1,
		"?prefix=L:&network=": 15, "?prefix=X:": 0, "?currency=JPY": 0, "?env=test&currency=USD": 3,
	} {
		if got := f.auditor().get(ledgerPath+"/accounts"+query).want(200, ""); got.rows() != want {
			t.Errorf("%s: %d rows, want %d", query, got.rows(), want)
		}
	}
	account := f.auditor().get(ledgerPath+"/accounts/L:partner:1:available?env=test&currency=USD").want(200, "")
	const row = `{"account":"L:partner:1:available","asset":{"currency":"USD","network":"","env":"test"},"debits_posted":"0","credits_posted":"100000005","debits_pending":"0","credits_pending":"0","balance":"100000005"}`
	account.want(200, `{"data":[`+row+`],"cursor":{"cursor_field":"account","cursor_value":null}}`)
	f.auditor().get(ledgerPath+"/accounts/L%3Apartner%3A1%3Aavailable?env=test&currency=USD").want(200, account.body)
	if early := f.auditor().get(ledgerPath+"/accounts/L:partner:1:available?env=test&currency=USD&at=2020-01-01T00:00:00Z").want(200, ""); early.at("data.0.balance") != "0" {
		t.Errorf("before its first posting: %s", early.body)
	}
	if rows := columnOfPages(t, f.auditor(), ledgerPath+"/accounts/L:partner:1:available", 4, "asset.currency"); len(rows) != 25 {
		t.Errorf("%d assets", len(rows))
	}
	for _, unknown := range []string{"L:partner:7:available", "nonsense", "L:partner:1:availabl", "L:partner:1:available2", "%2F", "L:partner:1:available%00"} {
		f.auditor().get(ledgerPath+"/accounts/"+unknown).want(404, "")
	}
}

func TestStatementHasTheBalanceAfterEachLine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 5 {
		f.partner().post(transactions, paymentBody(fmt.Sprintf(`"amount":"%d","currency":"USD"`, i+1))).want(201, "")
	}
	const path = ledgerPath + "/accounts/L:partner:1:available/postings"
	for _, c := range []caller{f.auditor(), f.partner()} {
		if got := columnOfPages(t, c, path+"?env=test&currency=USD", 2, "amount"); fmt.Sprint(got) != "[5 4 3 2 1 100000000]" {
			t.Errorf("amounts %v", got)
		}
		if got := columnOfPages(t, c, path+"?env=test&currency=USD", 1, "balance"); fmt.Sprint(got) != "[100000015 100000010 100000006 100000003 100000001 100000000]" {
			t.Errorf("balances %v", got)
		}
	}
	statement := f.auditor().get(path+"?env=test&currency=USD").want(200, "")
	if statement.at("data.0.side") != "credit" || statement.at("data.0.phase") != "posted" {
		t.Errorf("%s", statement.body)
	}
	// Both bounds of a window are inclusive.
	from, to := url.QueryEscape(statement.at("data.3.booked_at")), url.QueryEscape(statement.at("data.1.booked_at"))
	if got := columnOfPages(t, f.auditor(), path+"?env=test&currency=USD&from="+from+"&to="+to, 2, "amount"); fmt.Sprint(got) != "[4 3 2]" {
		t.Errorf("window %v", got)
	}
	f.auditor().get(path+"?env=test").want(422, `{"errors":[{"code":"invalid","detail":"the account has several assets: send currency","field":"currency"}]}`)
	f.auditor().get(path+"?currency=USDT").want(422, `{"errors":[{"code":"invalid","detail":"the account has several networks: send network","field":"network"}]}`)
	f.auditor().get(path+"?currency=JPY").want(404, "")
	f.auditor().get(ledgerPath+"/accounts/L:nobody/postings").want(404, "")
}

// An entry, and each line of a statement, has the kind of the event's record: the same event has different meanings for different
// kinds.
func TestEntriesAndLinesNameTheKindOfTheirRecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("leases", "env", `"test"`).mustActAll(`acquire ownership_documents ["deed"]`)
	for id, kind := range map[string]string{
		f.partner().post(transactions, paymentBody(`"amount":"5","currency":"USD"`)).want(201, "").at("id"): "transaction",
		f.admin().post(partnersSettlements, settlementBody).want(201, "").at("data.id"):                     "settlement",
		contract.id(): "contract",
	} {
		list := f.auditor().get(ledgerPath+"/entries?env=test&source="+id).want(200, "")
		seq, err := strconv.Atoi(list.at("data.0.seq"))
		must(t, err)
		begin := fmt.Sprintf(`{"seq":%d,"kind":"%s","source":"%s","event":`, seq, kind, id)
		entry := f.auditor().get(fmt.Sprint(ledgerPath, "/entries/", seq)).want(200, "")
		if list.rows() != 1 || !strings.HasPrefix(list.body, `{"data":[`+begin) || !strings.HasPrefix(entry.body, `{"data":`+begin) {
			t.Errorf("want an entry that begins with %s: %s %s", begin, list.body, entry.body)
		}
		for i := range 2 {
			at := fmt.Sprintf("data.postings.%d.", i)
			line := f.auditor().get(fmt.Sprint(ledgerPath, "/accounts/", entry.at(at+"account"), "/postings?env=test&limit=1&currency=", entry.at(at+"asset.currency"), "&cursor=", seq+1, ".0")).want(200, "")
			if !strings.HasPrefix(line.body, `{"data":[`+begin) {
				t.Errorf("want a line that begins with %s: %s", begin, line.body)
			}
		}
	}
	if r := contract.get(contract.path+"/entries").want(200, ""); r.at("data.0.kind") != "contract" {
		t.Errorf("the contract's own list: %s", r.body)
	}
}

func TestEntriesAreFilteredByTimeAndName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var seqs []string
	for i := range 3 {
		f.partner().post(transactions, paymentBody(fmt.Sprintf(`"amount":"%d","currency":"USD"`, i+1))).want(201, "")
		seqs = append([]string{f.auditor().get(ledgerPath + "/entries?env=test").at("data.0.seq")}, seqs...)
		f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":60}`).want(200, "")
	}
	for query, want := range map[string][]string{
		"from=2026-09-03T10:16:00Z":                                      seqs[:2],
		"from=2026-09-03T10:16:00Z&to=2026-09-03T10:17:00Z":              seqs[1:2],
		"to=2026-09-03T10:17:00Z&event=settle&from=2026-09-03T10:15:31Z": seqs[1:2],
		"to=2020-01-01T00:00:00Z":                                        nil,
		"from=2030-01-01T00:00:00Z":                                      nil,
		"event=nothing":                                                  nil,
		"account=" + "L:nobody":                                          nil,
	} {
		if got := columnOfPages(t, f.auditor(), ledgerPath+"/entries?env=test&"+query, 1, "seq"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

func TestPartnerSeesOnlyItsOwnLedger(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	otherPartner := f.otherPartner()
	f.partner().post(transactions, paymentBody(`"amount":"5","currency":"USD"`)).want(201, "")
	for _, list := range []string{"/accounts?env=test", "/trial-balance?env=test"} {
		for _, path := range columnOfPages(t, f.partner(), ledgerPath+list, 10, "account") {
			if path != "L:partner:1:available" {
				t.Errorf("%s shows %s", list, path)
			}
		}
		if got := columnOfPages(t, f.partner(), ledgerPath+list, 10, "account"); len(got) != 25 {
			t.Errorf("%s: %d rows", list, len(got))
		}
		if got := columnOfPages(t, otherPartner, ledgerPath+list, 10, "account"); got != nil {
			t.Errorf("%s shows the neighbour %v", list, got)
		}
	}
	for _, list := range []string{"/entries?env=test", "/events", "/entries?env=test&account=A:bank", "/entries?env=test&account=L:partner:1:available"} {
		r := f.partner().get(ledgerPath+list).want(200, "")
		if strings.Contains(r.body, "A:") {
			t.Errorf("%s shows foreign postings: %s", list, r.body)
		}
		if isForeign := strings.Contains(list, "A:bank"); (r.rows() == 0) != isForeign {
			t.Errorf("%s: %d rows", list, r.rows())
		}
		if got := otherPartner.get(ledgerPath+list).want(200, ""); got.rows() != 0 {
			t.Errorf("%s shows the neighbour %s", list, got.body)
		}
	}
	if got := f.partner().get(ledgerPath + "/accounts?env=test&prefix=A:"); got.rows() != 0 {
		t.Errorf("%s", got.body)
	}
	f.partner().get(ledgerPath+"/accounts/A:bank").want(404, `{"error":"not_found","message":"there is no such thing"}`)
	f.partner().get(ledgerPath+"/accounts/A:bank/postings?currency=USD").want(404, `{"error":"not_found","message":"there is no such thing"}`)
	partnerEvents := f.partner().get(ledgerPath+"/events").want(200, "")
	if partnerEvents.at("data.0.entry.postings.0.account") != "L:partner:1:available" || partnerEvents.at("data.0.entry.postings.1") != "(absent)" {
		t.Errorf("%s", partnerEvents.body)
	}
}

func TestHeadIsSigned(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	head := f.auditor().get(ledgerPath+"/head").want(200, "")
	signed, err := base64.StdEncoding.DecodeString(head.at("data.signature"))
	must(t, err)
	opened, err := note.Open(signed, note.VerifierList(f.Keyring.Verifier()))
	must(t, err)
	tree, err := tlog.ParseTree([]byte(opened.Text))
	must(t, err)
	size := f.auditor().get(ledgerPath + "/events?limit=1").at("data.0.seq")
	if root := base64.StdEncoding.EncodeToString(tree.Hash[:]); fmt.Sprint(tree.N) != size || head.at("data.tree_size") != size || head.at("data.root") != root {
		t.Errorf("%s, signed %d %s", head.body, tree.N, root)
	}
	f.partner().post(transactions, paymentBody(`"amount":"5"`)).want(201, "")
	if later := f.auditor().get(ledgerPath + "/head"); later.at("data.root") == head.at("data.root") {
		t.Error("the root does not move")
	}
}

func TestListParametersAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fieldError := func(name, detail string) string {
		return `{"errors":[{"code":"invalid","detail":"` + detail + `","field":"` + name + `"}]}`
	}
	for _, list := range []string{"/accounts", "/trial-balance", "/totals", "/entries", "/events", "/accounts/A:bank/postings", "/accounts/A:bank"} {
		for _, bad := range []string{"page", "offset", "Limit", "txid", "order_by"} {
			f.auditor().get(ledgerPath+list+"?"+bad+"=1").want(422, fieldError(bad, "Unexpected field"))
		}
		for _, bad := range []string{"0", "-1", "501", "x", "1.5", "", "+5", "05", "99999999999999999999"} {
			f.auditor().get(ledgerPath+list+"?limit="+url.QueryEscape(bad)).want(422, fieldError("limit", "limit must be from 1 to 500"))
		}
		for _, bad := range []string{"", "x", "-1", "0", "1.-1", "YQ", "%00", "QTpiYW5rCgoK", strings.Repeat("9", 30)} {
			f.auditor().get(ledgerPath+list+"?cursor="+bad).want(422, fieldError("cursor", "cursor is malformed"))
		}
		f.auditor().get(ledgerPath+list+"?limit=1&limit=1").want(422, fieldError("limit", "limit is there twice"))
	}
	for query, want := range map[string]string{
		"/accounts?env=live":                            fieldError("env", "env must be prod or test"),
		"/accounts?env=":                                fieldError("env", "env must be prod or test"),
		"/trial-balance?at=yesterday":                   fieldError("at", "at must be an RFC 3339 time"),
		"/trial-balance?at=2026-09-03":                  fieldError("at", "at must be an RFC 3339 time"),
		"/totals?group=class":                           fieldError("group", "group must be one of asset, segment"),
		"/trial-balance?by=value":                       fieldError("by", "by must be one of booked, effective"),
		"/entries?source=1":                             fieldError("source", "source must be a UUID"),
		"/entries?from=1":                               fieldError("from", "from must be an RFC 3339 time"),
		"/accounts?prefix=" + strings.Repeat("a", 1025): fieldError("prefix", "prefix is malformed"),
		"/accounts?prefix=%FF":                          fieldError("prefix", "prefix is malformed"),
	} {
		f.auditor().get(ledgerPath+query).want(422, want)
	}
	f.auditor().get(ledgerPath+"/accounts?limit=0&env=x&page=1").want(422, "")
}

// A search with few matches stops after a bounded number of events, and its response has a cursor.
func TestSearchesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.partner().post(transactions, paymentBody(`"amount":"5","currency":"USD"`)).at("id")
	const otherEvents = 6_000
	for range otherEvents / posting.MaxEvents {
		f.bookEvents(make([]ledger.Event, posting.MaxEvents))
	}
	f.bookEvents(make([]ledger.Event, otherEvents%posting.MaxEvents))
	first := f.auditor().get(ledgerPath+"/entries?env=test&event=settle").want(200, "")
	if first.rows() != 0 || first.at("cursor.cursor_value") == "null" {
		t.Fatalf("%s", first.body)
	}
	found := columnOfPages(t, f.auditor(), ledgerPath+"/entries?env=test&event=settle", 50, "source")
	if len(found) != 2 || found[0] != id {
		t.Errorf("found %v", found)
	}
	if bySource := f.auditor().get(ledgerPath+"/entries?env=test&source="+id).want(200, ""); bySource.rows() != 1 {
		t.Errorf("by its source: %s", bySource.body)
	}
}

// bookEvents fills the slice with events without entries, and books them in the first organization.
func (f *fixture) bookEvents(events []ledger.Event) {
	f.t.Helper()
	source := ledger.Source{Kind: ledger.Transfer, ID: uuid.New()}
	for i := range events {
		events[i] = ledger.Event{Source: source, Name: "noise", To: "noisy"}
	}
	done := make(chan error, 1)
	f.Journal.Submit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: f.seed.First.Org, Source: source, Events: events}}}, func(r posting.Receipt) { done <- r.Err })
	must(f.t, <-done)
}

// If a partner lists the events of one of its transactions, it sees every event, including those that moved no money, but only
// its own postings.
func TestPartnerSeesEveryStepOfItsOwnTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	names := func(who caller, id string) (names []string) {
		r := who.get("/api/v1/ledger/events?source="+id).want(200, "")
		for i := range r.rows() {
			names = append(names, r.at(fmt.Sprintf("data.%d.event", i)))
		}
		return names
	}
	declined, charged := f.charge("4000000000000002").at("id"), f.charge("4242424242424242").at("id")
	for id, want := range map[string]string{declined: "decline authorise route create", charged: "settle process authorise route create"} {
		if got, seen := strings.Join(names(f.partner(), id), " "), strings.Join(names(f.auditor(), id), " "); got != want || seen != want {
			t.Errorf("the partner sees %q, the auditor %q, want %q", got, seen, want)
		}
	}
	for id, who := range map[string]caller{declined: f.second(), charged: f.second(), "0d1f2a3b-0000-4000-8000-000000000001": f.partner()} {
		if got := names(who, id); got != nil {
			t.Errorf("another partner sees %q", got)
		}
	}
	r := f.partner().get("/api/v1/ledger/events?source="+charged).want(200, "")
	if n := len(r.object()["data"].([]any)[0].(map[string]any)["entry"].(map[string]any)["postings"].([]any)); n != 1 || !strings.HasPrefix(r.at("data.0.entry.postings.0.account"), "L:partner:1:") {
		t.Errorf("the partner sees %s", r.at("data.0.entry"))
	}
}

func TestEventsOfEveryKindOfRecordAreFoundByItsID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for path, body := range map[string]string{
		"limits": `{"partner_id":1,"kind":"velocity","max_count":1000,"window":"minute","env":"test"}`, "blocklist": `{"kind":"email","value":"mallory@example.com"}`,
		"users": `{"login":"amina","name":"Amina Karim","pass":"correct-horse-battery-9","roles":["auditor"]}`,
	} {
		id := f.admin().post("/api/v1/"+path, body).want(201, "").at("data.id")
		if got := f.auditor().get("/api/v1/ledger/events?source="+id).want(200, "").at("data.0.source"); got != id {
			t.Errorf("%s: the newest event is of %s, want %s", path, got, id)
		}
	}
}
