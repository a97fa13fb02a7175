package csvfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
)

// show returns the lines as "id date kind in|out amount fee currency references".
func show(lines []reconciliation.Line) (list []string) {
	for _, l := range lines {
		direction := "in"
		if l.Outgoing {
			direction = "out"
		}
		list = append(list, fmt.Sprint(l.ID, " ", l.Date, " ", l.Kind, " ", direction, " ", l.Amount, " ", l.Fee, " ", l.Asset.Currency, " ", l.References))
	}
	return list
}

func TestExampleFileIsRead(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "examples", "reconciliation", "report.csv"))
	if err != nil {
		t.Fatal(err)
	}
	mapping := Mapping{Date: "Date", Amount: "Gross", Currency: "Currency", Fee: "Fee", Reference: "Reference", Kind: "Type", ID: "Id", Scale: Major}
	lines, err := Read(content, &mapping, money.Test)
	want := []string{
		"ch_1 2026-09-03 charge in 1000 59 USD [order-1001]",
		"ch_2 2026-09-03 charge in 2550 104 USD [order-1002]",
		"re_1 2026-09-04 refund out 1000 0 USD [order-1001]",
		"fe_1 2026-09-04 fee out 200 0 USD []",
		"po_1 2026-09-04 payout out 2187 0 USD [payout-77]",
	}
	if got := show(lines); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
}

var plain = Mapping{Date: "d", Amount: "a", Currency: "c", Reference: "r", Scale: Major}

func TestWithoutAKindTheSignDecides(t *testing.T) {
	lines, err := Read([]byte("\xef\xbb\xbfr,c,a,d\nx,usd,-1.5,2026-09-03\ny,EUR,+7,2026-09-03\n"), &plain, money.Test)
	if got := fmt.Sprint(show(lines)); err != nil || got != "[ 2026-09-03 refund out 150 0 USD [x]  2026-09-03 charge in 700 0 EUR [y]]" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWrongFileIsRefusedWithItsLine(t *testing.T) {
	const header = "r,c,a,d\n"
	for file, want := range map[string]string{
		"":                                 "is empty",
		header:                             "has no lines",
		header + "x,USD,1,2026-09-03\nx\n": "line 3: wrong number of fields",
		header + "x,USD,1.234,2026-09-03":  "line 2: amount must be a number with at most 2 decimals",
		header + "x,USD,1e3,2026-09-03":    "line 2: amount must be a number with at most 2 decimals",
		header + "x,USD,1.,2026-09-03":     "line 2: amount must be a number with at most 2 decimals",
		header + "x,USD,,2026-09-03":       "line 2: amount must be a number with at most 2 decimals",
		header + "x,USD,0,2026-09-03":      "line 2: amount must not be zero",
		header + "x,QQQ,1,2026-09-03":      "line 2: currency is not accepted",
		header + "x,USD,1,03.09.2026":      "line 2: date must be a day, yyyy-mm-dd, or an instant in RFC 3339",
		header + "x,USD,1,1969-12-31":      "line 2: date must be a day, yyyy-mm-dd, or an instant in RFC 3339",
		header + strings.Repeat("x", 201) + ",USD,1,2026-09-03":     "line 2: reference is longer than 200 bytes",
		header + "x,USD," + strings.Repeat("9", 79) + ",2026-09-03": "line 2: amount must be a number with at most 2 decimals",
		header + "\"x,USD,1,2026-09-03":                             "line 2: extraneous or missing \" in quoted-field",
	} {
		if _, err := Read([]byte(file), &plain, money.Test); err == nil || err.Error() != want {
			t.Errorf("%.60q: %v, want %s", file, err, want)
		}
	}
	minor := plain
	minor.Scale = Minor
	if _, err := Read([]byte(header+"x,USD,1.5,2026-09-03"), &minor, money.Test); err == nil || err.Error() != "line 2: amount must be a whole number of minor units" {
		t.Errorf("decimals in minor units: %v", err)
	}
	if _, err := Read([]byte("r,c,a,d,d\nx,USD,1,1,1\n"), &plain, money.Test); err == nil {
		t.Error("two columns of one name are accepted")
	}
}

func TestFileHasAtMostMaxLines(t *testing.T) {
	file := "r,c,a,d\n" + strings.Repeat("x,USD,1,2026-09-03\n", reconciliation.MaxLines)
	if lines, err := Read([]byte(file), &plain, money.Test); err != nil || len(lines) != reconciliation.MaxLines {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	if _, err := Read([]byte(file+"x,USD,1,2026-09-03\n"), &plain, money.Test); err != ErrTooManyLines {
		t.Errorf("one more: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("r,c,a,d\nx,USD,-1.50,2026-09-03\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		lines, err := Read(content, &plain, money.Test)
		for i := range lines {
			if _, problem := lines[i].Check(); err == nil && problem != "" {
				t.Errorf("%+v", lines[i])
			}
		}
	})
}
