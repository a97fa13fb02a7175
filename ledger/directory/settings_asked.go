package directory

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// checkSettings refuses settings that are well-formed but could never serve a transaction. It is
// for requests only; stored settings are parsed without it (invariant 5).
func (t *Terminal) checkSettings(op string) error {
	r := readParams(op, providerParams, t.ProviderParams)
	if slices.ContainsFunc(r.networks("networks"), unknownNetwork) {
		r.refuse("networks", "names a network that no currency is on")
	}
	if most := r.amount("max_amount"); most != nil && most.IsZero() {
		r.refuse("max_amount", "must be greater than zero")
	}
	r.keep(t.checkSettlement(op))
	return r.refused
}

// checkSettlement refuses settlement settings that don't name exactly one asset: without the
// asset's scale no amount could be converted to it.
func (t *Terminal) checkSettlement(op string) error {
	const key = "settlement_network"
	r := readParams(op, providerParams, t.ProviderParams)
	asset := money.Asset{Currency: r.currency("settlement_currency"), Network: r.network(key), Env: t.Env}
	if r.refused != nil || !t.Env.Valid() {
		return r.refused
	}
	if asset.Currency == "" {
		return check(asset.Network == "", op, r.field(key), "is of no use without settlement_currency")
	}
	named := asset.Network != ""
	asset.Network = money.ResolveNetwork(asset.Currency, asset.Network)
	if _, known := asset.Scale(); known {
		return nil
	}
	if named {
		return ledger.RefuseField(op, r.field(key), "is no network of %s", asset.Currency)
	}
	return ledger.RefuseField(op, r.field(key), "is required: %s is on several networks", asset.Currency)
}

// unknownNetwork tells whether the network has none of the assets that transactions can name.
func unknownNetwork(n money.Network) bool {
	return !slices.ContainsFunc(money.AcceptedAssets(money.Prod), func(a money.Asset) bool { return a.Network == n })
}
