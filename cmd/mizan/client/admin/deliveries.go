package admin

import (
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"mizan/cmd/mizan/client"
)

// deliveryCommands are the subcommands of `mizan admin deliveries`. A delivery is the sending of a notification to a partner. A
// parked notification is not sent again until somebody replays it.
type deliveryCommands struct {
	List         listDeliveries `cmd:"" help:"List notifications of merchants, operators and payers, the newest first."`
	Show         showDelivery   `cmd:"" help:"Show one with its attempts."`
	Replay       replayDelivery `cmd:"" help:"Try one again, now."`
	ReplayParked replayParked   `cmd:"" name:"replay-parked" help:"Try all parked notifications of a terminal again."`
	Test         testDelivery   `cmd:"" help:"Send one test notification to a terminal's address."`
}

const deliveriesPath = "/deliveries"

type listDeliveries struct {
	Transaction *client.ID `name:"transaction" placeholder:"ID" help:"Only notifications of this transaction."`
	Terminal    *client.ID `name:"terminal" placeholder:"ID" help:"Only notifications to this terminal's address."`
	State       *string    `name:"state" placeholder:"STATE" help:"Only pending, delivered or parked."`
	From        *string    `name:"from" placeholder:"TIME" help:"Only notifications of this time or later (RFC 3339)."`
	To          *string    `name:"to" placeholder:"TIME" help:"Only notifications of this time or earlier (RFC 3339)."`
	client.Paging
}

// Run lists deliveries.
func (c *listDeliveries) Run(e *client.Command) error {
	query := url.Values{}
	for name, value := range map[string]*string{
		"transaction_id": (*string)(c.Transaction), "terminal_id": (*string)(c.Terminal), "state": c.State, "from": c.From, "to": c.To,
	} {
		if value != nil {
			query.Set(name, *value)
		}
	}
	return e.List(client.Listing{Path: deliveriesPath, Query: query, Columns: []string{
		"event_id", "transaction_id", "terminal_id", "channel", "type", "state", "attempts", "next_at", "booked_at",
	}, OmitOrder: []string{"channel", "terminal_id", "booked_at", "transaction_id"}}, c.Paging)
}

type showDelivery struct {
	ID client.ID `arg:"" help:"The event_id of the notification."`
}

// Run shows one delivery.
func (c *showDelivery) Run(e *client.Command) error {
	return e.Show(deliveriesPath + "/" + string(c.ID))
}

type replayDelivery struct {
	ID client.ID `arg:"" help:"The event_id of the notification."`
}

// Run replays one delivery.
func (c *replayDelivery) Run(e *client.Command) error {
	return e.Write(http.MethodPost, deliveriesPath+"/"+string(c.ID)+"/replay", nil)
}

type replayParked struct {
	Terminal client.ID `name:"terminal" required:"" placeholder:"ID" json:"terminal_id" help:"The terminal."`
	From     *string   `name:"from" placeholder:"TIME" json:"from,omitzero" help:"Only notifications of this time or later (RFC 3339)."`
	To       *string   `name:"to" placeholder:"TIME" json:"to,omitzero" help:"Only notifications of this time or earlier (RFC 3339)."`
}

// Run replays all parked deliveries of a terminal.
func (c *replayParked) Run(e *client.Command) error {
	return e.Write(http.MethodPost, deliveriesPath+"/replay", *c)
}

type testDelivery struct {
	Terminal client.ID `arg:"" help:"The terminal."`
}

// Run sends a test notification and shows the receiver's response. The server stores nothing for a test, so the request has no
// idempotency key. If the connection breaks, the command sends the request once more, and the receiver may get a second test
// notification.
func (c *testDelivery) Run(e *client.Command) error {
	reply, err := e.Send(client.Request{Method: http.MethodPost, Path: terminalPath + "/" + string(c.Terminal) + "/test-delivery"})
	if err != nil {
		return err
	}
	if err := e.ShowReply(reply); err != nil {
		return err
	}
	return checkAcknowledged(e, reply)
}

// checkAcknowledged returns a fault if the receiver did not accept the test notification, so that scripts can check the exit
// code.
func checkAcknowledged(e *client.Command, reply *client.Reply) error {
	var body struct {
		Data struct {
			Delivered bool   `json:"delivered"`
			Error     string `json:"error"`
		} `json:"data"`
	}
	if err := json.Unmarshal(reply.Body, &body); err != nil {
		return e.Failed("the answer is not the server's")
	}
	if !body.Data.Delivered {
		return e.Failed("the address has not acknowledged: %s", body.Data.Error)
	}
	return nil
}
