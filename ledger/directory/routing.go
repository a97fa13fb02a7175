package directory

import (
	"bytes"
	"cmp"
	"slices"

	"mizan/ledger/money"
)

// Serves tells whether the terminal takes a transaction of the type, asset,
// method (a money_storage type) and amount. A method that isn't known yet is empty
// and excludes nothing; a network that isn't excludes a terminal that takes none
// on which the currency is.
func (t *Terminal) Serves(kind TerminalType, asset money.Asset, method string, amount money.Amount) bool {
	return t.Unfit(kind, asset, method, amount) == ""
}

// Unfit is why the terminal does not serve such a transaction, for the operator;
// empty: it does.
func (t *Terminal) Unfit(kind TerminalType, asset money.Asset, method string, amount money.Amount) string {
	s := &t.Settings
	switch {
	case t.Type != kind || t.Type == MerchantTerminal:
		return "it is of another type"
	case t.Env != asset.Env:
		return "it is of the other environment"
	case !t.Active:
		return "it is switched off"
	case len(s.Currencies) != 0 && !slices.Contains(s.Currencies, asset.Currency):
		return "it does not take the currency"
	case len(s.Networks) != 0 && !s.takesNetwork(asset):
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

// takesNetwork tells whether the asset is on one of the networks that the terminal
// is for. While its network is unresolved it may turn out to be any that the
// currency is on; a currency that is one thing everywhere is on all of them.
func (s *Settings) takesNetwork(asset money.Asset) bool {
	if asset.Network != "" {
		return slices.Contains(s.Networks, asset.Network)
	}
	if _, everywhere := asset.Scale(); everywhere {
		return true
	}
	return slices.ContainsFunc(s.Networks, func(n money.Network) bool {
		_, known := money.Asset{Currency: asset.Currency, Network: n, Env: asset.Env}.Scale()
		return known
	})
}

// Resolve fills an asset's empty network where the currency exists on one
// network only, or on one only of those that the terminal takes (specification,
// "Currencies and network": "resolved from the credentials or terminal").
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

// SettlementAsset is what the terminal settles a transaction of the source asset
// in, and true, where that is another currency: money is converted. Otherwise it
// is the source itself. The asset has the source's environment. It has a scale
// unless the terminal's settings were stored without the check of new ones.
func (t *Terminal) SettlementAsset(source money.Asset) (money.Asset, bool) {
	s := &t.Settings
	if s.SettlementCurrency == "" || s.SettlementCurrency == source.Currency {
		return source, false
	}
	network := money.ResolveNetwork(s.SettlementCurrency, s.SettlementNetwork)
	return money.Asset{Currency: s.SettlementCurrency, Network: network, Env: source.Env}, true
}

// Candidates are the terminals that serve the transaction in the order in which
// they are tried: by priority, lower first, then by id.
func Candidates(terminals []*Terminal, kind TerminalType, asset money.Asset, method string, amount money.Amount) []*Terminal {
	var candidates []*Terminal
	for _, t := range terminals {
		if t.Serves(kind, asset, method, amount) {
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
