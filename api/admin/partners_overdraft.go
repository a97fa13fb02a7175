package admin

import (
	"strconv"

	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// overdraft reads a list of {currency, network?, env?, amount}. A problem names a field by the
// position of its entry: "overdraft_limit.0.amount".
func (f *form) overdraft(name string) *[]directory.Overdraft {
	if f.clears(name) {
		return new([]directory.Overdraft)
	}
	value := web.Member(f.object, name)
	if value == nil {
		return nil
	}
	if !web.IsArray(value) {
		f.problems.Add(name, name+" must be a list")
		return nil
	}
	limits := []directory.Overdraft{}
	m := jsonwalk.MembersOf(value)
	for {
		element, more := m.Element()
		if !more {
			return &limits
		}
		if len(limits) == directory.MaxOverdraft || f.problems.Full() {
			f.problems.Add(name, name+" has more than "+strconv.Itoa(directory.MaxOverdraft)+" entries")
			return nil
		}
		if !web.IsObject(element) {
			f.problems.Add(name, name+" must hold objects of currency, network, env and amount")
			return nil
		}
		entry := form{object: element}
		limits = append(limits, entry.overdraftEntry())
		for _, problem := range entry.problems {
			f.problems.Add(name+"."+strconv.Itoa(len(limits)-1)+"."+problem.Field, problem.Detail)
		}
	}
}

// overdraftEntry reads the overdraft of one asset. As in a limit, a currency with several
// networks needs a network; an empty network stands for money whose network is unknown.
func (f *form) overdraftEntry() directory.Overdraft {
	asset := money.Asset{Currency: f.currency("currency"), Env: f.env("env")}
	if network := f.text("network"); network != nil {
		asset.Network = money.Network(*network)
	} else if several(asset) && !f.problems.About("network") {
		f.problems.Add("network", "network is required: "+string(asset.Currency)+" is on several networks")
	}
	return directory.Overdraft{Asset: asset, Amount: f.amount("amount", true)}
}

// several tells whether the asset's currency exists on several networks.
func several(a money.Asset) bool {
	bare := money.Asset{Currency: a.Currency, Network: money.ResolveNetwork(a.Currency, ""), Env: money.Prod}
	_, alone := bare.Scale()
	return a.Currency != "" && !alone
}
