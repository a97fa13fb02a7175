package export

import "io"

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
)
