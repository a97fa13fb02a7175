package export

import (
	"io"

	"mizan/ledger/money"
)

// WriteSheets is the XLSX form with sheets of so many rows.
func WriteSheets(w io.Writer, b *Book, limit int) error {
	return writeSheets(w, &reading{Book: b, holds: newHolds()}, limit)
}

// What tests look at beside what is exported.
var (
	BeancountAccount = beancountAccount
	BeancountName    = beancountName
	HLedgerName      = hledgerName
	MaxHolds         = maxHolds
	SheetRows        = sheetRows
)

// Named finds a commodity for each asset by a rule for names.
func Named(name func(money.Asset) (string, error), assets ...money.Asset) error {
	known := newCommodities(name)
	for _, a := range assets {
		if _, err := known.of(a); err != nil {
			return err
		}
	}
	return nil
}
