package export_test

import (
	"bytes"
	"encoding/csv"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"mizan/api/ledger/export"
	"mizan/ledger"
	"mizan/ledger/money"
)

// longNetwork is a network of the maximum length.
const longNetwork money.Network = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// unknownNetworks are networks that a payment may name although their decimals are unknown. The
// first one stands for a payment without a network.
var unknownNetworks = []money.Network{"", "foo", "-", "_", "1inch", "foo-", longNetwork}

// beancountCommodity is beancount's own rule for a commodity, from its documentation:
// at most 24 characters.
var beancountCommodity = regexp.MustCompile(`^[A-Z][A-Z0-9'._-]{0,22}[A-Z0-9]$`)

// unknownScaleJournal returns a journal with dollars and with money on unknownNetworks. On the n-th network,
// counted from 0, it moves 1234567 + n minor units.
func unknownScaleJournal() (j journal) {
	j.books("settle", ledger.Posted, usd, "Dr A:bank 1000", "Cr I:fees 1000")
	for n, network := range unknownNetworks {
		asset := money.Asset{Currency: "USDT", Network: network, Env: money.Prod}
		amount := money.FromUint64(uint64(1_234_567 + n)).String()
		j.books("settle", ledger.Posted, asset, "Dr A:bank "+amount, "Cr I:fees "+amount)
	}
	return j
}

// Amounts with unknown decimals are in minor units, and the commodity's name says so.
func TestHLedgerReadsMoneyWithUnknownScale(t *testing.T) {
	t.Parallel()
	requireProgram(t, "hledger")
	path := writeFile(t, export.HLedger, unknownScaleJournal().book(nil))
	run(t, "hledger", "-f", path, "check", "--strict")
	got := parseBalances(t, run(t, "hledger", "-f", path, "balance", "A:bank", "--flat", "--no-total", "--layout", "bare", "-O", "csv"))
	want := map[string]string{
		"A:bank USD": "10.00", "A:bank USDT": "1234567", "A:bank USDT/foo": "1234568", "A:bank USDT/-": "1234569", "A:bank USDT/_": "1234570",
		"A:bank USDT/1inch": "1234571", "A:bank USDT/foo-": "1234572", "A:bank USDT/" + string(longNetwork): "1234573",
	}
	if !maps.Equal(got, want) {
		t.Errorf("hledger finds %v, want %v", got, want)
	}
}

// The names of assets with unknown decimals must never change. The expected names were computed with sha256sum
// and base32.
func TestBeancountReadsMoneyWithUnknownScale(t *testing.T) {
	t.Parallel()
	requireProgram(t, "bean-check")
	path := writeFile(t, export.Beancount, unknownScaleJournal().book(nil))
	var claims strings.Builder
	for _, text := range []string{
		"10.00 ~ 0 USD", "1234567 ~ 0 USDT", "1234568 ~ 0 USDT.FOO", "1234569 ~ 0 USDT_PL4IHSYKS5T2VABYUFE", "1234571 ~ 0 USDT.1INCH", "1234572 ~ 0 USDT_Z7KO22NJXDB6YOEK2ML", "1234573 ~ 0 USDT_QGNFG6RVR5AIQTJRQTJ",
	} {
		claims.WriteString("2030-01-01 balance Assets:Bank " + text + "\n")
	}
	appendLines(t, path, claims.String())
	if text := run(t, "bean-check", path); text != "" {
		t.Errorf("bean-check says %s", text)
	}
}

// A comment at the commodity says that its amounts are in minor units. In beancount a further line names the asset
// if the commodity's name does not.
func TestCommodityCommentNamesMinorUnits(t *testing.T) {
	t.Parallel()
	const words = "amounts are in minor units: how many decimals it has is not known"
	for form, lines := range map[export.Format][]string{
		export.HLedger: {"commodity 1000.00 \"USD\"\n", "commodity 1000. \"USDT/-\"  ; " + words + "\n"},
		export.Beancount: {
			"1970-01-01 commodity USD\n1970", "1970-01-01 commodity USDT.FOO\n  comment: \"" + words + "\"\n",
			"1970-01-01 commodity USDT_PL4IHSYKS5T2VABYUFE\n  asset: \"prod/USDT/-\"\n  comment: \"" + words + "\"\n",
		},
	} {
		text := string(written(t, form, unknownScaleJournal().book(nil)))
		for _, line := range lines {
			if !strings.Contains(text, line) {
				t.Errorf("%v has no %q:\n%s", form, line, text)
			}
		}
	}
}

// In tables, the scale of an asset with unknown decimals is empty, and a network that begins like a formula is
// quoted.
func TestTablesLeaveAnUnknownScaleEmpty(t *testing.T) {
	t.Parallel()
	b := unknownScaleJournal().book(nil)
	rows, err := csv.NewReader(bytes.NewReader(written(t, export.CSV, b))).ReadAll()
	must(t, err)
	_, sheet, _ := sheets(t, written(t, export.XLSX, b))
	content := written(t, export.Parquet, b)
	type scaled struct {
		Scale       *int32 `parquet:"scale,optional"`
		AmountMinor string `parquet:"amount_minor"`
		Amount      string `parquet:"amount"`
	}
	stored, err := parquet.Read[scaled](bytes.NewReader(content), int64(len(content)))
	must(t, err)
	for line, want := range map[int][]string{
		1: {"USD", "", "prod", "2", "1000", "10.00"},
		3: {"USDT", "", "prod", "", "1234567", "1234567"},
		7: {"USDT", "'-", "prod", "", "1234569", "1234569"},
	} {
		if got := rows[line][13:19]; !slices.Equal(got, want) {
			t.Errorf("CSV has %q, want %q", got, want)
		}
		if got := sheet["Entries 1"][line][13:19]; !slices.Equal(got, want) {
			t.Errorf("XLSX has %q, want %q", got, want)
		}
		if got := stored[line-1]; (got.Scale == nil) != (want[3] == "") || got.AmountMinor != want[4] || got.Amount != want[5] {
			t.Errorf("Parquet has %+v, want %q", got, want)
		}
	}
}

// If two assets had the same name, their amounts would be added up. So neither of them is exported.
func TestAssetsWithEqualNamesAreNotExported(t *testing.T) {
	t.Parallel()
	sameName := func(money.Asset) (string, error) { return "USDT", nil }
	if err := export.Named(sameName, tron, tron); err != nil {
		t.Errorf("one asset: %v", err)
	}
	if err := export.Named(sameName, tron, bsc); err == nil || !strings.Contains(err.Error(), "prod/USDT/tron") || !strings.Contains(err.Error(), "prod/USDT/bsc") {
		t.Errorf("two assets: %v", err)
	}
}
