package locale

import (
	"context"
	"encoding/json"
	"flag"
	"html"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/ledger/money"
)

var update = flag.Bool("update", false, "write testdata/intl.json anew with the installed browser")

// intlRequest is the input of testdata/intl.js.
type intlRequest struct {
	Languages []string       `json:"languages"`
	Decimals  map[string]int `json:"decimals"` // number of decimals of each currency
	Amounts   []string       `json:"amounts"`  // amounts in minor units
	Numbers   []int          `json:"numbers"`
}

// intlAnswer has the texts that a browser writes in one language.
type intlAnswer struct {
	By         string              `json:"by"` // the program that has written the texts
	Direction  string              `json:"direction"`
	Months     []string            `json:"months"`
	ShortDates []string            `json:"short_dates"` // the fifth of each month of 2026
	Categories []string            `json:"categories"`
	Plurals    []string            `json:"plurals"`
	Numbers    []string            `json:"numbers"`
	Amounts    map[string][]string `json:"amounts"`
}

// intlFile is the form of testdata/intl.json.
type intlFile struct {
	Request intlRequest           `json:"request"`
	Answers map[string]intlAnswer `json:"answers"`
}

const intlPath = "testdata/intl.json"

// request returns the input for which testdata/intl.json has the texts: every currency with a sign or a scale, some codes of
// tokens, and amounts up to the largest ones.
func request() intlRequest {
	r := intlRequest{Languages: Languages(), Decimals: map[string]int{
		"USD": 2, "EUR": 2, "RUB": 2, "UAH": 2, "KZT": 2, "UZS": 2, "AZN": 2, "TRY": 2, "SAR": 2, "AED": 2, "IRR": 2, "PKR": 2, "BDT": 2,
		"IDR": 2, "MYR": 2, "GBP": 2, "JPY": 0, "KWD": 3, "CHF": 2, "INR": 2, "CNY": 2, "CAD": 2, "SGD": 2, "BHD": 3, "QAR": 2, "OMR": 3,
		"EGP": 2, "JOD": 3, "KGS": 2, "BTC": 8, "ETH": 18, "TRX": 6, "TON": 9,
	}}
	power := func(base, exponent, plus int64) string {
		n := new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil)
		return n.Add(n, big.NewInt(plus)).String()
	}
	r.Amounts = []string{"0", "1", "5", "99", "100", "123456", "1234567", "100000000", power(10, 15, 7), power(2, 200, 1)}
	for n := range 121 {
		r.Numbers = append(r.Numbers, n)
	}
	r.Numbers = append(r.Numbers, 999, 1000, 1001, 1234, 9999, 10_000, 12_345, 999_999, million, million+1, 2*million, 12_345_678)
	return r
}

// readIntl reads testdata/intl.json. With the flag -update it writes the file first.
func readIntl(t *testing.T) intlFile {
	t.Helper()
	if *update {
		writeIntl(t)
	}
	content, err := os.ReadFile(intlPath)
	if err != nil {
		t.Fatal(err)
	}
	var table intlFile
	if err := json.Unmarshal(content, &table); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(request())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(table.Request); string(got) != string(want) {
		t.Fatalf("%s is of another request: run this test with -update", intlPath)
	}
	return table
}

// writeIntl runs testdata/intl.js in Chromium, and in node for the languages that Debian's Chromium lacks. For these languages
// Chromium writes texts without a language, in which August is M08.
func writeIntl(t *testing.T) {
	t.Helper()
	table := intlFile{Request: request(), Answers: make(map[string]intlAnswer)}
	chromium := askChromium(t, table.Request)
	version := strings.TrimSpace(run(t, "chromium", "--version"))
	rest := table.Request
	rest.Languages = nil
	for _, lang := range table.Request.Languages {
		answer := chromium[lang]
		if answer.By = version; answer.Months[7] == "M08" {
			rest.Languages = append(rest.Languages, lang)
			continue
		}
		table.Answers[lang] = answer
	}
	version = "node " + strings.TrimSpace(run(t, "node", "-p", "process.version+' with ICU '+process.versions.icu"))
	for lang, answer := range askNode(t, rest) {
		answer.By = version
		table.Answers[lang] = answer
	}
	content, err := json.MarshalIndent(table, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(intlPath, append(content, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func askChromium(t *testing.T, r intlRequest) map[string]intlAnswer {
	t.Helper()
	page := filepath.Join(t.TempDir(), "intl.html")
	content := "<!doctype html><meta charset=utf-8><pre></pre><script>" + script(t, r) + "\ndocument.querySelector('pre').textContent = answer</script>"
	if err := os.WriteFile(page, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	document := run(t, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+page)
	_, document, _ = strings.Cut(document, "<pre>")
	document, _, _ = strings.Cut(document, "</pre>")
	return parseAnswers(t, html.UnescapeString(document))
}

func askNode(t *testing.T, r intlRequest) map[string]intlAnswer {
	t.Helper()
	return parseAnswers(t, run(t, "node", "-e", script(t, r)+"\nconsole.log(answer)"))
}

// script returns a program that sets the constant answer to the result as JSON.
func script(t *testing.T, r intlRequest) string {
	t.Helper()
	source, err := os.ReadFile("testdata/intl.js")
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(source) + "\nconst answer = JSON.stringify(intl(" + string(body) + "))"
}

func parseAnswers(t *testing.T, text string) (answers map[string]intlAnswer) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &answers); err != nil {
		t.Fatalf("%v in %.200q", err, text)
	}
	return answers
}

func run(t *testing.T, program string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, arguments...).Output()
	if err != nil {
		t.Fatal(program, err)
	}
	return string(out)
}

func TestAmountsAreWrittenAsBrowsersWriteThem(t *testing.T) {
	table := readIntl(t)
	for i := range formats {
		f := &formats[i]
		for currency, want := range table.Answers[f.lang].Amounts {
			for j, minor := range table.Request.Amounts {
				want[j] = markedSign(f, want[j])
				whole, fraction := split(minor, table.Request.Decimals[currency])
				if got := f.withSign(f.number(whole, fraction), currency, space); got != want[j] {
					t.Errorf("%s: %s of %s: %+q, want %+q", f.lang, minor, currency, got, want[j])
				}
				asset := money.Asset{Currency: money.Currency(currency), Env: money.Prod}
				if got := In(f.lang).Amount(money.MustParse(minor), asset); isFiat(asset) && got != want[j] {
					t.Errorf("%s: Amount of %s %s: %+q, want %+q", f.lang, minor, currency, got, want[j])
				}
			}
		}
	}
}

// markedSign adds a mark to an amount that a browser has written. The mark keeps the "$" of "US$" to the right of "US" in
// languages that are written from right to left.
func markedSign(f *format, amount string) string {
	if f.rightToLeft {
		for _, sign := range []string{"US$", "CA$", "UK£", "CN¥", "JP¥"} {
			amount = strings.Replace(amount, sign, sign+leftToRight, 1)
		}
	}
	return amount
}

// isFiat tells whether an asset is a state currency: it has no network, and its number of decimals is known and at most
// maxMinorDigits.
func isFiat(asset money.Asset) bool {
	scale, known := asset.Scale()
	return known && scale <= maxMinorDigits && asset.Network == ""
}

func TestTableHasEveryCurrencyOfTransactions(t *testing.T) {
	decimals := readIntl(t).Request.Decimals
	for _, asset := range money.AcceptedAssets(money.Prod) {
		if want, _ := asset.Scale(); isFiat(asset) && decimals[string(asset.Currency)] != want {
			t.Errorf("%s has %d decimals in the table, want %d", asset.Currency, decimals[string(asset.Currency)], want)
		}
	}
}

func TestNumbersAndPluralsAreThoseOfBrowsers(t *testing.T) {
	table := readIntl(t)
	for i := range formats {
		f := &formats[i]
		want := table.Answers[f.lang]
		for j, n := range table.Request.Numbers {
			if got := In(f.lang).Number(n); got != want.Numbers[j] {
				t.Errorf("%s: %d is %+q, want %+q", f.lang, n, got, want.Numbers[j])
			}
			if got := f.category(n); got != want.Plurals[j] {
				t.Errorf("%s: %d is %s, want %s", f.lang, n, got, want.Plurals[j])
			}
		}
		slices.Sort(want.Categories)
		if got := slices.Sorted(maps.Keys(f.numbersPerCategory())); !slices.Equal(got, want.Categories) {
			t.Errorf("%s: the categories are %v, want %v", f.lang, got, want.Categories)
		}
	}
}

func TestMonthsAndDirectionsAreThoseOfBrowsers(t *testing.T) {
	table := readIntl(t)
	for _, lang := range Languages() {
		l, want := In(lang), table.Answers[lang]
		if got := l.words.Months[:]; !slices.Equal(got, want.Months) {
			t.Errorf("%s: the months are %q, want %q", lang, got, want.Months)
		}
		if got := l.Direction(); got != want.Direction {
			t.Errorf("%s: the direction is %s, want %s", lang, got, want.Direction)
		}
	}
}

func TestShortDatesAreThoseOfBrowsers(t *testing.T) {
	table := readIntl(t)
	for _, lang := range Languages() {
		var got []string
		for month := time.January; month <= time.December; month++ {
			got = append(got, In(lang).ShortDate(time.Date(2026, month, 5, 0, 0, 0, 0, time.UTC)))
		}
		if want := table.Answers[lang].ShortDates; !slices.Equal(got, want) {
			t.Errorf("%s: the dates are %+q, want %+q", lang, got, want)
		}
	}
}
