package developer

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"mizan/cmd/mizan/client"
)

// Trigger is the command `mizan trigger EVENT`.
type Trigger struct {
	client.KeyFlags
	moneyFlags
	Event eventName `arg:"" optional:"" predictor:"event" help:"The event; without it the events are listed."`
	JSON  bool      `name:"json" help:"Print the transaction or subscription as the server's JSON."`
}

// scenario describes how the command makes an event happen in a sandbox.
type scenario struct {
	event string
	how   string        // description in the list of events
	after time.Duration // time from the end of the scenario to the event, by the server's clock; 0: at once
	run   func(*triggerRun) (*eventSubject, error)
}

// eventSubject is the object that an event is about.
type eventSubject struct {
	transaction *transaction
	other       client.Object // a subscription, or the result of a test notification; set if transaction is nil
}

// scenarios lists every event that the command can cause, and how.
var scenarios = []scenario{
	{event: "transaction.charged", how: "a payment by card", run: payBy("4242424242424242")},
	{event: "transaction.rejected", how: "a payment by a card that is declined", run: payBy("4000000000000002")},
	{event: "transaction.failed", how: "a payment that fails in processing", run: payBy("4000000000000119")},
	{event: "transaction.action_required", how: "a payment with 3-D Secure", run: payBy("4000000000003220")},
	{event: "transaction.payment_suspended", how: "a payment by voucher, held at a terminal", run: hold("payment")},
	{event: "transaction.payout_suspended", how: "a payout by voucher, held at a terminal", run: hold("payout")},
	{event: "transaction.refunded", how: "a payment, and its refund", run: refund("4242424242424242")},
	{event: "transaction.refunding", how: "a payment, and a refund that takes 5 s", run: refund("4000000000007726")},
	{event: "transaction.reversed", how: "a payment that the provider takes back after 60 s", after: 60 * time.Second, run: payBy("4000000000000259")},
	{event: "subscription.paused", how: "a payment, and a subscription that is paused", run: subscribe("pause")},
	{event: "subscription.resumed", how: "a subscription that is paused and resumed", run: subscribe("pause", "resume")},
	{event: "subscription.cancelled", how: "a subscription that is cancelled", run: subscribe("cancel")},
	{event: "subscription.renewed", how: "a subscription that is renewed every day", after: 24 * time.Hour, run: subscribe()},
	{event: "subscription.payment_failed", how: "a subscription whose payer is blocked", after: 24 * time.Hour, run: subscribeBlocked},
	{event: "transaction.test", how: "a test notification, about no transaction", run: sendTest},
}

// eventName is the name of an event on the command line.
type eventName string

// Decode implements kong.MapperValue. It accepts only the events in scenarios. For events of transactions the prefix may be
// omitted: charged means transaction.charged.
func (e *eventName) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("event", &text); err != nil {
		return err
	}
	for i := range scenarios {
		if name := scenarios[i].event; name == text || name == "transaction."+text {
			*e = eventName(name)
			return nil
		}
	}
	return fmt.Errorf("%q is no event that can be triggered; there are %s", text, strings.Join(EventNames(), ", "))
}

// EventNames returns the names of the events that the command can cause.
func EventNames() (names []string) {
	for i := range scenarios {
		names = append(names, scenarios[i].event)
	}
	return names
}

// triggerRun is the state of one run of `mizan trigger`.
type triggerRun struct {
	*sandboxRun
	command *Trigger
}

// Run makes the event happen and prints the object that the event is about. Without an event, Run lists all events.
func (c *Trigger) Run(s *client.Streams) error {
	if c.Event == "" {
		return c.list(s)
	}
	r, err := openSandbox("trigger", &c.KeyFlags, &c.moneyFlags, c.JSON, s)
	if err != nil {
		return err
	}
	t := &triggerRun{sandboxRun: r, command: c}
	chosen := &scenarios[slices.Index(EventNames(), string(c.Event))]
	result, err := chosen.run(t)
	if err != nil {
		return err
	}
	if result, err = t.await(chosen, result); err != nil {
		return err
	}
	return t.report(chosen, result)
}

// list prints the events, each with a description of its scenario.
func (c *Trigger) list(s *client.Streams) error {
	command := &client.Command{Name: "trigger", Streams: s, JSON: c.JSON}
	var events []client.Object
	for i := range scenarios {
		o, err := client.NewObject("event", scenarios[i].event, "how", scenarios[i].how)
		if err != nil {
			return err
		}
		events = append(events, o)
	}
	return command.PrintRows(client.Listing{Columns: []string{"event", "how"}}, events)
}

// payBy returns a scenario that makes one payment with the given card.
func payBy(card string) func(*triggerRun) (*eventSubject, error) {
	return func(r *triggerRun) (*eventSubject, error) {
		t, err := r.pay(card)
		return &eventSubject{transaction: t}, err
	}
}

// pay makes a payment with one of the sandbox's test cards.
func (r *triggerRun) pay(card string) (*transaction, error) {
	flags := Pay{moneyFlags: r.command.moneyFlags, Card: card}
	return r.create(flags.params(r.amount))
}

// refund returns a scenario that makes a payment and refunds it.
func refund(card string) func(*triggerRun) (*eventSubject, error) {
	return func(r *triggerRun) (*eventSubject, error) {
		t, err := r.pay(card)
		if err != nil {
			return nil, err
		}
		o, err := r.Call(http.MethodPut, transactionsPath+"/"+t.ID, map[string]any{"params": map[string]any{"type": "refund"}})
		if err != nil {
			return nil, err
		}
		t, err = r.parse(o)
		return &eventSubject{transaction: t}, err
	}
}

// subscribe returns a scenario that creates a subscription and then performs the actions on it.
func subscribe(actions ...string) func(*triggerRun) (*eventSubject, error) {
	return func(r *triggerRun) (*eventSubject, error) {
		o, err := r.createSubscription(nil)
		if err != nil {
			return nil, err
		}
		id, _ := o.Value("id")
		for _, action := range actions {
			if o, err = r.Call(http.MethodPost, "/subscriptions/"+client.FormatValue(id)+"/"+action, nil); err != nil {
				return nil, err
			}
		}
		return &eventSubject{other: o}, nil
	}
}

// createSubscription makes a payment, and creates a subscription that repeats the payment every day. If customer is not nil,
// the payment names this customer.
func (r *triggerRun) createSubscription(customer map[string]string) (o client.Object, err error) {
	flags := Pay{moneyFlags: r.command.moneyFlags, Card: "4242424242424242"}
	params := flags.params(r.amount)
	if customer != nil {
		params["customer"] = customer
	}
	t, err := r.create(params)
	if err != nil {
		return o, err
	}
	return r.Call(http.MethodPost, "/subscriptions", map[string]any{"params": map[string]any{
		"initial_payment_id": t.ID, "amount": r.amount, "period_days": 1,
	}})
}

// subscribeBlocked is a scenario that creates a subscription and puts its payer on the block list, so that no renewal is paid.
// The payer's e-mail address is random, so the block list entry affects no other payment.
func subscribeBlocked(r *triggerRun) (*eventSubject, error) {
	if err := r.needAdmin("puts its payer on the block list"); err != nil {
		return nil, err
	}
	email := "trigger-" + uuid.NewString() + "@shop.example"
	o, err := r.createSubscription(map[string]string{"email": email})
	if err != nil {
		return nil, err
	}
	if _, err := r.admin.Call(http.MethodPost, "/blocklist", map[string]string{"kind": "email", "value": email}); err != nil {
		return nil, err
	}
	return &eventSubject{other: o}, nil
}

// sendTest is a scenario that sends a test notification to the address of the partner's first active payment terminal.
func sendTest(r *triggerRun) (*eventSubject, error) {
	if err := r.needAdmin("is sent by the administration"); err != nil {
		return nil, err
	}
	terminals, err := r.terminals()
	if err != nil {
		return nil, err
	}
	for i := range terminals {
		t := &terminals[i]
		if t.member("is_active") == "true" && t.member("type") == "payment" && t.member("env") == "test" {
			o, err := r.admin.Call(http.MethodPost, terminalPath+"/"+t.member("id")+"/test-delivery", nil)
			return &eventSubject{other: o}, err
		}
	}
	return nil, r.Misused("partner %d has no terminal for payments in the environment test", r.Client.PartnerID)
}

// needAdmin returns an error if the command has no admin token. The text why completes the error message "this event …".
func (r *triggerRun) needAdmin(why string) error {
	if r.admin == nil {
		return r.Misused("this event %s, and so needs the admin token: give --sandbox, whose sandbox.json has it", why)
	}
	return nil
}

// terminalRecord is a terminal as the administration API lists it.
type terminalRecord struct{ client.Object }

func (t *terminalRecord) member(name string) string {
	value, _ := t.Value(name)
	return client.FormatValue(value)
}

// terminals returns the partner's terminals.
func (r *triggerRun) terminals() (list []terminalRecord, err error) {
	objects, err := r.admin.Rows("/terminals", map[string][]string{"partner_id": {fmt.Sprint(r.Client.PartnerID)}, "limit": {"100"}})
	for _, o := range objects {
		list = append(list, terminalRecord{o})
	}
	return list, err
}

// twoPhaseTerminalPrefix begins the names of terminals that hold money before they move it. The rest of a name is the type of
// the terminal's transactions. The command creates these terminals when it first needs them. The terminals accept only
// vouchers. Nothing else in a sandbox uses vouchers and no page offers them, so no other transaction is routed to these
// terminals.
const (
	twoPhaseTerminalPrefix = "mizan trigger, two phases: "
	holdMethod             = "voucher"
)

// hold returns a scenario that makes a transaction at a two-phase terminal, which first only holds the money.
func hold(kind string) func(*triggerRun) (*eventSubject, error) {
	return func(r *triggerRun) (*eventSubject, error) {
		if err := r.needAdmin("needs a terminal that holds money"); err != nil {
			return nil, err
		}
		if err := r.makeHoldTerminal(kind); err != nil {
			return nil, err
		}
		flags := Pay{moneyFlags: r.command.moneyFlags}
		params := flags.params(r.amount)
		params["type"], params["money_storage"] = kind, map[string]string{"type": holdMethod}
		t, err := r.create(params)
		return &eventSubject{transaction: t}, err
	}
}

// makeHoldTerminal creates the two-phase terminal for this kind of transaction if the terminal does not exist yet.
func (r *triggerRun) makeHoldTerminal(kind string) error {
	terminals, err := r.terminals()
	if err != nil {
		return err
	}
	for i := range terminals {
		if t := &terminals[i]; t.member("name") == twoPhaseTerminalPrefix+kind && t.member("is_active") == "true" {
			return nil
		}
	}
	_, err = r.admin.Call(http.MethodPost, terminalPath, map[string]any{
		"partner_id": r.Client.PartnerID, "name": twoPhaseTerminalPrefix + kind, "provider": "simulator", "type": kind, "env": "test",
		"provider_params": map[string]any{"two_phase": true, "priority": -1_000_000, "methods": []string{holdMethod}},
	})
	return err
}

// longestWait is the longest time that the command waits for a later event.
const longestWait = 2 * time.Minute

// await waits until a later event of a scenario has happened. If the event is more than longestWait away, or the server's clock
// is manual, await does not wait and only prints how to move the clock.
func (r *triggerRun) await(s *scenario, result *eventSubject) (*eventSubject, error) {
	if s.after == 0 || s.after > longestWait {
		if s.after > 0 {
			r.Note("%s follows %s later by the server's clock: mizan clock advance %s", s.event, shortDuration(s.after), shortDuration(s.after))
		}
		return result, nil
	}
	if r.hasManualClock() {
		r.Note("%s follows %s later, and the server's clock stands still: mizan clock advance %s", s.event, shortDuration(s.after), shortDuration(s.after))
		return result, nil
	}
	if client.IsTerminal(r.Streams.Err) {
		r.Note("%s follows in %s", s.event, shortDuration(s.after))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	deadline := time.Now().Add(longestWait)
	for "transaction."+result.transaction.Status != s.event && time.Now().Before(deadline) {
		t, err := r.readLater(ctx, result.transaction)
		if err != nil {
			return nil, err
		}
		if t == nil {
			break
		}
		result = &eventSubject{transaction: t}
	}
	return result, nil
}

// hasManualClock tells whether the server's clock moves only when a client asks for it. Without the admin token it returns
// false, because the command can't read the clock.
func (r *triggerRun) hasManualClock() bool {
	if r.admin == nil {
		return false
	}
	_, err := r.admin.Read(clockPath, nil)
	return err == nil
}

// shortDuration formats a duration in the form that `mizan clock advance` accepts.
func shortDuration(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// report prints the transaction or other object that the event is about. If the transaction's status does not match the event,
// report returns a failure.
func (r *triggerRun) report(s *scenario, result *eventSubject) error {
	if result.transaction == nil {
		return r.ShowObject(result.other)
	}
	t := result.transaction
	if err := r.show(t); err != nil {
		return err
	}
	// The status is not compared for an event that follows later, because the event may not have happened yet.
	if s.after == 0 && "transaction."+t.Status != s.event {
		fault := r.Failed("the transaction is %s, and not %s", t.Status, strings.TrimPrefix(s.event, "transaction."))
		fault.Code = exitNotCharged
		return fault
	}
	return nil
}
