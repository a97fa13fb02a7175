package payment

import (
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
)

// Attempts is an account.History. It calls fn with each of a partner's attempts that the velocity limits have counted since
// the given time, until fn returns false. The attempt that was booked last comes first. To find the attempts, it reads all
// of the partner's transactions that were booked since that time.
func (s *Service) Attempts(org ledger.ID, partner int64, env money.Env, since ledger.Micros,
	fn func(booked, at ledger.Micros, a *directory.Attempt) (more bool)) error {
	view := s.rt.Journal.View()
	defer view.Close()
	// seen holds the transactions that were already passed to fn. A transaction is listed again when it is
	// attempted or rerouted after its creation.
	seen := make(map[ledger.ID]bool)
	return view.List(org, payment.Transactions.Of(partner, env), posting.ListRange{From: since}, func(row posting.ListRow) (bool, error) {
		if seen[row.ID] {
			return true, nil
		}
		record, found, err := view.Record(org, ledger.Source{Kind: ledger.Transaction, ID: row.ID})
		if err != nil || !found {
			return err == nil, err
		}
		r, err := paymentcodec.Decode(record.Payload)
		if err != nil {
			return false, err
		}
		if r.AttemptedAt == 0 && len(r.EndedAttempts) == 0 {
			return true, nil
		}
		if r.Hosted || len(r.Attempts) > 0 {
			seen[row.ID] = true
		} else if !row.IsCreation {
			return true, nil
		}
		return admission.Attempts(r, func(at ledger.Micros, a *directory.Attempt) bool { return fn(row.Booked, at, a) }), nil
	})
}
