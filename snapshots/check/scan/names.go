package scan

import "mizan/ledger"

// kindNames are the names that the texts of faults use for the kinds of records.
var kindNames = map[ledger.Kind]string{
	ledger.Transaction: "transaction", ledger.Platform: "platform", ledger.Organization: "organization", ledger.Partner: "partner",
	ledger.Terminal: "terminal", ledger.APIKey: "key", ledger.Session: "session", ledger.User: "user",
	ledger.Limit: "limit", ledger.Block: "entry of the blocklist", ledger.Subscription: "subscription",
	ledger.Settlement: "settlement", ledger.Rate: "rate", ledger.AdminReply: "answer", ledger.Reply: "reply", ledger.Transfer: "transfer",
	ledger.Contract: "contract", ledger.Screening: "screening", ledger.Period: "closed month",
	ledger.Retention: "retention of deliveries", ledger.Link: "link", ledger.Product: "product", ledger.Image: "image",
	ledger.SettlementReport: "settlement report", ledger.SettlementLines: "lines of a report", ledger.Difference: "difference", ledger.ReconciledDay: "reconciled day",
}

// KindName returns the name that the texts of faults use for a kind of record.
func KindName(kind ledger.Kind) string {
	if name, known := kindNames[kind]; known {
		return name
	}
	return "unknown record"
}

// NameOf returns the name that the texts of faults use for a record.
func NameOf(s ledger.Source) string { return KindName(s.Kind) + " " + s.ID.String() }
