package scan

import (
	"math/big"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Line is a posting that an entry is expected to have, with an unbounded amount: positive for a debit and
// negative for a credit.
type Line struct {
	path  ledger.Path
	asset money.Asset
	net   *big.Int
}

// Debit returns a line that debits the amount.
func Debit(path ledger.Path, asset money.Asset, amount *big.Int) Line {
	return Line{path, asset, amount}
}

// Credit returns a line that credits the amount.
func Credit(path ledger.Path, asset money.Asset, amount *big.Int) Line {
	return Line{path, asset, new(big.Int).Neg(amount)}
}

// Mirror swaps debits and credits in place: each debit becomes a credit and each credit a debit.
func Mirror(lines []Line) []Line {
	for i := range lines {
		lines[i].net = new(big.Int).Neg(lines[i].net)
	}
	return lines
}
