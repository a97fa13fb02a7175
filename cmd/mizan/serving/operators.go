package serving

import (
	"time"

	alertactor "mizan/actors/alerts"
	"mizan/actors/notifier"
	"mizan/actors/notifier/operators"
	"mizan/cmd/mizan/cli"
	"mizan/ledger"
	"mizan/ledger/alerts"
	transaction "mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
)

// openOperators opens the channels to terminals' operators: Telegram and e-mail.
func (s *server) openOperators() (err error) {
	o := s.cfg.Operators
	o.Clock, o.Log = s.clock, s.log
	if s.operators, err = operators.New(o); err != nil {
		return cli.BadConfiguration("operators: " + err.Error())
	}
	s.onClose(func() error {
		s.operators.Close()
		return nil
	})
	return nil
}

// openAlerts makes the monitor of terminals. It runs once the runtime does.
func (s *server) openAlerts() (err error) {
	s.alerts, err = alertactor.New(alertactor.Options{
		Runtime: s.runtime, Directory: s.directory, Notifier: s.notifier, Decode: paymentcodec.Decode, CanReach: s.operators.Reaches,
	})
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	return nil
}

// moved takes durable changes of transactions' statuses.
func (s *server) moved(org ledger.ID, from transaction.Status, r *transaction.Record) {
	s.metrics.moved(org, from, r)
	s.alerts.Observe(org, from, r)
}

// tellOperators makes one attempt to tell a terminal's operators a message: all who are
// on the terminal's list at the moment, but for those whom an earlier attempt has told.
// It returns who was told so far.
func (s *server) tellOperators(org, to ledger.ID, body, told []byte) (notifier.Attempt, []byte, time.Duration) {
	at := ledger.MicrosOf(s.clock.Now())
	m, err := alerts.ReadMessage(body)
	if err != nil {
		s.log.Error("a message to operators cannot be read", "terminal", to.String(), "error", err)
		return notifier.Attempt{At: at, Failure: "the message cannot be read"}, told, 0
	}
	were, err := operators.ReadContacts(told)
	if err != nil {
		s.log.Error("who was told already cannot be read", "terminal", to.String(), "error", err)
		return notifier.Attempt{At: at, Failure: "who was told already cannot be read"}, told, 0
	}
	var listed operators.Contacts
	if t, found := s.directory.Terminal(org, to); found {
		listed = operators.ContactsOf(&t.Notification)
	}
	a := s.operators.Send(s.runtime.Context(), listed, were, m)
	made := notifier.Attempt{At: ledger.MicrosOf(a.At), Status: a.Status, Failure: a.Failure, Took: a.Took.Milliseconds()}
	if a.Told.None() {
		return made, nil, a.Wait
	}
	return made, a.Told.Append(nil), a.Wait
}
