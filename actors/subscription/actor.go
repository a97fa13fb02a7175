package subscription

import (
	"errors"
	"fmt"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/subscription"
	"mizan/posting"
)

// subscriptionActor is the actor of one subscription.
type subscriptionActor struct {
	service *Service
	key     actors.RecordKey
	record  *subscription.Record // nil if not loaded or not created yet
	header  posting.RecordHeader

	decision subscription.Decision // the decision that is being made durable
	cause    any                   // the message that caused the decision
}

// Receive implements actors.Behaviour.
func (a *subscriptionActor) Receive(c *actors.Context, message any) {
	switch m := message.(type) {
	case *createMessage:
		d := subscription.New(a.key.ID, m.partner, m.terms, m.credential, c.Now())
		a.commit(c, d, m)
	case *commandMessage:
		a.onCommand(c, m)
	case renewalEnded:
		a.onRenewalEnded(c, m)
	case actors.Due:
		a.onDue(c, m)
	default:
		panic(fmt.Sprintf("subscription: unexpected message %T", m))
	}
}

// Idle implements actors.Behaviour.
func (a *subscriptionActor) Idle() bool { return true }

// Failed implements actors.Behaviour.
func (a *subscriptionActor) Failed(*actors.Context) {
	if caller, ok := a.cause.(actors.Refusable); ok {
		caller.Refuse(ledger.Refuse("subscription", ledger.Internal, "an internal error; read the subscription"))
	}
}

// load reads the subscription from the store unless the actor has it already. It returns false if the subscription
// does not exist.
func (a *subscriptionActor) load() bool {
	if a.record != nil {
		return true
	}
	view := a.service.runtime.Journal.View()
	defer view.Close()
	r, found, err := load(view, a.key.Org, a.key.ID)
	if err != nil {
		panic(err)
	}
	if found {
		a.record, a.header = r.Record, r.Header
	}
	return found
}

func (a *subscriptionActor) onCommand(c *actors.Context, m *commandMessage) {
	if !a.load() {
		m.Refuse(notFoundError())
		return
	}
	var d subscription.Decision
	var err error
	switch m.event {
	case subscription.Pause:
		d, err = a.record.Pause(c.Now())
	case subscription.Resume:
		d, err = a.record.Resume(c.Now())
	default:
		d, err = a.record.Cancel(c.Now())
	}
	if err != nil {
		a.refuse(m, err)
		return
	}
	a.commit(c, d, m)
}

// refuse answers a command that is not allowed. If an earlier request had the same idempotency key, the answer
// is that request's reply.
func (a *subscriptionActor) refuse(m *commandMessage, err error) {
	r, wasUsed, keyErr := a.service.cachedReply(a.key.Org, m.key)
	switch {
	case keyErr != nil:
		m.Refuse(keyErr)
	case wasUsed:
		m.Answer(reply{result: r})
	default:
		m.Refuse(err)
	}
}

func (a *subscriptionActor) onRenewalEnded(c *actors.Context, m renewalEnded) {
	if !a.load() {
		return
	}
	if d, ok := a.record.OnOutcome(m.transaction, m.paid, c.Now()); ok {
		a.commit(c, d, m)
	}
}

// onDue does the subscription's due work. It begins a renewal, or inquires about the renewal in progress.
func (a *subscriptionActor) onDue(c *actors.Context, m actors.Due) {
	if !a.load() || a.header.Due != m.At || m.At > ledger.MicrosOf(c.Now()) {
		return // the due instant has changed, or has not come yet
	}
	switch r := a.record; {
	case r.State.IsRenewing():
		a.inquire(c, m)
	case r.IsRenewalDue(c.Now()):
		a.renew(c, m)
	}
}

// renew begins a renewal that is due. If the partner or the organization is not active, it postpones the renewal.
func (a *subscriptionActor) renew(c *actors.Context, cause actors.Due) {
	r := a.record
	if a.service.mayRenew(a.key.Org, r.Partner) {
		a.commit(c, r.BeginRenewal(c.Runtime.NewTransactionID(), c.Now()), cause)
	} else {
		a.commit(c, r.Postpone(c.Now()), cause)
	}
}

// inquire reads the state of the renewal in progress, because no report of its end has come.
func (a *subscriptionActor) inquire(c *actors.Context, m actors.Due) {
	r := a.record
	charge, err := a.service.payments.ChargeProgress(a.key.Org, r.LastTransaction)
	if err != nil {
		panic(err) // the due work is delivered again later
	}
	switch charge {
	case actors.ChargePaid, actors.ChargeUnpaid:
		if d, ok := r.OnOutcome(r.LastTransaction, charge == actors.ChargePaid, c.Now()); ok {
			a.commit(c, d, m)
		}
	default:
		a.commit(c, r.ContinueWaiting(charge != actors.ChargeUnderWay, c.Now()), m)
	}
}

// commit submits a decision to the writer.
func (a *subscriptionActor) commit(c *actors.Context, d subscription.Decision, cause any) {
	r := d.Record
	request := callerOf(cause)
	notices, transient := a.buildNotices(&d, request)
	r.NotifiedEvents += uint64(len(notices))
	r.UnnotifiedEvents += uint64(len(d.Notifications) - len(notices))
	source := ledger.Source{Kind: ledger.Subscription, ID: a.key.ID}
	step := posting.Step{
		Org: a.key.Org, Source: source, Expect: a.header.Version, Record: Encode(r), Due: d.Due, Events: d.Events,
		Notices: notices, Transient: transient,
	}
	change := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: d.MustRecord}
	if step.Expect == 0 {
		step.List, step.FurtherLists = subscription.Lists.Of(r)
	}
	change.Steps = []posting.Step{step}
	if request != nil {
		change.Author, change.Cause = request.author, &request.origin
	}
	if request != nil && !request.key.IsZero() {
		key := request.key
		sealed, err := a.service.runtime.SealReply(actors.SubscriptionReply, a.key.Org, ReplyID(a.key.Org, key.ClaimKey()), appendReply(r))
		if err != nil {
			cause.(actors.Refusable).Refuse(err)
			return
		}
		change.Claims = []ledger.Claim{key.Claim(a.key.Org, source, sealed)}
	}
	a.decision, a.cause = d, cause
	c.Commit(change)
}

// callerOf returns the request that caused a decision, or nil if the cause was not a request.
func callerOf(cause any) *caller {
	switch m := cause.(type) {
	case *createMessage:
		return m.caller
	case *commandMessage:
		return m.caller
	}
	return nil
}

// buildNotices returns the decision's notices, which are the stored form of notifications to the merchant. They are
// sent to the same address as the notifications of the initial payment. If there is no such address, the notices are
// transient: they are not stored, and only listeners (clients that receive notifications as they happen) get them.
// Without a listener, no notices are made.
func (a *subscriptionActor) buildNotices(d *subscription.Decision, request *caller) (notices, transient []posting.Notice) {
	if len(d.Notifications) == 0 {
		return nil, nil
	}
	r := d.Record
	destination, hasAddress := a.service.directory.Destination(a.key.Org, r.Partner, r.Asset.Env, r.Terminal)
	if !hasAddress && !a.service.runtime.Listeners.HasListener(a.key.Org) {
		return nil, nil
	}
	list := make([]posting.Notice, len(d.Notifications))
	for i := range d.Notifications {
		t := &d.Notifications[i]
		list[i] = posting.Notice{Event: t.Index, Channel: posting.Stream, To: destination, Body: encodeNotice(t), Subject: r}
		if request != nil {
			list[i].Origin = request.origin
		}
	}
	if !hasAddress {
		return nil, list
	}
	return list, nil
}

// Committed implements actors.Behaviour: the actor adopts the durable state, then starts the charge and replies.
func (a *subscriptionActor) Committed(c *actors.Context, _ *posting.Change, receipt posting.Receipt) {
	d, cause := a.decision, a.cause
	a.decision, a.cause = subscription.Decision{}, nil
	if receipt.Err != nil {
		a.onRefusal(c, cause, receipt.Err)
		return
	}
	a.record, a.header = d.Record, receipt.Headers[0]
	if d.Charge {
		a.startCharge()
	}
	switch m := cause.(type) {
	case *createMessage:
		m.Answer(reply{result: Result{Record: a.record, Header: a.header}})
	case *commandMessage:
		m.Answer(reply{result: Result{Record: a.record, Header: a.header}})
		// The renewal of a resumed subscription may be overdue. While a manual clock stands still, nothing else would begin it.
		if a.record.IsRenewalDue(c.Now()) {
			a.renew(c, actors.Due{Key: a.key, At: a.header.Due})
		}
	}
}

// startCharge starts the payment of the renewal in progress.
func (a *subscriptionActor) startCharge() {
	r := a.record
	a.service.payments.Renew(actors.Renewal{
		Org: a.key.Org, ID: r.LastTransaction, Subscription: r.ID, Number: r.RenewalsBegun, Initial: r.InitialPayment, Amount: r.Amount,
		Meta: fmt.Appendf(nil, `{"subscription_id":"%s","renewal_number":%d,"renewal_attempt":%d}`, r.ID, r.Renewals+1, r.Failures+1),
	})
}

// onRefusal handles a Change that the writer has refused. If the record was changed meanwhile, the decision is made
// again. Any other refusal is returned to the caller, if there is one. Nothing needs to be done for due work and
// reports, because they are delivered again.
func (a *subscriptionActor) onRefusal(c *actors.Context, cause any, err error) {
	if ledger.IsRefusal(err, ledger.StaleVersion) {
		if _, isCreate := cause.(*createMessage); !isCreate {
			a.record = nil
			a.Receive(c, cause)
			return
		}
	}
	if caller, ok := cause.(actors.Refusable); ok {
		caller.Refuse(err)
		return
	}
	if !errors.Is(err, posting.ErrStopped) {
		a.service.runtime.Log.Error("a subscription's change was refused", "subscription", a.key.ID.String(), "error", err)
	}
}
