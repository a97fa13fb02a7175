package form

import (
	"mizan/api/console/apispec"
	"mizan/ledger/money"
)

// scope lists the objects that contain a value, from the innermost to the outermost. For each object it has the fields, the
// values that a person typed, and the stored values.
type scope []scopeLevel

type scopeLevel struct {
	fields []apispec.Field
	typed  *node
	stored map[string]any
}

// inside returns the scope for the members of an object. The scope of the object itself is s.
func (s scope) inside(fields []apispec.Field, typed *node, stored map[string]any) scope {
	return append(scope{{fields, typed, stored}}, s...)
}

// Names of the members that together identify an asset.
const (
	currencyName = "currency"
	networkName  = "network"
	envName      = "env"
)

// assetPlaces are names of members. If an object has no currency itself, one of these members may have it: an asset, or the
// amount of a payment link.
var assetPlaces = []string{"asset", "amount"}

// asset returns the asset of an amount: the nearest currency, the network beside the currency, and the nearest environment. If
// the currency needs a network and there is none beside it, asset uses the nearest network in the outer objects.
func (s scope) asset() (asset money.Asset, isKnown bool) {
	for i := range s {
		currency := s[i].text(currencyName)
		if currency == "" {
			continue
		}
		env, known := money.ParseEnv(s[i:].nearest(envName))
		if !known {
			env = money.Prod
		}
		with := func(network string) money.Asset {
			c := money.Currency(currency)
			return money.Asset{Currency: c, Network: money.ResolveNetwork(c, money.Network(network)), Env: env}
		}
		asset = with(s[i].text(networkName))
		if _, hasScale := asset.Scale(); !hasScale {
			asset = with(s[i:].nearest(networkName))
		}
		return asset, true
	}
	return asset, false
}

func (s scope) nearest(name string) string {
	for i := range s {
		if text := s[i].text(name); text != "" {
			return text
		}
	}
	return ""
}

// text returns the value that a person typed for a member or, if there is none, the member's stored value. If the member has
// neither, text looks for the member in assetPlaces.
func (l *scopeLevel) text(name string) string {
	if typed, ok := l.typed.child(name).text(); ok && typed != "" {
		return typed
	}
	if text, ok := l.stored[name].(string); ok && text != "" {
		return text
	}
	for _, place := range assetPlaces {
		if typed, ok := l.typed.child(place).child(name).text(); ok && typed != "" {
			return typed
		}
		if inner, ok := l.stored[place].(map[string]any); ok {
			if text, isText := inner[name].(string); isText && text != "" {
				return text
			}
		}
	}
	return ""
}

// hasCurrency tells whether amounts in this scope have a currency. It is true if an object in the scope has a currency, and
// also if the form has a field for the currency in which the person has not chosen one yet.
func (s scope) hasCurrency() bool {
	_, isKnown := s.asset()
	return isKnown || s.choosesCurrency()
}

// choosesCurrency tells whether the form has a field for the currency.
func (s scope) choosesCurrency() bool {
	for i := range s {
		if apispec.Named(s[i].fields, currencyName) != nil {
			return true
		}
		for _, place := range assetPlaces {
			if f := apispec.Named(s[i].fields, place); f != nil && apispec.Named(f.Fields, currencyName) != nil {
				return true
			}
		}
	}
	return false
}

// AssetIn finds the asset of an amount in the objects around the amount, which are given innermost first. ok is false if none
// of these objects has a currency.
func AssetIn(around ...map[string]any) (asset money.Asset, ok bool) {
	s := make(scope, len(around))
	for i, object := range around {
		s[i].stored = object
	}
	return s.asset()
}
