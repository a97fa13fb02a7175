package api

import "mizan/ledger/directory"

// appendParams writes an object of a terminal's parameters as it was sent, but for what
// is written and never read: a mask stands for it, which a change may send back.
func appendParams(e *encoder, name string, params []byte) {
	if len(params) > 0 {
		params = directory.Masked(params)
	}
	e.object(name, params)
}
