package directory

import (
	"bytes"
	"cmp"
	"slices"

	"mizan/ledger/money"
)

// Serves tells whether the terminal accepts a transaction with this type, asset, method (a money_storage type) and amount.
// If the method is empty, it is not known yet, so Serves does not check it. If the network is empty, the terminal must
// accept at least one of the currency's networks.
func (t *Terminal) Serves(terminalType TerminalType, asset money.Asset, method string, amount money.Amount) bool {
	return t.UnsuitableReason(terminalType, asset, method, amount) == ""
}

// UnsuitableReason returns why the terminal does not accept a transaction with these properties, as a text for operators.
// If the terminal accepts the transaction, the text is empty.
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

// acceptsNetwork tells whether the terminal accepts the asset's network. If the network is empty, it may still become any
// network of the currency, so the terminal needs to accept only one of them. If the currency has no networks, such as a
// national currency, the terminal's list of networks does not matter.
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

// Resolve completes an asset that has no network: it sets the network if the currency has only one, or if the terminal
// accepts only one of the currency's networks (specification, "Currencies and network": "resolved from the credentials or
// terminal").
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

// SettlementAsset returns the asset in which the terminal settles a transaction that is made in the source asset. If the
// currencies differ, the amount must be converted, and the bool is true. Then the returned asset has the environment of
// source and a known scale (number of decimals), which checkSettlement ensures. Otherwise the returned asset is source.
func (t *Terminal) SettlementAsset(source money.Asset) (money.Asset, bool) {
	s := &t.Settings
	if s.SettlementCurrency == "" || s.SettlementCurrency == source.Currency {
		return source, false
	}
	network := money.ResolveNetwork(s.SettlementCurrency, s.SettlementNetwork)
	return money.Asset{Currency: s.SettlementCurrency, Network: network, Env: source.Env}, true
}

// Candidates returns the terminals that accept the transaction, in the order in which they are tried. Terminals with a
// lower Priority come first, and terminals of equal priority are ordered by id.
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
