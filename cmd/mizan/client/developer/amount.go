package developer

import (
	"errors"
	"fmt"
	"strings"

	"mizan/cmd/mizan/client"
	"mizan/ledger/money"
)

// moneyFlags are the flags that determine an amount and its asset (currency and network).
type moneyFlags struct {
	Amount   string `name:"amount" default:"10.00" placeholder:"AMOUNT" help:"The amount in major units; 10.00 if absent."`
	Currency string `name:"currency" default:"USD" placeholder:"CODE" help:"The currency; USD if absent."`
	Network  string `name:"network" placeholder:"NETWORK" help:"The network, for a currency that is on several networks."`
}

// asset returns the asset that the flags name. Its environment is always test.
func (f *moneyFlags) asset() money.Asset {
	currency := money.Currency(strings.ToUpper(f.Currency))
	return money.Asset{Currency: currency, Network: money.ResolveNetwork(currency, money.Network(f.Network)), Env: money.Test}
}

// minorUnits returns the amount in minor units.
func (f *moneyFlags) minorUnits() (string, error) {
	asset := f.asset()
	decimals, ok := asset.Scale()
	if !ok {
		if _, isCurrency := money.AcceptedCurrency(string(asset.Currency)); !isCurrency {
			return "", fmt.Errorf("--currency: %s is not a currency of transactions", asset.Currency)
		}
		return "", fmt.Errorf("--network: %s is on several networks, and its decimals depend on the network", asset.Currency)
	}
	return parseMajor(f.Amount, decimals)
}

// parseMajor converts an amount from major units to minor units.
func parseMajor(text string, decimals int) (string, error) {
	integer, fraction, hasPoint := strings.Cut(text, ".")
	if integer == "" || strings.Trim(integer+fraction, "0123456789") != "" || hasPoint && fraction == "" {
		return "", fmt.Errorf("--amount: %q is not an amount such as 10.00", text)
	}
	if len(fraction) > decimals {
		return "", fmt.Errorf("--amount: %q has more than the %d decimals of the currency", text, decimals)
	}
	digits := strings.TrimLeft(integer+fraction+strings.Repeat("0", decimals-len(fraction)), "0")
	if digits == "" {
		return "", errors.New("--amount: has to be above zero")
	}
	return digits, nil
}

// formatAmount formats a transaction's amount with its currency.
func (t *transaction) formatAmount() string {
	env, _ := money.ParseEnv(t.Env)
	asset := money.Asset{Currency: money.Currency(t.Currency), Network: money.Network(t.Network), Env: env}
	if decimals, ok := asset.Scale(); ok {
		if text, ok := client.MajorUnits(t.Amount, decimals); ok {
			return text + " " + client.Printable(t.Currency)
		}
	}
	return client.Printable(t.Amount + " " + t.Currency + " in minor units")
}
