package directory

import (
	"mizan/ledger"
	"mizan/ledger/schema"
)

// Types has the record types of the directory by the kind of their records in the journal.
var Types = map[ledger.Kind]schema.Records{
	ledger.Organization: Organizations,
	ledger.Partner:      Partners,
	ledger.Terminal:     Terminals,
	ledger.APIKey:       APIKeys,
	ledger.User:         Users,
	ledger.Session:      Sessions,
	ledger.Limit:        Limits,
	ledger.Block:        Blocks,
	ledger.Rate:         Rates,
	ledger.Settlement:   Settlements,
	ledger.Platform:     Platforms,
}
