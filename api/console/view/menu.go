package view

import (
	"slices"

	"mizan/ledger/directory"
)

// Root is the path of the console's first page. All pages of the console are below this path.
const Root = "/console/"

// Item is an entry of the menu.
type Item struct {
	Key    string // key of the entry's text in texts.Texts.Menu
	Path   string
	Letter string // letter of the keyboard shortcut: pressing g and then the letter opens the page; empty if none
	Roles  directory.Roles
	Bank   bool // only organizations that are banks have the entry
}

// Group is a group of entries of the menu, with a heading.
type Group struct {
	Key   string // key of the heading in texts.Texts.Groups; empty if there is no heading
	Items []Item
}

// everybody lists all roles.
var everybody = directory.AllRoles

var (
	byPartner  = directory.Roles{directory.PartnerRole}
	byAdmin    = directory.Roles{directory.Admin}
	byLedger   = directory.Roles{directory.Admin, directory.Auditor}
	byContract = directory.Roles{directory.Admin, directory.Client}
	byPayments = directory.Roles{directory.Admin, directory.PartnerRole}
)

// menu lists all entries that a menu can have.
var menu = []Group{
	{"", []Item{{"home", Root, "h", everybody, false}}},
	{"payments", []Item{
		{"payments", Root + "payments", "p", byPayments, false},
		{"links", Root + "links", "l", byPartner, false},
		{"products", Root + "products", "o", byPartner, false},
		{"subscriptions", Root + "subscriptions", "n", byPartner, false},
		{"balances", Root + "balances", "b", byPartner, false},
		{"webhooks", Root + "webhooks", "w", byPartner, false},
		{"keys", Root + "keys", "k", byPartner, false},
		{"branding", Root + "settings/branding", "", byPartner, false},
	}},
	{"contracts", []Item{{"contracts", Root + "contracts", "c", byContract, true}}},
	{"ledger", []Item{
		{"trialBalance", Root + "ledger/trial-balance", "b", byLedger, false},
		{"accounts", Root + "ledger/accounts", "a", byLedger, false},
		{"entries", Root + "ledger/entries", "e", byLedger, false},
		{"events", Root + "ledger/events", "v", byLedger, false},
		{"periods", Root + "ledger/periods", "i", byLedger, false},
		{"differences", Root + "reconciliation/differences", "", byLedger, false},
		{"reports", Root + "reconciliation/reports", "", byLedger, false},
		{"exports", Root + "ledger/exports", "x", byLedger, false},
		{"proof", Root + "ledger/proof", "f", byLedger, false},
	}},
	{"admin", []Item{
		{"partners", Root + "admin/partners", "m", byAdmin, false},
		{"terminals", Root + "admin/terminals", "t", byAdmin, false},
		{"keys", Root + "admin/keys", "k", byAdmin, false},
		{"limits", Root + "admin/limits", "l", byAdmin, false},
		{"blocklist", Root + "admin/blocklist", "", byAdmin, false},
		{"rates", Root + "admin/rates", "r", byAdmin, false},
		{"users", Root + "admin/users", "u", byAdmin, false},
		{"deliveries", Root + "admin/deliveries", "d", byAdmin, false},
		{"logins", Root + "admin/logins", "q", byAdmin, false},
		{"circuits", Root + "admin/circuits", "q", byAdmin, false},
		{"changes", Root + "admin/changes", "j", byAdmin, false},
		{"system", Root + "admin/system", "y", byAdmin, false},
		{"cluster", Root + "admin/cluster", "", byAdmin, false},
		{"settlements", Root + "admin/settlements", "", byAdmin, false},
		{"organizations", Root + "admin/organizations", "o", byAdmin, false},
	}},
	{"account", []Item{{"settings", Root + "settings", "s", everybody, false}}},
}

// SearchPath is the path of the page that shows the results of a search.
const SearchPath = Root + "admin/search"

// MenuFor returns the menu for a person with the given roles. Entries whose pages do not exist are left out. If two entries
// have the same letter, only the first one keeps the letter.
func MenuFor(roles directory.Roles, isBank bool, exists func(path string) bool) (groups []Group) {
	letters := make(map[string]bool)
	for _, all := range menu {
		group := Group{Key: all.Key}
		for _, item := range all.Items {
			if !roles.Has(item.Roles...) || item.Bank && !isBank || !exists(item.Path) {
				continue
			}
			if letters[item.Letter] {
				item.Letter = ""
			}
			letters[item.Letter] = true
			group.Items = append(group.Items, item)
		}
		if len(group.Items) > 0 {
			groups = append(groups, group)
		}
	}
	return slices.Clip(groups)
}
