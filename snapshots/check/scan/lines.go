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

func Debit(path ledger.Path, asset money.Asset, amount *big.Int) Line {
	return Line{path, asset, amount}
}

func Credit(path ledger.Path, asset money.Asset, amount *big.Int) Line {
	return Line{path, asset, new(big.Int).Neg(amount)}
}

func Mirror(lines []Line) []Line {
	for i := range lines {
		lines[i].net = new(big.Int).Neg(lines[i].net)
	}
	return lines
}
