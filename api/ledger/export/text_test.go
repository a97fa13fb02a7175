package export_test

import (
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mizan/api/ledger/export"
	"mizan/ledger"
	"mizan/ledger/money"
)

// expectedBalances are the posted balances of everyEntryKind and, on pending accounts, the held amounts.
// Debits are positive.
var expectedBalances = map[string]string{
	"A:provider:x USD": "9.90", "L:partner:1:available USD": "-9.70", "I:fees USD": "-0.20",
	"A:provider:x USDT/tron": "-3.000000", "L:partner:1:available USDT/tron": "3.000000",
	"pending:A:provider:x USD": "5.00", "pending:L:partner:1:available USD": "-5.00",
	"A:bank BHD": "1234.567", "Q:fx_position BHD": "-1234.567",
	"A:bank USDT/bsc": "0.000000000000000001", "Q:fx_position USDT/bsc": "-0.000000000000000001",
	"M:venture_assets:c USD": "0.40", "M:partner_capital:c USD": "-0.40",
	"E:owner_expense USD": "0.03", "L:customer:A.b_9-x:current USD": "-0.03",
}

func TestHLedgerFindsTheBalances(t *testing.T) {
	t.Parallel()
	requireProgram(t, "hledger")
	path := writeFile(t, export.HLedger, everyEntryKind().book(nil))
	run(t, "hledger", "-f", path, "check", "--strict")
	got := parseBalances(t, run(t, "hledger", "-f", path, "balance", "--flat", "--no-total", "--layout", "bare", "-O", "csv"))
	if !maps.Equal(got, expectedBalances) {
		t.Errorf("hledger finds %v, want %v", got, expectedBalances)
	}
}

// Holds are virtual postings in hledger, so its reports without virtual postings have only posted amounts.
func TestHLedgerLeavesHoldsOutOfRealPostings(t *testing.T) {
	t.Parallel()
	requireProgram(t, "hledger")
	path := writeFile(t, export.HLedger, everyEntryKind().book(nil))
	for _, flag := range []string{"--real", "--cleared"} {
		got := parseBalances(t, run(t, "hledger", "-f", path, "balance", flag, "--flat", "--no-total", "--layout", "bare", "-O", "csv", "not:pending:"))
		for name, amount := range expectedBalances {
			if !strings.HasPrefix(name, "pending:") && got[name] != amount {
				t.Errorf("%s: %s is %s, want %s", flag, name, got[name], amount)
			}
		}
	}
}

func TestHLedgerSeesHoldsAsPending(t *testing.T) {
	t.Parallel()
	requireProgram(t, "hledger")
	path := writeFile(t, export.HLedger, everyEntryKind().book(nil))
	got := parseBalances(t, run(t, "hledger", "-f", path, "balance", "--pending", "--flat", "--no-total", "--layout", "bare", "-O", "csv", "cur:USD"))
	want := map[string]string{"pending:A:provider:x USD": "5.00", "pending:L:partner:1:available USD": "-5.00"}
	if !maps.Equal(got, want) {
		t.Errorf("pending are %v, want %v", got, want)
	}
}

// Beancount's balance assertions compare its balances to the last digit. A wrong assertion, which must fail, shows that
// beancount does so.
func TestBeancountFindsTheBalances(t *testing.T) {
	t.Parallel()
	requireProgram(t, "bean-check")
	path := writeFile(t, export.Beancount, everyEntryKind().book(nil))
	names := strings.NewReplacer("USDT/tron", "USDT.TRON", "USDT/bsc", "USDT.BSC")
	claims := "\n2030-01-01 balance Equity:Pending:L:Partner:1:Available 0 ~ 0 USDT.TRON\n"
	for name, amount := range expectedBalances {
		account, commodity, _ := strings.Cut(name, " ")
		path, pending := strings.CutPrefix(account, "pending:")
		claims += "2030-01-01 balance " + export.BeancountAccount(ledger.Path(path), pending) + " " + amount + " ~ 0 " + names.Replace(commodity) + "\n"
	}
	appendLines(t, path, claims)
	if output := run(t, "bean-check", path); output != "" {
		t.Errorf("bean-check says %s", output)
	}
	appendLines(t, path, "2030-01-01 balance Assets:Bank 0.000000000000000002 ~ 0 USDT.BSC\n")
	if out, err := exec.Command("bean-check", path).CombinedOutput(); err == nil || !strings.Contains(string(out), "Balance failed for 'Assets:Bank'") {
		t.Errorf("bean-check takes a wrong balance: %v\n%s", err, out)
	}
}

// appendLines appends lines to an export.
func appendLines(t *testing.T, path, lines string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(lines)
	must(t, err)
	must(t, f.Close())
}

// Beancount refuses an amount in a commodity in which its account is not open, so the open
// directives keep networks apart.
func TestBeancountAccountsAreOpenInTheirCommoditiesOnly(t *testing.T) {
	t.Parallel()
	text := string(written(t, export.Beancount, everyEntryKind().book(nil)))
	if !strings.Contains(text, "1970-01-01 open Assets:Provider:X USD,USDT.TRON\n") {
		t.Errorf("the provider's account is not opened in its two commodities:\n%s", text)
	}
}

func TestCommoditiesHaveDistinctNames(t *testing.T) {
	t.Parallel()
	var assets []money.Asset
	for _, env := range []money.Env{money.Prod, money.Test} {
		assets = append(assets, money.AcceptedAssets(env)...)
		for _, c := range []money.Currency{"AED", "SAR", "BHD", "QAR", "KWD", "OMR", "MYR", "PKR", "BDT", "EGP", "JOD", "UZS", "KGS"} {
			assets = append(assets, money.Asset{Currency: c, Env: env})
		}
		for _, network := range append(unknownNetworks, "foo_", "test", "x-test", "-x", "x", "prod", "tron-", "tron_", "tron-x", "tron_x", longNetwork[1:]) {
			assets = append(assets, money.Asset{Currency: "USDT", Network: network, Env: env})
		}
	}
	for form, name := range map[string]func(money.Asset) (string, error){"hledger": export.HLedgerName, "beancount": export.BeancountName} {
		seen := map[string]money.Asset{}
		for _, a := range assets {
			spelled, err := name(a)
			must(t, err)
			if other, isTaken := seen[spelled]; isTaken {
				t.Errorf("%s: %v and %v are both %s", form, a, other, spelled)
			}
			seen[spelled] = a
			if form == "beancount" && !beancountCommodity.MatchString(spelled) {
				t.Errorf("%v is %s", a, spelled)
			}
		}
	}
}

func TestAssetWithoutANameIsNotExported(t *testing.T) {
	t.Parallel()
	for form, assets := range map[export.Format][]money.Asset{
		export.HLedger:   {{Currency: `U"D`, Env: money.Prod}, {Currency: "US/D", Env: money.Prod}},
		export.Beancount: {{Currency: "USD.TRON", Env: money.Prod}, {Currency: "usd", Env: money.Prod}, {Currency: "USD_TRON", Env: money.Prod}},
	} {
		for _, a := range assets {
			var j journal
			j.books("settle", ledger.Posted, a, "Dr A:bank 1", "Cr I:fees 1")
			if _, err := export.Write(new(strings.Builder), form, j.book(nil)); err == nil || !strings.Contains(err.Error(), a.String()) {
				t.Errorf("%v of %v: %v", form, a, err)
			}
		}
	}
}

// No two paths have the same beancount name.
func TestBeancountAccountNamesAreDistinct(t *testing.T) {
	t.Parallel()
	for path, want := range map[ledger.Path]string{
		"A:accumulated_depreciation:7c2b-8a": "Assets:AccumulatedDepreciation:7c2b-8a",
		"Q:quasi":                            "Equity:Quasi:Quasi", "M:quasi": "Equity:Memorandum:Quasi", "L:partner:1:available": "Liabilities:Partner:1:Available",
		"L:a-b": "Liabilities:A-b", "L:a_b": "Liabilities:AΞ5fb", "A:cash:AE": "Assets:Cash:AE", "A:cash:ae": "Assets:Cash:Ae", "L:aa_b": "Liabilities:AaB", "L:ab": "Liabilities:Ab", "L:aB": "Liabilities:AΞ42", "L:a.b": "Liabilities:AΞ2eb",
		"L:A": "Liabilities:Ξ41", "L:_a": "Liabilities:Ξ5fa", "L:-a": "Liabilities:Ξ2da", "L:a_": "Liabilities:AΞ5f", "L:a_9": "Liabilities:AΞ5f9",
		"L:a__b": "Liabilities:AΞ5fB", "L:a_-b": "Liabilities:AΞ5f-b",
	} {
		if got := export.BeancountAccount(path, false); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	seen := map[string]ledger.Path{}
	const letters = "abBC9-_."
	var grow func(segment string)
	grow = func(segment string) {
		if segment != "" {
			for _, pending := range []bool{false, true} {
				path := ledger.Path("L:" + segment)
				name := export.BeancountAccount(path, pending)
				if other, isTaken := seen[name]; isTaken {
					t.Fatalf("%s and %s are both %s", path, other, name)
				}
				seen[name] = path
			}
		}
		for i := range letters {
			if len(segment) < 5 {
				grow(segment + letters[i:i+1])
			}
		}
	}
	grow("")
}

func TestEntryNamesTheEntriesItReversesAndCloses(t *testing.T) {
	t.Parallel()
	for form, lines := range map[export.Format][]string{
		export.HLedger:   {" * (7) reverse\n", "    ; reverses:1\n", "    ; closes:2\n", " ! (5) cancel\n"},
		export.Beancount: {"* \"reverse\" ^seq-7 ^seq-1\n", "  reverses: 1\n", "  closes: 2\n", "! \"cancel\" ^seq-5 ^seq-4\n"},
	} {
		text := string(written(t, form, everyEntryKind().book(nil)))
		for _, line := range lines {
			if !strings.Contains(text, line) {
				t.Errorf("%v has no %q", form, line)
			}
		}
	}
}

// An entry's date is its effective day. The booked day is in the metadata.
func TestDatesAreTheEffectiveAndTheBookedDay(t *testing.T) {
	t.Parallel()
	if text := string(written(t, export.HLedger, everyEntryKind().book(nil))); !strings.Contains(text, "\n2024-10-03=2026-09-03 * (1) settle\n") {
		t.Errorf("the first entry has other dates:\n%s", text)
	}
	if text := string(written(t, export.Beancount, everyEntryKind().book(nil))); !strings.Contains(text, "\n2024-10-03 * \"settle\" ^seq-1\n") ||
		!strings.Contains(text, "\n  booked: \"2026-09-03T10:15:30.123457Z\"\n") {
		t.Errorf("the first entry has other dates:\n%s", text)
	}
}

// Names of events come from the program and have only plain characters. If a name ever contained others, it would
// still not extend beyond its line.
func TestNamesAreEscapedWithinTheirLine(t *testing.T) {
	t.Parallel()
	var j journal
	j.books("a;b|c\n2026-01-01 x\"y\\", ledger.Posted, usd, "Dr A:bank 1", "Cr I:fees 1")
	for form, want := range map[export.Format]string{export.HLedger: "(1) a b c 2026-01-01 x\"y\\\n", export.Beancount: `"a b c 2026-01-01 x\"y\\" ^seq-1`} {
		if text := string(written(t, form, j.book(nil))); !strings.Contains(text, want) {
			t.Errorf("%v:\n%s", form, text)
		}
	}
}
