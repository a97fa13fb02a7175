package payments

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/api/web"
	"mizan/api/web/credentials"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Bounds of the operations' inputs.
const (
	maxRoute   = 64       // characters
	maxBrowser = 16 << 10 // bytes of browser_data
)

// changeTransaction is PUT /transactions/{id}: a refund or a cancellation
// (specification, "refund or cancel").
func (h *Handlers) changeTransaction(req *web.Request) error {
	command, err := h.newCommand(req)
	if err != nil {
		return err
	}
	value, err := web.Document(req.Request.Body())
	if err != nil {
		return err
	}
	params, err := web.ParamsOf(value)
	if err != nil {
		return err
	}
	kind, _ := jsonwalk.Text(web.Member(params, "type"))
	switch string(kind) {
	case "refund":
		amount, err := partialAmount(params, ledger.InvalidRefundAmount)
		if err != nil {
			return err
		}
		result, err := h.cfg.Payments.Refund(paymentactor.AmountCommand{Command: command, Amount: amount})
		return h.writeResult(req, &result, err)
	case "cancel":
		result, err := h.cfg.Payments.Cancel(command)
		return h.writeResult(req, &result, err)
	}
	return ledger.RefuseField("payments.changeTransaction", "type", "type must be refund or cancel")
}

// commitTransaction is POST /transactions/commit/{id}: it captures the hold. If the body has params.amount, it captures only
// that amount. The body may be absent.
func (h *Handlers) commitTransaction(req *web.Request) error {
	command, err := h.newCommand(req)
	if err != nil {
		return err
	}
	params, err := req.OptionalParams()
	if err != nil {
		return err
	}
	amount, err := partialAmount(params, ledger.InvalidCaptureAmount)
	if err != nil {
		return err
	}
	result, err := h.cfg.Payments.Commit(paymentactor.AmountCommand{Command: command, Amount: amount})
	return h.writeResult(req, &result, err)
}

// continueTransaction is POST /transactions/continue/{id}: it continues a hosted transaction (one that
// was created without credentials) with the payer's credentials. The body's fields are at the top
// level.
func (h *Handlers) continueTransaction(req *web.Request) error {
	command, err := h.newCommand(req)
	if err != nil {
		return err
	}
	object, err := req.Object()
	if err != nil {
		return err
	}
	// The fields of the credentials depend on the transaction's type. The type never changes, so it may be read before the
	// command.
	stored, err := h.cfg.Payments.Read(command.Org, command.Partner, command.ID)
	if err != nil {
		return err
	}
	var body continuation
	defer body.Wipe()
	if body.read(object, stored.Record.Type, h.cfg.Fingerprint); len(body.problems) > 0 {
		return body.problems
	}
	body.Credentials.PayerIP = payerIP(stored.Record.Customer, h.cfg.Proxies.Source(req.RequestCtx))
	result, err := h.cfg.Payments.Continue(paymentactor.Continue{
		Command: command, Credentials: body.Credentials, Card: body.Card, Route: body.route, Browser: body.browser,
	})
	return h.writeResult(req, &result, err)
}

// completeTransaction is POST /transactions/additional_params_for_auth/{id}: a charge waits for material (the payer's
// authentication data, such as a one-time code), and the request submits it.
func (h *Handlers) completeTransaction(req *web.Request) error {
	command, err := h.newCommand(req)
	if err != nil {
		return err
	}
	object, err := req.Object()
	if err != nil {
		return err
	}
	material := materialOf(object)
	switch {
	case material == nil:
		return ledger.RefuseField("payments.completeTransaction", materialName, "%s is required", materialName)
	case !web.IsObject(material):
		return ledger.RefuseField("payments.completeTransaction", materialName, "%s must be an object", materialName)
	}
	submitted := web.WithoutMember(material, "status") // only the provider may set the status
	if web.IsEmptyObject(submitted) {
		return ledger.RefuseField("payments.completeTransaction", materialName, "%s must not be empty", materialName)
	}
	result, err := h.cfg.Payments.Complete(paymentactor.PayerSubmission{Command: command, Object: submitted})
	return h.writeResult(req, &result, err)
}

// chooseDestination is POST /transactions/choose_target_destination/{id}: the provider of a payout offers several receiving
// institutions, and the request chooses one of them. The body's fields are at the top level.
func (h *Handlers) chooseDestination(req *web.Request) error {
	command, err := h.newCommand(req)
	if err != nil {
		return err
	}
	value, err := req.Optional()
	if err != nil {
		return err
	}
	var bank []byte
	if web.IsObject(value) {
		bank, _ = jsonwalk.Text(web.Member(value, "target_bank_id"))
	}
	if len(bank) == 0 {
		return ledger.Refuse("payments.chooseDestination", web.DestinationMissing, "no target_bank_id")
	}
	result, err := h.cfg.Payments.Choose(paymentactor.Choice{Command: command, Bank: string(bank)})
	return h.writeResult(req, &result, err)
}

// newCommand returns a command for the transaction that the request names.
func (h *Handlers) newCommand(req *web.Request) (command paymentactor.Command, err error) {
	command = paymentactor.Command{Org: req.Principal.Org, Partner: req.Principal.Partner.Number, Author: req.Author(), Origin: req.Origin()}
	if command.ID, err = web.ParseID(req.Parameter("id")); err != nil {
		return command, err
	}
	command.Key, err = h.keys.Partner(req)
	return command, err
}

// writeResult responds with the transaction after an operation. If the operation failed, it returns the operation's error.
func (h *Handlers) writeResult(req *web.Request, result *paymentactor.Result, err error) error {
	if err != nil {
		return err
	}
	if result.Replay {
		web.MarkReplayed(req)
	}
	h.writeTransaction(req, fiber.StatusOK, result)
	return nil
}

// partialAmount returns the amount in an operation's params. If params has no amount, it returns nil, which means the whole
// amount. If the amount is malformed, it returns a refusal with the given code.
func partialAmount(params []byte, code ledger.Code) (*money.Amount, error) {
	const op = "payments.partialAmount"
	if !jsonwalk.Has(params, "amount") {
		return nil, nil
	}
	// Null is refused: if it meant the whole amount, a caller's mistake could refund everything.
	text, isText := jsonwalk.Text(web.Member(params, "amount"))
	if !isText {
		return nil, ledger.Refuse(op, code, "amount must be a string of minor units")
	}
	amount, err := money.ParseBytes(text)
	if err != nil || amount.IsZero() {
		return nil, ledger.Refuse(op, code, "amount must be a positive integer of minor units")
	}
	return &amount, nil
}

const materialName = payment.MaterialField

// materialOf finds the material (the payer's authentication data) in a body. It is the first that exists of: the member
// additional_params_for_auth at the top level, the same member in the object params, and the object params itself. If none
// exists, materialOf returns nil.
func materialOf(body []byte) []byte {
	if member := web.Member(body, materialName); member != nil {
		return member
	}
	params := web.Member(body, "params")
	if !web.IsObject(params) || web.IsEmptyObject(params) {
		return nil
	}
	if jsonwalk.Has(params, materialName) {
		return web.Member(params, materialName)
	}
	return params
}

// continuation is the body of a request that continues a hosted transaction.
type continuation struct {
	credentials.MoneyStorage
	route    string
	browser  []byte // a copy
	problems web.Problems
}

// read parses and checks the body for a transaction of type t.
func (c *continuation) read(body []byte, t payment.Type, fingerprint func([]byte) string) {
	if storage := web.Member(body, "money_storage"); storage == nil || web.IsEmptyObject(storage) {
		c.problems.Add("money_storage", "money_storage is required")
	} else {
		c.Check(storage, t, &c.problems)
	}
	c.route = c.problems.Text("route", web.Member(body, "route"), maxRoute)
	c.browser = c.problems.Object("browser_data", web.Member(body, "browser_data"), maxBrowser)
	if c.browser != nil {
		checkBrowser(c.browser, &c.problems)
	}
	if len(c.problems) == 0 {
		c.KeepCredentials(t, fingerprint)
	}
}

// checkBrowser checks that the fields of browser_data have the right types. The provider checks the values.
func checkBrowser(browser []byte, problems *web.Problems) {
	for _, name := range [...]string{"language", "user_agent"} {
		if value := web.Member(browser, name); value != nil {
			if _, isText := jsonwalk.Text(value); !isText {
				problems.Add("browser_data."+name, name+" must be a string")
			}
		}
	}
	if zone := web.Member(browser, "timezone"); zone != nil {
		if _, err := strconv.ParseInt(string(zone), 10, 64); err != nil {
			problems.Add("browser_data.timezone", "timezone must be an integer")
		}
	}
}
