package payment

import (
	"mizan/actors"
	"mizan/ledger/payment"
)

// remembered is what the record has kept for its provider.
func (t *transaction) remembered() actors.Remembered {
	r := t.record
	m := actors.Remembered{
		Since: t.stamp.Started.Time(), Charge: r.Submitted(), Meta: r.RailMeta, Acting: r.Status == payment.ActionRequired && r.Action != nil,
	}
	if r.Op != nil && r.Op.Kind == payment.OpRefund && !r.Op.Late {
		m.Returned = r.Returned()
	}
	return m
}
