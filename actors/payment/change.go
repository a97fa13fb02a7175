package payment

import (
	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

// commit hands the decision to the writer.
func (t *transaction) commit(c *actors.Context, cause any) {
	d := &t.decision
	whole := new(struct { // one allocation for what nearly every change has
		posting.Change
		steps  [1]posting.Step
		claims [1]ledger.Claim
	})
	change := &whole.Change
	change.Funds, change.Counters, change.Outcome = d.Funds, d.Counters, d.Outcome
	whole.steps[0] = t.step(d, t.stamp.Version)
	change.Steps = whole.steps[:]
	if d.Return != nil {
		change.Steps = append(change.Steps, t.step(d.Return, 0))
	}
	if m := t.create; m != nil && m.Request.TxID != "" {
		whole.claims[0] = ledger.Claim{
			Org: t.key.Org, Kind: ledger.ClaimTxID, Key: TxIDKey(m.Partner.Number, m.Request.TxID), Owner: m.id[:],
		}
		change.Claims = whole.claims[:]
	}
	t.cause = cause
	c.Commit(change)
}

func (t *transaction) step(d *payment.Decision, version uint64) posting.Step {
	return posting.Step{
		Org:    t.key.Org,
		Source: ledger.Source{Kind: ledger.Transaction, ID: d.Record.ID},
		Expect: version,
		Record: Encode(d.Record),
		List:   posting.List{Partner: d.Record.Partner, Env: uint8(d.Record.Asset.Env)},
		Due:    d.Due,
		Finish: d.Finish,
		Events: d.Events,
	}
}

// ask has the provider asked on the pool; its answer comes back by the
// registry. A pool without room leaves the question to the due instant.
func (t *transaction) ask(c *actors.Context, what payment.Ask) {
	service, key := t.service, t.key
	call := t.call()
	terminal, known := service.terminals.Terminal(key.Org, t.record.Terminal)
	provider := actors.Provider(nil)
	if known {
		call.Terminal = terminal
		provider = service.providers[terminal.Provider]
	}
	if provider == nil {
		service.rt.Log.Error("a transaction's terminal has no provider", "transaction", key.ID.String())
		return
	}
	card := call.Card
	job := func() {
		// An adapter that panics has said nothing: its call is inquired.
		o := actors.Outcome{Verdict: actors.VerdictUnknown}
		defer func() {
			service.rt.Recovered("provider "+provider.Name(), recover())
			card.Wipe()
			service.registry.Tell(key, outcome{o})
		}()
		if what == payment.AskSubmit {
			o = provider.Submit(service.rt.Context(), call)
		} else {
			o = provider.Inquire(service.rt.Context(), call.Terminal, key.ID)
		}
	}
	if err := c.Runtime.Go(job); err != nil {
		card.Wipe()
		return
	}
	t.calls++
}

// call describes the submission; the card leaves the actor with it.
func (t *transaction) call() *actors.Call {
	r := t.record
	operation, amount := actors.Pay, r.WithFee
	if r.Type == payment.Payout {
		operation, amount = actors.PayOut, r.Dest
	}
	var card *secret.Card
	card, t.card = t.card, nil
	return &actors.Call{
		Org: t.key.Org, Reference: r.ID, Operation: operation, Amount: amount, Asset: r.Asset, Method: r.Method, Card: card,
	}
}

var verdicts = [...]payment.Verdict{
	actors.VerdictCharged:  payment.SaidCharged,
	actors.VerdictPending:  payment.SaidPending,
	actors.VerdictRefused:  payment.SaidRefused,
	actors.VerdictFailed:   payment.SaidFailed,
	actors.VerdictUnknown:  payment.SaidNothing,
	actors.VerdictNotFound: payment.SaidNotKnown,
}

// toAnswer says in the ledger's words what a provider said. What we don't
// understand is no answer: it is asked again, never assumed.
func toAnswer(o actors.Outcome) payment.Answer {
	verdict := payment.SaidNothing
	if int(o.Verdict) < len(verdicts) && verdicts[o.Verdict] != 0 {
		verdict = verdicts[o.Verdict]
	}
	return payment.Answer{Verdict: verdict, Reason: o.Reason, RRN: o.RRN, Again: o.Again}
}
