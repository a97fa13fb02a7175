package check

import (
	"math/big"
	"mizan/ledger"
	"mizan/ledger/money"
)

// line is a posting of a template: what it debits, negative for a credit.
type line struct {
	path  ledger.Path
	asset money.Asset
	net   *big.Int
}

func debit(path ledger.Path, asset money.Asset, amount *big.Int) line {
	return line{path, asset, amount}
}

func credit(path ledger.Path, asset money.Asset, amount *big.Int) line {
	return line{path, asset, new(big.Int).Neg(amount)}
}

func mirror(lines []line) []line {
	for i := range lines {
		lines[i].net = new(big.Int).Neg(lines[i].net)
	}
	return lines
}
