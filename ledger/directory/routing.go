package directory

import (
	"bytes"
	"cmp"
	"slices"

	"mizan/ledger/money"
)

// Serves tells whether the terminal takes a transaction of the type, asset,
// method (a money_storage type) and amount. A network or method that isn't
// known yet is empty and excludes nothing.
func (t *Terminal) Serves(kind TerminalType, asset money.Asset, method string, amount money.Amount) bool {
	s := &t.Settings
	switch {
	case !t.Active || t.Type != kind || t.Type == MerchantTerminal || t.Env != asset.Env:
		return false
	case len(s.Currencies) != 0 && !slices.Contains(s.Currencies, asset.Currency):
		return false
	case asset.Network != "" && len(s.Networks) != 0 && !slices.Contains(s.Networks, asset.Network):
		return false
	case method != "" && len(s.Methods) != 0 && !slices.Contains(s.Methods, method):
		return false
	case s.MinAmount != nil && amount.Less(*s.MinAmount):
		return false
	case s.MaxAmount != nil && s.MaxAmount.Less(amount):
		return false
	}
	return true
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
