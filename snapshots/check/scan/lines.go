package scan

import (
	"math/big"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Line is a posting of a template: what it debits, negative for a credit.
type Line struct {
	path  ledger.Path
	asset money.Asset
	net   *big.Int
}

// Debit is a line that debits the amount.
func Debit(path ledger.Path, asset money.Asset, amount *big.Int) Line {
	return Line{path, asset, amount}
}

// Credit is a line that credits the amount.
func Credit(path ledger.Path, asset money.Asset, amount *big.Int) Line {
	return Line{path, asset, new(big.Int).Neg(amount)}
}

// Mirror turns the lines round, in place.
func Mirror(lines []Line) []Line {
	for i := range lines {
		lines[i].net = new(big.Int).Neg(lines[i].net)
	}
	return lines
}
