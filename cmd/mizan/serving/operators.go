package serving

import (
	"time"

	alertactor "mizan/actors/alerts"
	"mizan/actors/notifier"
	"mizan/actors/notifier/operators"
	"mizan/cmd/mizan/cli"
	"mizan/ledger"
	"mizan/ledger/alerts"
	paymentcodec "mizan/ledger/payment/codec"
)

// openOperators opens the channels for messages to the operators of terminals: Telegram and e-mail.
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

// openAlerts creates the monitor that raises alerts about terminals. The monitor starts to work when the runtime starts.
func (s *server) openAlerts() (err error) {
	s.alerts, err = alertactor.New(alertactor.Options{
		Runtime: s.runtime, Directory: s.directory, Notifier: s.notifier, Decode: paymentcodec.Decode, CanReach: s.operators.Reaches,
	})
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	return nil
}

// notifyOperators makes one attempt to send a message to a terminal's operators. The message goes to all operators on the
// terminal's current list, except the operators in reached, who got it in an earlier attempt. It returns the attempt, all
// operators reached so far, and the minimum wait before the next attempt.
func (s *server) notifyOperators(org, terminal ledger.ID, body, reached []byte) (notifier.Attempt, []byte, time.Duration) {
	at := ledger.MicrosOf(s.clock.Now())
	message, err := alerts.ReadMessage(body)
	if err != nil {
		s.log.Error("a message to operators cannot be read", "terminal", terminal.String(), "error", err)
		return notifier.Attempt{At: at, Failure: "the message cannot be read"}, reached, 0
	}
	alreadyReached, err := operators.ReadContacts(reached)
	if err != nil {
		s.log.Error("the list of operators already reached cannot be read", "terminal", terminal.String(), "error", err)
		return notifier.Attempt{At: at, Failure: "the list of operators already reached cannot be read"}, reached, 0
	}
	var contacts operators.Contacts
	if t, found := s.directory.Terminal(org, terminal); found {
		contacts = operators.ContactsOf(&t.Notification)
	}
	result := s.operators.Send(s.runtime.Context(), contacts, alreadyReached, message)
	attempt := attemptOf(result)
	if result.Reached.IsEmpty() {
		return attempt, nil, result.MinWait
	}
	return attempt, result.Reached.Append(nil), result.MinWait
}
