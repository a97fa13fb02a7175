package api_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mizan/api/ledger/export"
	"mizan/ledger"
	"mizan/ledger/money"
)

const exportPath = ledgerPath + "/export"

// bookEveryKind books entries of every kind. It makes payments with every outcome that moves money. It also takes contracts of
// every product, secular and religious, through their lifecycles, in both environments (test and production).
func (f *fixture) bookEveryKind() {
	f.t.Helper()
	card := `{"type":"bank_card","cardnumber":"` + good + `"}`
	f.changeTransaction(f.charge(good).wantStatus("charged", "").at("id"), `"type":"refund","amount":"400"`).want(200, "")
	f.payout1250(card).wantStatus("charged", "")
	f.create(`"type":"payment","amount":"7000000","currency":"USDT","network":"tron",` + goodCard)
	f.create(`"type":"payment","amount":"3000000000000000001","currency":"USDT","network":"bsc",` + goodCard)
	f.charge("4000000000000259").wantStatus("charged", "") // the provider takes the money back later
	f.admin().put("/api/v1/rates", `{"from":"USD","to":"EUR","rate":"0.9"}`).want(200, "")
	f.setTerminalParams("payment", `{"fee_bps":"250","settlement_currency":"EUR"}`)
	f.charge(good).wantStatus("charged", "")
	f.setTerminalParams("payment", `{"two_phase":true,"fee_bps":"1000"}`)
	f.setTerminalParams("payout", `{"two_phase":true}`)
	f.partner().post(operation("commit", f.charge(good).wantStatus("payment_suspended", "").at("id")), `{"params":{"amount":"400"}}`).want(200, "")
	f.changeTransaction(f.charge(good).at("id"), `"type":"cancel"`).want(200, "")
	f.charge(good).wantStatus("payment_suspended", "")
	f.payout1250(card).wantStatus("payout_suspended", "")
	f.partner().post(operation("commit", f.payout1250(card).at("id")), "").want(200, "")
	for _, env := range []string{`"prod"`, `"test"`} {
		f.runSecularContracts(env)
	}
	f.runReligiousContracts()
	f.advanceDays(31) // rents become due, the provider takes the money back, holds expire
	f.charge(good).wantStatus("payment_suspended", "")
}

// runSecularContracts takes a contract of each secular product through its lifecycle.
func (f *fixture) runSecularContracts(env string) {
	f.t.Helper()
	subscribe := func(investor, count string) string {
		return `subscribe investor_id "` + investor + `" certificates ` + count
	}
	const deed = `ownership_documents ["deed"]`
	f.createSecular("certificate-issues", "env", env, "early_redemption_allowed", "true", "early_redemption_penalty", `"15"`).mustActAll(
		`offering subscription_start "2026-08-01" subscription_end "2026-09-30"`, subscribe(customerID, "1"), subscribe(otherCustomerID, "2"), "close_subscription", `activate issue_date "2026-08-31"`,
		`profit total_profit "31"`, `redeem_early redemption_date "2026-09-04"`)
	f.createSecular("managed-investments", "env", env).mustActAll("fund", "activate",
		`profit gross_profit "101" period_end_date "2026-09-03"`, `loss amount "30"`, `complete final_value "1000"`)
	f.createSecular("leases", "env", env, "security_deposit", `"30"`).mustActAll("acquire "+deed, "activate", `payment amount "150"`, `arrears amount "4"`, `expense amount "3" description "tyres"`)
	f.createSecular("leases", "env", env).mustActAll("acquire "+deed, "activate", "return")
	f.createSecular("partnerships", "env", env, "partnership_type", `"diminishing"`, "term_months", `12`).mustActAll("fund", "activate",
		`profit gross_profit "77" period_end_date "2026-09-03"`, `loss amount "11"`, "buyout")
	f.createSecular("investment-deposits", "env", env, "early_withdrawal_allowed", "true", "currency", `"BHD"`, "region", `"BH"`).mustActAll("activate",
		`profit gross_profit "101"`, `loss amount "7"`, `withdraw closed_by "teller"`)
	f.createSecular("instalment-sales", "env", env, "currency", `"KWD"`, "region", `"KW"`).mustActAll("order_asset", "purchase_asset "+deed, "deliver_asset", "activate",
		`record_payment amount "100"`, `record_delinquency amount "5"`, `settle_early rebate "3"`)
	f.createSecular("safekeeping-deposits", "env", env).mustActAll("activate", `deposit amount "50"`, `grant_hibah amount "3" granted_by "board"`, `withdraw amount "20"`)
}

// runReligiousContracts takes a contract of each religious product through its lifecycle.
func (f *fixture) runReligiousContracts() {
	f.t.Helper()
	const deed = `ownership_documents ["deed"]`
	f.activeSukuk("early_redemption_allowed", "true").mustActAll("distribute_profit total_profit 31")
	f.createReligious("mudaraba").approve().mustActAll("fund", "activate", `distribute_profit gross_profit 10 period_end_date "2026-09-03"`)
	f.createReligious("ijara").approve().mustActAll("acquire_asset "+deed, "activate", "record_rental amount 50")
	f.createReligious("musharaka", "partnership_type", `"diminishing"`, "term_months", `12`).mustActAll("buyout_unit")
	f.createReligious("murabaha").approve().mustActAll("order_asset", "purchase_asset "+deed, "deliver_asset", "activate", "record_payment amount 100")
	f.createReligious("wadiah").mustActAll(`grant_hibah amount 3 granted_by "board"`)
}

// trialBalanceRow is a row of the trial balance: an account's totals of debits and credits in one asset, in minor units.
type trialBalanceRow struct {
	Account string
	Asset   struct{ Currency, Network, Env string }

	DebitsPosted   string `json:"debits_posted"`
	CreditsPosted  string `json:"credits_posted"`
	DebitsPending  string `json:"debits_pending"`
	CreditsPending string `json:"credits_pending"`
}

// trialBalance returns all rows of the trial balance.
func (f *fixture) trialBalance(query string) (rows []trialBalanceRow) {
	f.t.Helper()
	cursor := ""
	for {
		var page struct {
			Data   []trialBalanceRow
			Cursor struct {
				Value *string `json:"cursor_value"`
			}
		}
		must(f.t, json.Unmarshal([]byte(f.auditor().get(ledgerPath+"/trial-balance?limit=500&"+query+cursor).want(200, "").body), &page))
		rows = append(rows, page.Data...)
		if page.Cursor.Value == nil {
			return rows
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Cursor.Value)
	}
}

// netBalances returns debits minus credits of each row, in minor units, with "account commodity" as the key.
// Balances of zero are left out.
func netBalances(t *testing.T, rows []trialBalanceRow) map[string]string {
	t.Helper()
	balances := map[string]string{}
	add := func(account, commodity, plus, minus string) {
		a, debitsOK := new(big.Int).SetString(plus, 10)
		b, creditsOK := new(big.Int).SetString(minus, 10)
		if !debitsOK || !creditsOK {
			t.Fatalf("%s has totals %q and %q", account, plus, minus)
		}
		if a.Sub(a, b).Sign() != 0 {
			balances[account+" "+commodity] = a.String()
		}
	}
	for _, r := range rows {
		commodity := r.Asset.Currency
		switch {
		case r.Asset.Env == "test":
			commodity += "/" + r.Asset.Network + "/test"
		case r.Asset.Network != "":
			commodity += "/" + r.Asset.Network
		}
		add(r.Account, commodity, r.DebitsPosted, r.CreditsPosted)
		add("pending:"+r.Account, commodity, r.DebitsPending, r.CreditsPending)
	}
	return balances
}

// hledgerBalances returns the balances that hledger computes from a file, in minor units. hledger shows all
// decimals of a commodity, so the amount without its decimal point is in minor units.
func hledgerBalances(t *testing.T, path string, args ...string) map[string]string {
	t.Helper()
	out := runHledger(t, append([]string{"-f", path, "balance", "--flat", "--no-total", "--layout", "bare", "-O", "csv"}, args...)...)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	must(t, err)
	balances := map[string]string{}
	for _, row := range rows[1:] {
		amount, ok := new(big.Int).SetString(strings.Replace(row[2], ".", "", 1), 10)
		if !ok {
			t.Fatalf("hledger says %q", row)
		}
		balances[row[0]+" "+row[1]] = amount.String()
	}
	return balances
}

// programStart is locked while a program is being started. Until the program runs, its process has a copy of each
// open file of this process, and so may hold the lock of a store that is closed here meanwhile. Opening a store
// must wait until the program runs.
var programStart sync.Mutex

// runProgram runs another program and returns all its output.
func runProgram(name string, args ...string) ([]byte, error) {
	var text bytes.Buffer
	program := exec.Command(name, args...)
	program.Stdout, program.Stderr = &text, &text
	programStart.Lock()
	err := program.Start()
	programStart.Unlock()
	if err == nil {
		err = program.Wait()
	}
	return text.Bytes(), err
}

// runHledger runs hledger and returns its output.
func runHledger(t *testing.T, args ...string) string {
	t.Helper()
	out, err := runProgram("hledger", args...)
	if err != nil {
		t.Fatalf("hledger %q: %v\n%.2000s", args, err, out)
	}
	return string(out)
}

// wantEqualBalances compares another program's result with the trial balance.
func wantEqualBalances(t *testing.T, label string, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	names := slices.Collect(maps.Keys(want))
	for name := range got {
		if _, isWanted := want[name]; !isWanted {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if got[name] != want[name] {
			t.Errorf("%s: %s is %q, and %q in the trial balance", label, name, got[name], want[name])
		}
	}
}

// writeExport writes an export to a file and returns the file's path.
func (f *fixture) writeExport(query, extension string) string {
	f.t.Helper()
	path := filepath.Join(f.t.TempDir(), "export."+extension)
	must(f.t, os.WriteFile(path, []byte(f.auditor().get(exportPath+"?"+query).want(200, "").body), 0o600))
	return path
}

// hledger, which shares no code with this service, computes from the export each account's posted and held
// balances, by booked time and by effective date. They equal the balances of the trial balance.
func TestHLedgerAgreesWithTheTrialBalance(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("hledger"); err != nil {
		t.Skip("hledger is not installed: nobody else reads this export")
	}
	f := newFixture(t)
	f.bookEveryKind()
	for env, minimum := range map[string]int{"prod": 25, "test": 30} {
		path := f.writeExport("format=hledger&env="+env, "journal")
		runHledger(t, "-f", path, "check", "--strict")
		want := netBalances(t, f.trialBalance("env="+env))
		if len(want) < minimum {
			t.Errorf("%s: only %d balances are compared: %v", env, len(want), want)
		}
		wantEqualBalances(t, env, hledgerBalances(t, path), want)
		for _, day := range []string{"2026-08-31", "2026-09-03", "2026-09-04", "2026-10-03"} {
			withoutPending := func(m map[string]string) map[string]string {
				maps.DeleteFunc(m, func(name, _ string) bool { return strings.HasPrefix(name, "pending:") })
				return m
			}
			endArgument := "-e" + nextDay(t, day)
			wantEqualBalances(t, env+" effective by "+day, withoutPending(hledgerBalances(t, path, endArgument)), withoutPending(netBalances(t, f.trialBalance("env="+env+"&by=effective&at="+day))))
			wantEqualBalances(t, env+" booked by "+day, hledgerBalances(t, path, "--date2", endArgument), netBalances(t, f.trialBalance("env="+env+"&at="+day+"T23:59:59.999999Z")))
		}
	}
	if got := f.trialBalance("env=test&by=effective&at=2026-08-31"); len(got) == 0 {
		t.Error("nothing took effect before it was booked: the two dates cannot be distinguished")
	}
}

func nextDay(t *testing.T, day string) string {
	t.Helper()
	for d := ledger.Date(1); d < 40_000; d++ {
		if d.String() == day {
			return (d + 1).String()
		}
	}
	t.Fatalf("no day %s", day)
	return ""
}

// beancount checks each row of the trial balance against the balance that it computes from the export.
func TestBeancountAgreesWithTheTrialBalance(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bean-check"); err != nil {
		t.Skip("bean-check is not installed: nobody else reads this export")
	}
	f := newFixture(t)
	f.bookEveryKind()
	for _, env := range []string{"prod", "test"} {
		path := f.writeExport("format=beancount&env="+env, "beancount")
		var assertions strings.Builder
		for _, r := range f.trialBalance("env=" + env) {
			parsed, known := money.ParseEnv(r.Asset.Env)
			asset := money.Asset{Currency: money.Currency(r.Asset.Currency), Network: money.Network(r.Asset.Network), Env: parsed}
			scale, hasScale := asset.Scale()
			if !known || !hasScale {
				t.Fatalf("%+v", r)
			}
			commodity := r.Asset.Currency
			if r.Asset.Network != "" {
				commodity += "." + strings.ToUpper(r.Asset.Network)
			}
			if env == "test" {
				commodity += "'TEST"
			}
			assertions.WriteString(balanceAssertion(r.Account, false, r.DebitsPosted, r.CreditsPosted, scale, commodity))
			assertions.WriteString(balanceAssertion(r.Account, true, r.DebitsPending, r.CreditsPending, scale, commodity))
		}
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = file.WriteString(assertions.String())
		must(t, err)
		must(t, file.Close())
		if out, err := runProgram("bean-check", path); err != nil || len(out) > 0 {
			t.Errorf("%s: bean-check: %v\n%.3000s", env, err, out)
		}
	}
}

// balanceAssertion returns a line with which beancount checks an account's balance, to the last digit.
func balanceAssertion(account string, pending bool, debits, credits string, scale int, commodity string) string {
	plus, _ := new(big.Int).SetString(debits, 10)
	minus, _ := new(big.Int).SetString(credits, 10)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	amount := new(big.Rat).SetFrac(plus.Sub(plus, minus), unit).FloatString(scale)
	name := beancountName(account, pending)
	return fmt.Sprintf("2030-01-01 balance %s %s ~ 0 %s\n", name, amount, commodity)
}

// beancountName returns the name that an account of these tests has in beancount, computed without the
// exporter's code.
func beancountName(account string, pending bool) string {
	roots := map[byte]string{'A': "Assets", 'L': "Liabilities", 'Q': "Equity:Quasi", 'I': "Income", 'E': "Expenses", 'M': "Equity:Memorandum"}
	name := roots[account[0]]
	if pending {
		name = "Equity:Pending:" + account[:1]
	}
	for _, segment := range strings.Split(account[2:], ":") {
		if segment == "AE" || segment == "BH" || segment == "KW" {
			name += ":" + segment
			continue
		}
		words := strings.Split(segment, "_")
		for i, w := range words {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
		name += ":" + strings.Join(words, "")
	}
	return name
}

// An export in each format has the format's media type and file extension.
func TestEveryExportFormatIsServed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, media := range map[string]string{
		"hledger": "text/plain; charset=utf-8", "beancount": "text/plain; charset=utf-8", "csv": "text/csv; charset=utf-8",
		"parquet": "application/vnd.apache.parquet", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	} {
		format, _ := export.ParseFormat(name)
		r := f.auditor().get(exportPath+"?env=test&format="+name).want(200, "")
		if r.header.Get("content-type") != media || r.header.Get("content-disposition") != `attachment; filename="ledger-test.`+format.Extension()+`"` ||
			r.header.Get("cache-control") != "no-store" || r.header.Get("x-content-type-options") != "nosniff" || len(r.body) < 500 {
			t.Errorf("%s: %v, %d bytes", name, r.header, len(r.body))
		}
		if head := f.auditor().do("HEAD", exportPath+"?format="+name, "").want(200, ""); head.header.Get("content-type") != media || head.body != "" {
			t.Errorf("%s: HEAD: %v", name, head.header)
		}
	}
}
