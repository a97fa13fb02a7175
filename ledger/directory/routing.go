package directory

import (
	"bytes"
	"cmp"
	"slices"

	"mizan/ledger/money"
)

// Serves tells whether the terminal accepts a transaction with this type, asset, method (a money_storage type) and amount. An
// empty method means that the method is not known yet; it excludes no terminal. An empty network excludes only terminals that
// accept none of the currency's networks.
func (t *Terminal) Serves(terminalType TerminalType, asset money.Asset, method string, amount money.Amount) bool {
	return t.UnsuitableReason(terminalType, asset, method, amount) == ""
}

// UnsuitableReason returns why the terminal does not accept a transaction with these properties, as a text for operators;
// empty if the terminal accepts it.
func (t *Terminal) UnsuitableReason(terminalType TerminalType, asset money.Asset, method string, amount money.Amount) string {
	s := &t.Settings
	switch {
	case t.Type != terminalType || t.Type == MerchantTerminal:
		return "it is of another type"
	case t.Env != asset.Env:
		return "it is of the other environment"
	case !t.Active:
		return "it is switched off"
	case len(s.Currencies) != 0 && !slices.Contains(s.Currencies, asset.Currency):
		return "it does not take the currency"
	case len(s.Networks) != 0 && !s.acceptsNetwork(asset):
		return "it does not take the network"
	case method != "" && len(s.Methods) != 0 && !slices.Contains(s.Methods, method):
		return "it does not take the method"
	case s.MinAmount != nil && amount.Less(*s.MinAmount):
		return "the amount is below its min_amount"
	case s.MaxAmount != nil && s.MaxAmount.Less(amount):
		return "the amount is above its max_amount"
	}
	return ""
}

// acceptsNetwork tells whether the terminal accepts the asset's network. An empty network may still become any network of the
// currency. If the currency has no networks, as a national currency, it is accepted whatever networks the terminal lists.
func (s *Settings) acceptsNetwork(asset money.Asset) bool {
	if asset.Network != "" {
		return slices.Contains(s.Networks, asset.Network)
	}
	if _, withoutNetworks := asset.Scale(); withoutNetworks {
		return true
	}
	return slices.ContainsFunc(s.Networks, func(n money.Network) bool {
		_, known := money.Asset{Currency: asset.Currency, Network: n, Env: asset.Env}.Scale()
		return known
	})
}

// Resolve returns the asset with a network. An asset without one gets a network if the currency has only one, or if the
// terminal accepts only one of the currency's networks (specification, "Currencies and network": "resolved from the
// credentials or terminal").
func (t *Terminal) Resolve(asset money.Asset) money.Asset {
	asset.Network = money.ResolveNetwork(asset.Currency, asset.Network)
	if _, known := asset.Scale(); known || asset.Network != "" {
		return asset
	}
	found := asset
	for _, network := range t.Settings.Networks {
		candidate := money.Asset{Currency: asset.Currency, Network: network, Env: asset.Env}
		if _, known := candidate.Scale(); !known {
			continue
		}
		if found.Network != "" && found != candidate {
			return asset
		}
		found = candidate
	}
	return found
}

// SettlementAsset returns the asset in which the terminal settles a transaction in the source asset. The bool tells whether
// the amount must be converted, because the currencies differ. If the amount need not be converted, the result is source.
// Otherwise the result has the environment of source and, as checkSettlement requires, a known scale (number of decimals).
func (t *Terminal) SettlementAsset(source money.Asset) (money.Asset, bool) {
	s := &t.Settings
	if s.SettlementCurrency == "" || s.SettlementCurrency == source.Currency {
		return source, false
	}
	network := money.ResolveNetwork(s.SettlementCurrency, s.SettlementNetwork)
	return money.Asset{Currency: s.SettlementCurrency, Network: network, Env: source.Env}, true
}

// Candidates returns the terminals that accept the transaction, in the order in which they are tried. A lower priority comes
// first; terminals of equal priority are ordered by id.
func Candidates(terminals []*Terminal, terminalType TerminalType, asset money.Asset, method string, amount money.Amount) []*Terminal {
	var candidates []*Terminal
	for _, t := range terminals {
		if t.Serves(terminalType, asset, method, amount) {
			candidates = append(candidates, t)
		}
	}
	slices.SortFunc(candidates, ByPriority)
	return candidates
}

// ByPriority orders terminals by priority, then by id.
func ByPriority(a, b *Terminal) int {
	if c := cmp.Compare(a.Settings.Priority, b.Settings.Priority); c != 0 {
		return c
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}
