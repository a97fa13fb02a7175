package watch

import (
	"fmt"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Place is a terminal as its operators know it.
type Place struct {
	Terminal ledger.ID
	Name     string
	Partner  int64
	Env      money.Env
}

// maxName bounds how much of a terminal's name is shown, in bytes.
const maxName = 80

// String is the terminal's name, id, partner and environment.
func (p *Place) String() string {
	return fmt.Sprintf("terminal %s (%s), partner %d, %s", p.name(), p.Terminal, p.Partner, p.Env)
}

// name is what stands in subjects.
func (p *Place) name() string { return fmt.Sprintf("%q", cut(p.Name, maxName)) }

// coin is an asset without its environment: "USD", "USDT on tron".
func coin(a money.Asset) string {
	if a.Network == "" {
		return string(a.Currency)
	}
	return string(a.Currency) + " on " + string(a.Network)
}

// shown is an amount with the decimals of its asset and in minor units.
func shown(amount money.Amount, of money.Asset) string {
	return shownSigned(money.Signed{Abs: amount}, of)
}

func shownSigned(amount money.Signed, of money.Asset) string {
	scale, known := of.Scale()
	switch {
	case !known:
		return fmt.Sprintf("%s minor units of %s", amount, coin(of))
	case scale == 0:
		return fmt.Sprintf("%s %s", amount, coin(of))
	}
	return fmt.Sprintf("%s %s (%s minor units)", decimal(amount, scale), coin(of), amount)
}

// decimal is an amount with its point.
func decimal(amount money.Signed, scale int) string {
	digits, sign := amount.Abs.String(), ""
	if amount.Negative && !amount.IsZero() {
		sign = "-"
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - scale
	return sign + digits[:point] + "." + digits[point:]
}

// instant is a time for people, to the second and in UTC.
func instant(at ledger.Micros) string { return at.Time().Format("2006-01-02 15:04:05 UTC") }
