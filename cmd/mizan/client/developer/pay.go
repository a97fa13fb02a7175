package developer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/google/uuid"

	"mizan/cmd/mizan/client"
)

// Pay is the command `mizan pay`.
type Pay struct {
	client.KeyFlags
	moneyFlags
	Card   string        `name:"card" default:"4242424242424242" placeholder:"NUMBER" help:"A card of the sandbox; its number decides the outcome (docs/api.md, Sandbox cards). 4242424242424242, which is charged, if absent."`
	TxID   *string       `name:"txid" placeholder:"ID" help:"Your own id of the payment; a new one if absent. The same one again gives the same payment."`
	Hosted bool          `name:"hosted" help:"Open the page on which a payer enters a card, and wait for the payer."`
	NoOpen bool          `name:"no-open" help:"With --hosted: print the page's address, and open no browser."`
	Wait   time.Duration `name:"wait" default:"30s" placeholder:"DURATION" help:"How long to wait for the outcome of a payment that the provider is still processing; 30s if absent."`
	JSON   bool          `name:"json" help:"Print the payment as the server's JSON; with --hosted twice, when it is created and when it has ended."`
}

// Help returns the text that is shown above the flags.
func (Pay) Help() string {
	return "The exit code is 0 if the payment is charged, and 4 if it ends in any other way. A payment that waits for its payer (3-D Secure) ends the" +
		" command with the address of the payer's page, unless it is --hosted."
}

// Run makes a payment and waits for its outcome.
func (c *Pay) Run(s *client.Streams) error {
	r, err := openSandbox("pay", &c.KeyFlags, &c.moneyFlags, c.JSON, s)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	t, err := r.create(c.params(r.amount))
	if err != nil {
		return err
	}
	if c.Hosted {
		if t, err = c.waitForPayer(ctx, r, t); err != nil {
			return err
		}
	} else if t, err = c.waitForProvider(ctx, r, t); err != nil {
		return err
	}
	return c.report(r, t)
}

// params returns the object `params` of the request that creates the payment.
func (c *Pay) params(amount string) map[string]any {
	txid := "cli-" + uuid.NewString()
	if c.TxID != nil {
		txid = *c.TxID
	}
	asset := c.asset()
	params := map[string]any{"type": "payment", "txid": txid, "amount": amount, "currency": asset.Currency, "env": asset.Env.String()}
	if asset.Network != "" {
		params["network"] = asset.Network
	}
	if c.Hosted {
		params["hosted"] = true // without a returnUrl the payer stays on the page, which shows the outcome
		return params
	}
	// The API requires these addresses, although no payer is sent to them.
	params["returnUrl"], params["failUrl"] = "https://shop.example/ok", "https://shop.example/failed"
	params["money_storage"] = cardParams(c.Card)
	return params
}

// waitForProvider polls the payment until the provider's outcome is known, the payer has to act, or the time c.Wait has passed.
func (c *Pay) waitForProvider(ctx context.Context, r *sandboxRun, t *transaction) (*transaction, error) {
	deadline := time.Now().Add(c.Wait)
	for !t.hasEnded() && t.Status != "action_required" && time.Now().Before(deadline) {
		next, err := r.readLater(ctx, t)
		if err != nil || next == nil {
			return t, err
		}
		t = next
	}
	return t, nil
}

// waitForPayer shows the payment's page, and polls the payment until it has ended. If the payer does not act in time, the
// server ends the payment.
func (c *Pay) waitForPayer(ctx context.Context, r *sandboxRun, t *transaction) (*transaction, error) {
	if t.PageURL == "" {
		return t, nil // an earlier request with the same txid created the payment, and the payment has ended since
	}
	if c.JSON {
		if err := r.ShowObject(t.raw); err != nil {
			return nil, err
		}
	} else if _, err := fmt.Fprintf(r.Streams.Out, "The payer's page for %s:\n\n  %s\n\n", t.formatAmount(), client.Printable(t.PageURL)); err != nil {
		return nil, err
	}
	if !c.NoOpen {
		openBrowser(t.PageURL)
	}
	if client.IsTerminal(r.Streams.Err) {
		r.Note("waiting for the payer; a browser warns of the sandbox's certificate, which the sandbox has issued itself")
	}
	for !t.hasEnded() {
		next, err := r.readLater(ctx, t)
		if err != nil || next == nil {
			return t, err
		}
		t = next
	}
	return t, nil
}

// readLater waits a moment and then reads the payment. If ctx ends first, readLater returns nil.
func (r *sandboxRun) readLater(ctx context.Context, t *transaction) (*transaction, error) {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, nil
	case <-timer.C:
	}
	return r.read(t.ID)
}

// openBrowser opens an address in the user's browser, if the machine has a display and a program that opens addresses.
func openBrowser(address string) {
	program := os.Getenv("BROWSER")
	switch {
	case program != "":
	case runtime.GOOS == "darwin":
		program = "open"
	case os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "":
		program = "xdg-open"
	default:
		return
	}
	command := exec.Command(program, address)
	if command.Start() == nil {
		go func() { _ = command.Wait() }() // the error is ignored: the user sees whether the page has opened
	}
}

// report prints the payment. If the payment is not charged, report returns a failure.
func (c *Pay) report(r *sandboxRun, t *transaction) error {
	if err := r.show(t); err != nil {
		return err
	}
	if t.Status == "charged" {
		if client.IsTerminal(r.Streams.Err) {
			r.Note("its entries in the ledger: mizan ledger entries --env test --source %s", t.ID)
		}
		return nil
	}
	fault := r.Failed("%s", t.outcome())
	fault.Code = exitNotCharged
	return fault
}

// show prints a transaction.
func (r *sandboxRun) show(t *transaction) error {
	if r.JSON {
		return r.ShowObject(t.raw)
	}
	lines := [][2]string{{"status", t.Status}, {"amount", t.formatAmount()}, {"id", t.ID}, {"txid", t.TxID}}
	if method, _ := t.raw.Value("payment_method"); method.Kind() == '{' {
		if o, err := client.ParseObject(method); err == nil {
			last4, _ := o.Value("last4")
			brand, _ := o.Value("brand")
			if last4.Kind() == '"' {
				lines = append(lines, [2]string{"card", client.FormatValue(brand) + " ending in " + client.FormatValue(last4)})
			}
		}
	}
	if t.ErrorCode != "" {
		lines = append(lines, [2]string{"error_code", t.ErrorCode})
	}
	for _, line := range lines {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(r.Streams.Out, "%-10s  %s\n", line[0], client.Printable(line[1])); err != nil {
			return err
		}
	}
	return nil
}

// outcome returns a sentence that says why a payment is not charged.
func (t *transaction) outcome() string {
	switch {
	case t.Status == "action_required" && t.ActionURL != "":
		return "the payer has to act: " + t.ActionURL
	case !t.hasEnded():
		return "the payment is still " + t.Status + "; read it later: mizan admin transactions show " + t.ID
	case t.Description != "":
		return "the payment is " + t.Status + ": " + t.Description
	}
	return "the payment is " + t.Status
}
