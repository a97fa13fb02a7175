package payment

import (
	"context"
	"errors"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
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
// registry. An error says why the question could not be put.
func (t *transaction) ask(c *actors.Context, what payment.Ask) error {
	service, key := t.service, t.key
	terminal, provider := service.provider(key.Org, t.record.Terminal)
	call := t.call(terminal)
	card := call.Card
	if provider == nil {
		card.Wipe()
		return errNoProvider
	}
	job := func() {
		// An adapter that panics has said nothing: its call is inquired.
		o := actors.Outcome{Verdict: actors.VerdictUnknown}
		ctx, cancel := context.WithTimeout(service.rt.Context(), service.inquire)
		defer func() {
			cancel()
			service.rt.Recovered("provider "+terminal.Provider, recover())
			card.Wipe()
			service.registry.Tell(key, outcome{o})
		}()
		if what == payment.AskSubmit {
			o = provider.Submit(ctx, call)
		} else {
			o = provider.Inquire(ctx, terminal, key.ID)
		}
	}
	if err := c.Runtime.Go(job); err != nil {
		card.Wipe()
		return err
	}
	c.Expect()
	return nil
}

// errNoProvider says that a terminal's provider is not served by this process.
var errNoProvider = errors.New("the transaction's terminal has no provider")

// provider finds a terminal and who serves it; nil: nobody does.
func (s *Service) provider(org, id ledger.ID) (*directory.Terminal, actors.Provider) {
	terminal, known := s.terminals.Terminal(org, id)
	if !known {
		return nil, nil
	}
	return terminal, s.providers[terminal.Provider]
}

// call describes the submission; the card leaves the actor with it.
func (t *transaction) call(terminal *directory.Terminal) *actors.Call {
	r := t.record
	operation, amount := actors.Pay, r.WithFee
	if r.Type == payment.Payout {
		operation, amount = actors.PayOut, r.Dest
	}
	var card *secret.Card
	card, t.card = t.card, nil
	return &actors.Call{
		Org: t.key.Org, Reference: r.ID, Operation: operation, Terminal: terminal, Amount: amount, Asset: r.Asset, Method: r.Method, Card: card,
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
