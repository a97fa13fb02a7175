package api

import "mizan/ledger/directory"

// appendProviderParams writes a terminal's provider_params as they were sent, but
// for what is written and never read: a mask stands for it, which a change may send
// back.
func appendProviderParams(e *encoder, params []byte) {
	if len(params) > 0 {
		params = directory.Masked(params)
	}
	e.object("provider_params", params)
}

// appendMerchantParams does so with merchant_params, whose secrets sign
// notifications.
func appendMerchantParams(e *encoder, params []byte) {
	if len(params) > 0 {
		params = directory.MaskedNotification(params)
	}
	e.object("merchant_params", params)
}
