package admin

import "mizan/cmd/mizan/client"

// transactionCommands are the subcommands of `mizan admin transactions`.
type transactionCommands struct {
	List    listTransactions `cmd:"" help:"List a partner's transactions, the newest first."`
	Show    showTransaction  `cmd:"" help:"Show one."`
	Routing showRouting      `cmd:"" help:"Show the terminals to which a transaction was offered, in order, and why."`
}

const transactionsPath = "/transactions"

type listTransactions struct {
	Partner client.PartnerNumber `name:"partner" required:"" placeholder:"N" help:"The partner."`
	Status  *string              `name:"status" placeholder:"STATUS" help:"Only transactions with this status."`
	Type    *string              `name:"type" placeholder:"TYPE" help:"Only payment or only payout."`
	Env     *string              `name:"env" placeholder:"ENV" help:"prod or test; the server takes prod if absent."`
	From    *string              `name:"from" placeholder:"TIME" help:"Only transactions that were started at this time or later (RFC 3339)."`
	client.Paging
}

// Run lists transactions.
func (c *listTransactions) Run(e *client.Command) error {
	query := partnerQuery(&c.Partner)
	for name, value := range map[string]*string{"status": c.Status, "type": c.Type, "env": c.Env, "from": c.From} {
		if value != nil {
			query.Set(name, *value)
		}
	}
	return e.List(client.Listing{Path: transactionsPath, Query: query, HasEnv: true, Columns: []string{
		"id", "txid", "type", "status", "amount", "currency", "network", "env", "started", "error_code",
	}, OmitOrder: []string{"network", "env", "type", "started", "error_code", "txid"}}, c.Paging)
}

type showTransaction struct {
	ID client.ID `arg:"" help:"The transaction."`
}

// Run shows one transaction.
func (c *showTransaction) Run(e *client.Command) error {
	return e.Show(transactionsPath + "/" + string(c.ID))
}

type showRouting struct {
	ID client.ID `arg:"" help:"The transaction."`
}

// Run lists the terminals to which a transaction was offered. The server returns the whole list in one response, so there is no
// further page to request.
func (c *showRouting) Run(e *client.Command) error {
	return e.List(client.Listing{Path: transactionsPath + "/" + string(c.ID) + "/routing", Columns: []string{
		"terminal_id", "name", "priority", "outcome", "reason", "at",
	}}, client.Paging{})
}
