package client_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"mizan/cmd/mizan/client"
)

// transactionColumns are the columns of a list of transactions, with the order in which a narrow terminal leaves them out.
var transactionColumns = []client.Column{
	{Name: "ID"}, {Name: "TXID", Rank: 1}, {Name: "STATUS"}, {Name: "AMOUNT", Right: true}, {Name: "CURRENCY"}, {Name: "NETWORK", Rank: 4}, {Name: "STARTED", Rank: 3},
	{Name: "TERMINAL", Rank: 2},
}

var transactionRows = [][]string{
	{"f0b6ac47-fb98-4496-b1aa-601a0f5d967b", "order-of-a-long-name-1042", "charged", "1,000.00", "USD", "-", "2026-09-03T10:15:30.123456+00:00", "d3cf29ee-60c1-4175-933e-227903fc7c68"},
	{"0b0f2c35-7d1c-4e6f-8f6e-2d5a4cf6a7c1", "注文書の番号は千四十二番です", "rejected", "7.00", "EUR", "-", "2026-09-03T10:15:31Z", "-"},
}

// print returns the lines of the table on a terminal of this width, and the names of the columns that were left out.
func print(t *testing.T, width int) (lines []string, omitted []string) {
	t.Helper()
	var out bytes.Buffer
	table := client.NewTable(&out, width, transactionColumns)
	for _, row := range transactionRows {
		table.Add(append([]string(nil), row...)...)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), table.Omitted()
}

func TestTableIsWholeWithoutATerminal(t *testing.T) {
	lines, omitted := print(t, 0)
	want := `ID                                    TXID                          STATUS      AMOUNT  CURRENCY  NETWORK  STARTED                           TERMINAL
f0b6ac47-fb98-4496-b1aa-601a0f5d967b  order-of-a-long-name-1042     charged   1,000.00  USD       -        2026-09-03T10:15:30.123456+00:00  d3cf29ee-60c1-4175-933e-227903fc7c68
0b0f2c35-7d1c-4e6f-8f6e-2d5a4cf6a7c1  注文書の番号は千四十二番です  rejected      7.00  EUR       -        2026-09-03T10:15:31Z              -`
	if got := strings.Join(lines, "\n"); got != want || omitted != nil {
		t.Errorf("without %v:\n%s\nwant:\n%s", omitted, got, want)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	for width, want := range map[int]struct{ lines, omitted string }{
		140: {`ID                                    TXID                          STATUS      AMOUNT  CURRENCY  STARTED              TERMINAL
f0b6ac47-fb98-4496-b1aa-601a0f5d967b  order-of-a-long-name-1042     charged   1,000.00  USD       2026-09-03 10:15:30  d3cf29ee…
0b0f2c35-7d1c-4e6f-8f6e-2d5a4cf6a7c1  注文書の番号は千四十二番です  rejected      7.00  EUR       2026-09-03 10:15:31  -`, ""},
		120: {`ID                                    TXID                  STATUS      AMOUNT  CURRENCY  STARTED              TERMINAL
f0b6ac47-fb98-4496-b1aa-601a0f5d967b  order-of-a-long-nam…  charged   1,000.00  USD       2026-09-03 10:15:30  d3cf29ee…
0b0f2c35-7d1c-4e6f-8f6e-2d5a4cf6a7c1  注文書の番号は千四…   rejected      7.00  EUR       2026-09-03 10:15:31  -`, ""},
		80: {`ID                                    TXID          STATUS      AMOUNT  CURRENCY
f0b6ac47-fb98-4496-b1aa-601a0f5d967b  order-of-a-…  charged   1,000.00  USD
0b0f2c35-7d1c-4e6f-8f6e-2d5a4cf6a7c1  注文書の番…   rejected      7.00  EUR`, "STARTED TERMINAL"},
		20: {`ID
f0b6ac47-fb98-4496-b1aa-601a0f5d967b
0b0f2c35-7d1c-4e6f-8f6e-2d5a4cf6a7c1`, "TXID STATUS AMOUNT CURRENCY STARTED TERMINAL"},
	} {
		lines, omitted := print(t, width)
		if got := strings.Join(lines, "\n"); got != want.lines || strings.Join(omitted, " ") != want.omitted {
			t.Errorf("%d columns, without %v:\n%s\nwant:\n%s", width, omitted, got, want.lines)
		}
		for _, line := range lines {
			if n := runewidth.StringWidth(line); n > width && width > 36 {
				t.Errorf("a line of %d columns on a terminal of %d", n, width)
			}
		}
	}
}

// A number that is cut off reads as another number, so a column of numbers stays whole or is left out.
func TestNumbersAreNotCutOff(t *testing.T) {
	columns := []client.Column{{Name: "ACCOUNT"}, {Name: "BALANCE", Right: true}, {Name: "PENDING", Right: true}}
	for width, want := range map[int]string{
		71: "ACCOUNT                               BALANCE                   PENDING\nL:partner:1:available  1,000,000.000000000000  2,000,000.00000000000000",
		70: "ACCOUNT                               BALANCE\nL:partner:1:available  1,000,000.000000000000",
	} {
		var out bytes.Buffer
		table := client.NewTable(&out, width, columns)
		table.Add("L:partner:1:available", "1,000,000.000000000000", "2,000,000.00000000000000")
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(out.String(), "\n"); got != want {
			t.Errorf("%d columns:\n%s\nwant:\n%s", width, got, want)
		}
	}
}
