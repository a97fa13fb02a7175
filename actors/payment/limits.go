package payment

import (
	"slices"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// judging is a transaction that is about to be routed while it is held against
// the terminals, the blocklist and the limits, in this order.
type judging struct {
	wanted
	card      *secret.Card
	operation *operation // the continuation of a hosted one; nil: a create
	elsewhere *elsewhere // or one that goes on to another terminal

	terms   payment.Terms   // without a terminal: none was found
	reason  payment.Failure // why it is rejected; zero: nothing has spoken against it
	attempt directory.Attempt
	paces   []*directory.Limit // that count it
	counted bool               // by them
}

// judge chooses a terminal, unless there is a reason not to, and asks what bounds
// the transaction. Nearly always nothing does, and nothing is made to find that
// out.
func (t *transaction) judge(c *actors.Context, w wanted, card *secret.Card, m *operation, reason payment.Failure) {
	s := t.service
	t.judged, t.counted = nil, nil
	w.at = ledger.MicrosOf(c.Now())
	w.request.Attempted = w.at
	var terms payment.Terms
	if reason.IsZero() {
		terms = s.terms(&w)
	}
	limits := s.directory.Limits(w.org, w.partner.Number)
	listed := s.directory.HasBlocks(w.org)
	if terms.Found() && len(limits) == 0 && !listed {
		if m != nil {
			t.proceeds(c, m, w.at, &terms)
		} else {
			t.creates(c, &terms)
		}
		return
	}
	j := judging{wanted: w, card: card, operation: m, terms: terms, reason: reason}
	t.hold(c, &j, limits, listed)
}

// counting is an attempt that was counted before anything of it is stored.
type counting struct {
	org     ledger.ID
	partner int64
	paces   []*directory.Limit
	at      ledger.Micros
	attempt directory.Attempt
}

// hold holds the transaction against the blocklist and the limits. Every attempt
// is counted, also one that something else speaks against. What was found out is
// kept where it is needed later: not if nothing but the writer's counters, whose
// bounds are in the terms, is still to judge.
func (t *transaction) hold(c *actors.Context, j *judging, limits []*directory.Limit, listed bool) {
	if !j.terms.Found() {
		j.terms.Asset = j.request.Asset
		if j.reason.IsZero() {
			j.reason = payment.Failure{Code: payment.NoTerminal}
		}
	}
	var payer directory.Payer
	if listed || slices.ContainsFunc(limits, personal) {
		payer = payerOf(j.request, j.card)
	}
	j.attempt = j.attempted(&j.terms, payer)
	if listed && j.reason.IsZero() {
		j.reason = t.service.blocked(j.org, j.attempt.Payer)
	}
	if breach := j.within(t.service, limits); j.reason.IsZero() {
		j.reason = breach
	}
	if j.reason.IsZero() && (len(j.paces) == 0 || t.countNow(j)) {
		t.route(c, j)
		return
	}
	kept := new(judging)
	*kept = *j
	if t.judged = kept; len(kept.paces) == 0 {
		t.route(c, kept)
		return
	}
	t.pace(c, kept)
}

// blocked is why a payer is rejected; zero: the blocklist does not name the payer.
func (s *Service) blocked(org ledger.ID, payer directory.Payer) payment.Failure {
	if kind, blocked := s.directory.Blocked(org, &payer); blocked {
		return payment.Failure{Code: payment.AntiFraud, Detail: kind}
	}
	return payment.Failure{}
}

// claimed is who has a create's txid already.
func (s *Service) claimed(org ledger.ID, m *create) (id ledger.ID, taken bool, err error) {
	view := s.rt.Journal.View()
	defer view.Close()
	owner, taken, err := view.Claim(org, ledger.ClaimTxID, TxIDKey(m.Partner.Number, m.Request.TxID))
	if err != nil || !taken {
		return id, false, err
	}
	id, err = uuid.FromBytes(owner)
	return id, true, err
}

// repeated answers a create whose txid is taken and that was not counted.
func (t *transaction) repeated() {
	m := t.create
	id, _, err := t.service.claimed(t.key.Org, m)
	t.drop()
	t.create, t.judged, t.counted = nil, nil, nil
	m.answer(reply{existing: id, err: err})
}

// countNow counts the attempt here and now, where no limit is near its bound.
func (t *transaction) countNow(j *judging) bool {
	n := &counting{j.org, j.partner.Number, j.paces, j.at, j.attempt}
	if !t.service.admission.CountNow(n.org, n.partner, n.paces, n.at, &n.attempt) {
		return false
	}
	t.counted = n
	return true
}

// pace has the attempt counted.
func (t *transaction) pace(c *actors.Context, j *judging) {
	service, key := t.service, t.key
	if j.elsewhere == nil && service.admission.CountNow(j.org, j.partner.Number, j.paces, j.at, &j.attempt) {
		j.counted = true
		t.route(c, j)
		return
	}
	t.judging = j
	var repeats func() (bool, error)
	if m := t.create; m != nil && m.Request.TxID != "" {
		repeats = func() (bool, error) {
			_, taken, err := service.claimed(key.Org, m)
			return taken, err
		}
	}
	service.admission.Count(j.org, j.partner.Number, j.paces, j.at, &j.attempt, repeats, func(breached *directory.Limit, err error) {
		service.registry.Tell(key, paced{breached, err})
	})
	c.Expect()
}

// looked are the terminals that were looked at for a transaction that is
// rejected for the reason.
func (t *transaction) looked(c *actors.Context, reason payment.Failure) []payment.Attempt {
	j, refused := t.judged, t.decision.Record
	switch {
	case j == nil && refused == nil:
		return nil
	case j == nil: // nothing bounded it, and the writer has refused it
		terms := payment.Terms{Terminal: refused.Terminal, Priority: refused.Priority, Skipped: refused.Attempts}
		return terms.Stopped(reason, c.Now())
	case j.terms.Found():
		return j.terms.Stopped(reason, c.Now())
	case reason.Code != payment.NoTerminal:
		return nil // none was looked for
	default:
		return t.service.explained(&j.wanted, j.terms.Skipped)
	}
}

// resolved is the asset of a transaction that is rejected as the terminal that
// was chosen, and the limits, saw it.
func (t *transaction) resolved(asked money.Asset) money.Asset {
	switch {
	case t.judged != nil:
		return t.judged.terms.Asset
	case t.decision.Record != nil:
		return t.decision.Record.Asset
	}
	return asked
}

// attempted is the request as limits see it.
func (w *wanted) attempted(terms *payment.Terms, payer directory.Payer) directory.Attempt {
	kind, _ := w.kind()
	return directory.Attempt{Type: kind, Asset: terms.Asset, Terminal: terms.Terminal, Payer: payer}
}

// personal tells whether it matters to the limit who pays or is paid.
func personal(l *directory.Limit) bool { return l.Scope != directory.ScopePartner }

func personalVolume(l *directory.Limit) bool { return l.Kind.Volume() && personal(l) }

// within holds the attempt against the limits that need no counting, or that the
// writer judges, and keeps those that count attempts. It returns what is breached.
// The bounds of volumes are the same for many attempts where no limit on them is
// personal.
func (j *judging) within(s *Service, limits []*directory.Limit) (breach payment.Failure) {
	var (
		today  *day
		volume chosen
		own    = len(limits) > directory.MaxLimits || slices.ContainsFunc(limits, personalVolume)
	)
	for i, l := range limits {
		subject, bounds := l.Bounds(&j.attempt)
		switch {
		case !bounds:
		case l.Kind == directory.PerTransaction:
			if breach.IsZero() && l.MaxAmount.Less(j.request.Amount) {
				breach = breachOf(l)
			}
		case l.Kind == directory.Velocity:
			j.paces = append(j.paces, l)
		default:
			if today == nil {
				today = s.day(j.at.Date())
			}
			if own {
				j.bind(boundOf(l, today.name, subject), len(limits))
			} else {
				volume.add(i)
			}
		}
	}
	if today != nil && !own {
		j.terms.Bounds = today.bounds(limits, &volume)
	}
	return breach
}

// bind adds a bound of this attempt's own.
func (j *judging) bind(b payment.Bound, most int) {
	if j.terms.Bounds == nil {
		j.terms.Bounds = make([]payment.Bound, 0, most)
	}
	b.Name()
	j.terms.Bounds = append(j.terms.Bounds, b)
}

// breachOf is why a transaction is rejected that would pass the limit.
func breachOf(l *directory.Limit) payment.Failure {
	return payment.Failure{Code: payment.LimitExceeded, Detail: string(l.Kind)}
}

func boundOf(l *directory.Limit, today, subject string) payment.Bound {
	return payment.Bound{
		Volume: payment.Volume{Limit: l.ID, Window: l.CounterWindow(today), Subject: subject}, Max: l.MaxAmount, Breach: breachOf(l),
	}
}

// paced is the account's answer to an attempt.
type paced struct {
	breached *directory.Limit
	err      error
}

// Expected implements actors.Expected.
func (paced) Expected() {}

func (t *transaction) paced(c *actors.Context, m paced) {
	j := t.judging
	if j == nil {
		return // answered by a panic meanwhile
	}
	if j.elsewhere != nil {
		t.judging = nil
		t.pacedElsewhere(c, j.elsewhere, m)
		return
	}
	if t.create != nil && ledger.IsRefusal(m.err, ledger.ClaimTaken) {
		t.judging = nil
		t.repeated()
		return
	}
	if j.counted = m.err == nil; !j.counted {
		t.judging = nil
		t.uncountable(c, j, m.err)
		return
	}
	if m.breached != nil && j.reason.IsZero() {
		j.reason = breachOf(m.breached)
	}
	t.route(c, j)
	t.judging = nil // not before: a panic meanwhile answers whoever waits
}

// uncountable answers for an attempt that could not be counted: nothing of it is
// stored.
func (t *transaction) uncountable(c *actors.Context, j *judging, err error) {
	if j.operation == nil {
		t.giveUp(t.create, err)
		return
	}
	t.giveUp(j.operation, err)
	t.unjudge(c)
}

// unjudge leaves a transaction as if nobody had wanted to go on with it: what
// came meanwhile is taken up.
func (t *transaction) unjudge(c *actors.Context) {
	t.drop()
	t.uncount()
	t.judged = nil
	if m := t.overdue; m != nil {
		t.overdue = nil
		t.due(c, *m)
	}
}

// uncount takes back what was counted for a repetition.
func (t *transaction) uncount() {
	if n := t.counted; n != nil {
		t.counted = nil
		t.service.admission.Uncount(n.org, n.partner, n.paces, n.at, &n.attempt)
	}
	if j := t.judged; j != nil && j.counted {
		j.counted = false
		t.service.admission.Uncount(j.org, j.partner.Number, j.paces, j.at, &j.attempt)
	}
}

// route goes on with what has been judged.
func (t *transaction) route(c *actors.Context, j *judging) {
	m := j.operation
	switch {
	case m == nil && !j.reason.IsZero():
		t.reject(c, j.reason)
	case m == nil:
		t.creates(c, &j.terms)
	case !j.reason.IsZero():
		m.with.Credentials.Attempted = j.at
		t.refuseContinue(c, m, j.reason)
	default:
		t.proceeds(c, m, j.at, &j.terms)
	}
}
