package simulator

import (
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// Params are the provider_params of a terminal that uses the simulator.
type Params struct {
	Fail string // outcome of every charge; if empty, the card decides
}

// Values of Params.Fail.
const (
	FailRejected = "rejected"
	FailFailed   = "failed"
	FailTimeout  = "timeout"
)

// Parameters describes the fields of Params, as the columns of a record type.
var Parameters = schema.NewType[Params]("parameters of a terminal of "+directory.Simulator,
	schema.Field(schema.Word(0, "fail", []string{FailRejected, FailFailed, FailTimeout}, schema.Transient, schema.Settable,
		schema.Help("forces this outcome of every charge")), func(p *Params) *string { return &p.Fail }),
)

func init() {
	directory.RegisterProvider(directory.Provider{Name: directory.Simulator, Parameters: Parameters})
}
