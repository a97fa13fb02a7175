package admin

import (
	"net/url"

	"mizan/cmd/mizan/client"
)

const limitsPath = "/limits"

// limitUsage is the command `mizan admin limits usage`. The other commands for limits are in commands.go.
type limitUsage struct {
	ID          client.ID  `arg:"" help:"The limit."`
	Transaction *client.ID `name:"transaction" placeholder:"ID" help:"For a limit of scope card: the card of this transaction."`
	Card        *string    `name:"card-fingerprint" placeholder:"HEX" help:"For a limit of scope card: the card with this fingerprint."`
	Email       *string    `name:"email" placeholder:"ADDRESS" help:"For a limit of scope email: this e-mail address."`
	IP          *string    `name:"ip" placeholder:"ADDRESS" help:"For a limit of scope ip: this IP address."`
}

// Run shows how much of a limit is used.
func (c *limitUsage) Run(e *client.Command) error {
	query := url.Values{}
	for name, value := range map[string]*string{"transaction_id": (*string)(c.Transaction), "card": c.Card, "email": c.Email, "ip": c.IP} {
		if value != nil {
			query.Set(name, *value)
		}
	}
	path := limitsPath + "/" + string(c.ID)
	if e.JSON {
		return e.ShowWith(path+"/usage", query)
	}
	// The response about the usage names no currency, so the limit itself is read to find the currency.
	limit, err := e.Read(path, nil)
	if err != nil {
		return err
	}
	if amount, _ := limit.Value("max_amount"); amount.Kind() != '"' {
		return e.ShowWith(path+"/usage", query) // the limit counts transactions and so has no currency
	}
	return e.ShowWith(path+"/usage", query, limit)
}
