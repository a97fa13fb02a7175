package reconciliation

import (
	"strconv"

	"mizan/ledger"
	"mizan/ledger/money"
)

// CounterPrefix begins the keys of the counters of this package.
const CounterPrefix = "reconciliation/"

// OpenKey returns the key of the counter of a terminal's open differences of a day. The day is the counter's window.
func OpenKey(terminal ledger.ID) string { return CounterPrefix + "open/" + terminal.String() }

// ImportingKey returns the key of the counter of a terminal's unfinished imports.
func ImportingKey(terminal ledger.ID) string {
	return CounterPrefix + "importing/" + terminal.String()
}

// FeesKey returns the key of the counter that sums the fees that are linked with a settlement's entry.
func FeesKey(seq uint64) string { return CounterPrefix + "fees/" + strconv.FormatUint(seq, 10) }

// CountOpen returns the guard that counts n new open differences of a day.
func CountOpen(org, terminal ledger.ID, day ledger.Date, n int) ledger.CounterGuard {
	return ledger.CounterGuard{
		Org: org, Key: OpenKey(terminal), Window: ledger.DayWindow(day), Add: money.FromUint64(uint64(n)), Max: money.Max, RefusalCode: ledger.OutOfRange,
	}
}

// UncountOpen returns the guard that counts an open difference as settled.
func UncountOpen(d *FoundDifference) ledger.CounterGuard {
	return ledger.CounterGuard{Org: d.Org, Key: OpenKey(d.Terminal), Window: ledger.DayWindow(d.Day), Add: money.FromUint64(1), IsRelease: true}
}

// CountImport returns the guard of the Change that begins an import.
func CountImport(r *Report) ledger.CounterGuard {
	return ledger.CounterGuard{Org: r.Org, Key: ImportingKey(r.Terminal), Add: money.FromUint64(1), Max: money.Max, RefusalCode: ledger.OutOfRange}
}

// UncountImport returns the guard of the Change that finishes an import.
func UncountImport(r *Report) ledger.CounterGuard {
	return ledger.CounterGuard{Org: r.Org, Key: ImportingKey(r.Terminal), Add: money.FromUint64(1), IsRelease: true}
}

// RefuseUnexplained returns the guards that refuse to close a day with Conflict while a difference of the day is open, or while
// an import of the terminal is unfinished.
func RefuseUnexplained(org, terminal ledger.ID, day ledger.Date) []ledger.CounterGuard {
	return []ledger.CounterGuard{
		{Org: org, Key: OpenKey(terminal), Window: ledger.DayWindow(day), RefusalCode: ledger.Conflict},
		{Org: org, Key: ImportingKey(terminal), RefusalCode: ledger.Conflict},
	}
}

// LinkFee returns the guard that counts a fee as a part of the fee that a settlement has booked. A part that exceeds it is
// refused with Conflict.
func LinkFee(org ledger.ID, seq uint64, amount, settlementFee money.Amount) ledger.CounterGuard {
	return ledger.CounterGuard{Org: org, Key: FeesKey(seq), Add: amount, Max: settlementFee, RefusalCode: ledger.Conflict}
}

// EntryKey returns the key of the claims on an entry of a terminal's account.
func EntryKey(terminal ledger.ID, seq uint64) string {
	return terminal.String() + "/" + strconv.FormatUint(seq, 10)
}

// ClaimEntry returns the claim that explains an entry by a report or a difference.
func ClaimEntry(org, terminal ledger.ID, seq uint64, owner ledger.ID) ledger.Claim {
	return ledger.Claim{Org: org, Kind: ledger.ClaimMatched, Key: EntryKey(terminal, seq), Owner: owner[:]}
}

// ClaimMissing returns the claim that says which difference reports that an entry is missing there.
func ClaimMissing(org, terminal ledger.ID, seq uint64, difference ledger.ID) ledger.Claim {
	return ledger.Claim{Org: org, Kind: ledger.ClaimMissing, Key: EntryKey(terminal, seq), Owner: difference[:]}
}

// ClaimLine returns the claim of a report on a line.
func ClaimLine(r *Report, key LineKey) ledger.Claim {
	owner := r.ID
	return ledger.Claim{Org: r.Org, Kind: ledger.ClaimReportLine, Key: key.ClaimKey(r.Terminal), Owner: owner[:]}
}
