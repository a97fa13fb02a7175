package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"mizan/cmd/mizan/client"
)

// settlementCommands are the subcommands of `mizan admin settlements`.
type settlementCommands struct {
	List   listSettlements  `cmd:"" help:"List the settlements of a partner or a terminal, the newest first."`
	Show   showSettlement   `cmd:"" help:"Show one."`
	Create createSettlement `cmd:"" help:"Book money that has moved: with a merchant's bank (--partner) or a provider (--terminal)."`
}

const settlementsPath = "/settlements"

// settledParty holds the flags that select the settlements with a partner's bank or the settlements with a terminal's provider.
type settledParty struct {
	Partner  *client.PartnerNumber `name:"partner" xor:"of" required:"" placeholder:"N" json:"-" help:"With this partner's bank."`
	Terminal *client.ID            `name:"terminal" xor:"of" required:"" placeholder:"ID" json:"-" help:"With this terminal's provider."`
}

func (s *settledParty) path() string {
	if s.Partner != nil {
		return fmt.Sprint(partnersPath, "/", *s.Partner, settlementsPath)
	}
	return terminalPath + "/" + string(*s.Terminal) + settlementsPath
}

type listSettlements struct {
	settledParty
	Env *string `name:"env" placeholder:"ENV" help:"prod or test; the server takes prod if absent."`
	client.Paging
}

// Run lists settlements.
func (c *listSettlements) Run(e *client.Command) error {
	l := client.Listing{Path: c.path(), Query: url.Values{}, HasEnv: true}
	if c.Env != nil {
		l.Query.Set("env", *c.Env)
	}
	if c.Partner != nil {
		l.Columns = []string{"id", "partner_id", "direction", "amount", "currency", "network", "env", "reference", "created_at"}
		l.OmitOrder = []string{"partner_id", "network", "env", "created_at"}
	} else {
		l.Columns = []string{"id", "terminal_id", "gross", "fee", "currency", "network", "env", "reference", "created_at"}
		l.OmitOrder = []string{"terminal_id", "network", "env", "created_at"}
	}
	return e.List(l, c.Paging)
}

type showSettlement struct {
	ID client.ID `arg:"" help:"The settlement."`
}

// Run shows one settlement.
func (c *showSettlement) Run(e *client.Command) error {
	return e.Show(settlementsPath + "/" + string(c.ID))
}

type createSettlement struct {
	settledParty
	settlementFields
}

type settlementFields struct {
	Direction *string `name:"direction" placeholder:"in|out" json:"direction,omitzero" help:"in: the merchant paid us; out: we paid the merchant. With --partner."`
	Amount    *string `name:"amount" placeholder:"AMOUNT" json:"amount,omitzero" help:"The amount in minor units. With --partner."`
	Gross     *string `name:"gross" placeholder:"AMOUNT" json:"gross,omitzero" help:"What the provider owed, in minor units. With --terminal."`
	Fee       *string `name:"fee" placeholder:"AMOUNT" json:"fee,omitzero" help:"What the provider kept of --gross, in minor units. With --terminal."`
	Currency  *string `name:"currency" placeholder:"CODE" json:"currency,omitzero" help:"The currency."`
	Network   *string `name:"network" placeholder:"NETWORK" json:"network,omitzero" help:"The currency's network."`
	Env       *string `name:"env" placeholder:"ENV" json:"env,omitzero" help:"prod or test."`
	Reference *string `name:"reference" placeholder:"TEXT" json:"reference,omitzero" help:"The bank's or provider's own reference; each reference is booked only once."`
}

// Validate checks that all fields belong to the same kind of settlement. Without this check the server would silently ignore a
// field that belongs to the other kind.
func (c *createSettlement) Validate() error {
	switch {
	case c.Partner != nil && (c.Gross != nil || c.Fee != nil):
		return errors.New("--gross and --fee belong to --terminal")
	case c.Terminal != nil && (c.Direction != nil || c.Amount != nil):
		return errors.New("--direction and --amount belong to --partner")
	}
	return nil
}

// Run books a settlement.
func (c *createSettlement) Run(e *client.Command) error {
	return e.Write(http.MethodPost, c.path(), c.settlementFields)
}
