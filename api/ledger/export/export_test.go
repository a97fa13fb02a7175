package export

import (
	"io"

	"mizan/ledger/money"
)

// WriteSheets writes XLSX with a bound on the rows of a sheet.
func WriteSheets(w io.Writer, b *Book, limit int) error {
	return writeSheets(w, &exporter{Book: b, holds: newHolds()}, limit)
}

// Identifiers for tests.
var (
	BeancountAccount = beancountAccount
	BeancountName    = beancountName
	HLedgerName      = hledgerName
	MaxHolds         = maxHolds
	SheetRows        = sheetRows
)

// Named looks up a commodity for each asset with a naming function.
func Named(name func(money.Asset) (string, error), assets ...money.Asset) error {
	known := newCommodities(name)
	for _, a := range assets {
		if _, err := known.lookup(a); err != nil {
			return err
		}
	}
	return nil
}
