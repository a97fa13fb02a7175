package alerts

import (
	"fmt"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Terminal is the description of a terminal in messages.
type Terminal struct {
	ID      ledger.ID
	Name    string
	Partner int64
	Env     money.Env
}

// maxName is the maximum length in bytes of a terminal's name in a message. Longer names are truncated.
const maxName = 80

// String returns the terminal's name, ID, partner and environment.
func (terminal *Terminal) String() string {
	return fmt.Sprintf("terminal %s (%s), partner %d, %s", terminal.name(), terminal.ID, terminal.Partner, terminal.Env)
}

// name returns the terminal's name, truncated to maxName bytes, in quotes.
func (terminal *Terminal) name() string { return fmt.Sprintf("%q", truncate(terminal.Name, maxName)) }

// assetName returns the name of an asset without its environment, for example "USD" or "USDT on tron".
func assetName(a money.Asset) string {
	if a.Network == "" {
		return string(a.Currency)
	}
	return string(a.Currency) + " on " + string(a.Network)
}

// formatAmount formats an amount twice: with the decimals of its asset, and in minor units.
func formatAmount(amount money.Amount, asset money.Asset) string {
	return formatSigned(money.Signed{Abs: amount}, asset)
}

func formatSigned(amount money.Signed, asset money.Asset) string {
	scale, known := asset.Scale()
	switch {
	case !known:
		return fmt.Sprintf("%s minor units of %s", amount, assetName(asset))
	case scale == 0:
		return fmt.Sprintf("%s %s", amount, assetName(asset))
	}
	return fmt.Sprintf("%s %s (%s minor units)", formatDecimal(amount, scale), assetName(asset), amount)
}

// formatDecimal formats an amount with a decimal point.
func formatDecimal(amount money.Signed, scale int) string {
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

// formatTime formats a time in UTC, without fractions of a second.
func formatTime(at ledger.Micros) string { return at.Time().Format("2006-01-02 15:04:05 UTC") }
