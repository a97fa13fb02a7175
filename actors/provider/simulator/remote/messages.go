package remote

import (
	"errors"
	"time"
	"unicode/utf8"

	"mizan/actors"
	"mizan/actors/provider/simulator"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// The paths of the requests, one for each method of the simulator.
const (
	submitPath    = "/v1/submit"    // callMessage → outcomeMessage
	inquirePath   = "/v1/inquire"   // inquiryMessage → outcomeMessage
	reissuePath   = "/v1/reissue"   // inquiryMessage → outcomeMessage
	reportsPath   = "/v1/reports"   // periodMessage → reportsMessage
	challengePath = "/v1/challenge" // challengeMessage → shownMessage
	decidePath    = "/v1/decide"    // challengeMessage → decidedMessage
)

const contentType = "application/msgpack"

// Bounds of a request and of an answer.
const (
	maxRequest = 1<<20 + 64<<10 // bytes of a body; what a payer submits (Call.Material) has at most 1 MiB
	maxAnswer  = 1 << 20        // bytes of a body
	maxWait    = time.Minute    // time for a request whose context has no deadline
)

// errMessage says that a message has a value that the simulator could never get inside one process.
var errMessage = errors.New("a value of the message is not valid")

// callMessage is the part of an actors.Call that the simulator uses. In all messages, times are in microseconds since 1970
// and durations in nanoseconds.
type callMessage struct {
	Org       [16]byte     `msgpack:"org"`
	Reference [16]byte     `msgpack:"reference"`
	Operation string       `msgpack:"operation"`
	Request   [16]byte     `msgpack:"request"`
	Terminal  [16]byte     `msgpack:"terminal"`
	Fail      string       `msgpack:"fail,omitempty"` // the terminal's parameter
	Amount    string       `msgpack:"amount"`
	Currency  string       `msgpack:"currency,omitempty"` // empty if the call has no asset
	Network   string       `msgpack:"network,omitempty"`
	Env       string       `msgpack:"env,omitempty"`
	Method    string       `msgpack:"method"`
	Hold      bool         `msgpack:"hold,omitempty"`
	Card      *cardMessage `msgpack:"card,omitempty"`
	Token     string       `msgpack:"token,omitempty"`
	ReturnURL *string      `msgpack:"return_url,omitempty"`
	Material  []byte       `msgpack:"material,omitempty"`
	Choice    string       `msgpack:"choice,omitempty"`
	Wait      int64        `msgpack:"wait"` // how long the caller waits for the answer
}

// cardMessage is a secret.Card. Its fields share the card's memory when a message is sent, and are wiped by the server after
// the call.
type cardMessage struct {
	Number   []byte `msgpack:"number,omitempty"`
	Holder   []byte `msgpack:"holder,omitempty"`
	ExpMonth []byte `msgpack:"exp_month,omitempty"`
	ExpYear  []byte `msgpack:"exp_year,omitempty"`
	CVV      []byte `msgpack:"cvv,omitempty"`
	IBAN     []byte `msgpack:"iban,omitempty"`
}

// operations are the operations by their names in messages.
var operations = func() map[string]actors.Operation {
	byName := make(map[string]actors.Operation)
	for o := actors.Pay; o <= actors.Refund; o++ {
		byName[o.String()] = o
	}
	return byName
}()

// newCallMessage returns the message for a call. The message shares the memory of the card and of the material.
func newCallMessage(call *actors.Call, wait time.Duration) *callMessage {
	m := &callMessage{
		Org: call.Org, Reference: call.Reference, Operation: call.Operation.String(), Request: call.Request,
		Terminal: call.Terminal.ID, Fail: failOf(call.Terminal), Amount: call.Amount.String(),
		Method: call.Method, Hold: call.Hold, Token: string(call.Token), Material: call.Material, Choice: call.Choice,
		Wait: int64(wait),
	}
	if call.Asset != (money.Asset{}) {
		m.Currency, m.Network, m.Env = string(call.Asset.Currency), string(call.Asset.Network), call.Asset.Env.String()
	}
	if call.Card != nil {
		card := cardMessage(*call.Card)
		m.Card = &card
	}
	if call.ReturnURL != nil {
		url := call.ReturnURL() // always, because only the simulator knows whether it sends the payer anywhere
		m.ReturnURL = &url
	}
	return m
}

func failOf(t *directory.Terminal) string {
	if p, _ := t.Parameters.(*simulator.Params); p != nil {
		return p.Fail
	}
	return ""
}

func terminalOf(id [16]byte, fail string) *directory.Terminal {
	return &directory.Terminal{ID: id, Parameters: &simulator.Params{Fail: fail}}
}

// call returns the call that the message describes. The simulator trusts its caller, so call refuses what could make it panic,
// or write a line that it would not read again.
func (m *callMessage) call() (*actors.Call, error) {
	operation, known := operations[m.Operation]
	amount, amountError := money.Parse(m.Amount)
	asset, assetError := m.asset()
	if !known || amountError != nil || assetError != nil || m.ReturnURL != nil && !utf8.ValidString(*m.ReturnURL) {
		return nil, errMessage
	}
	call := &actors.Call{
		Org: m.Org, Reference: m.Reference, Operation: operation, Request: m.Request, Terminal: terminalOf(m.Terminal, m.Fail),
		Amount: amount, Asset: asset, Method: m.Method, Hold: m.Hold, Token: secret.Text(m.Token), Material: m.Material, Choice: m.Choice,
	}
	if m.Card != nil {
		card := secret.Card(*m.Card)
		call.Card = &card
	}
	if m.ReturnURL != nil {
		call.ReturnURL = func() string { return *m.ReturnURL }
	}
	return call, nil
}

// asset returns the call's asset. A call that opens a charge must have one.
func (m *callMessage) asset() (money.Asset, error) {
	if operation := operations[m.Operation]; m.Currency == "" && operation != actors.Pay && operation != actors.PayOut {
		return money.Asset{}, nil
	}
	env, isEnv := money.ParseEnv(m.Env)
	currency, isCurrency := money.AcceptedCurrency(m.Currency)
	network := money.Network(m.Network)
	isNetwork := m.Network == ""
	if !isNetwork {
		network, isNetwork = money.ParseNetwork(m.Network)
	}
	if !isEnv || !isCurrency || !isNetwork {
		return money.Asset{}, errMessage
	}
	return money.Asset{Currency: currency, Network: network, Env: env}, nil
}

// wipe overwrites the card and the material in the message of a server.
func (m *callMessage) wipe() {
	if m.Card != nil {
		card := secret.Card(*m.Card)
		card.Wipe()
	}
	clear(m.Material)
}

// inquiryMessage is the part of an actors.Inquiry that the simulator uses.
type inquiryMessage struct {
	Terminal    [16]byte `msgpack:"terminal"`
	Reference   [16]byte `msgpack:"reference"`
	Operation   string   `msgpack:"operation"`
	Request     [16]byte `msgpack:"request"`
	ActionKnown bool     `msgpack:"action_known,omitempty"`
	Wait        int64    `msgpack:"wait"`
}

func newInquiryMessage(q *actors.Inquiry, wait time.Duration) *inquiryMessage {
	return &inquiryMessage{
		Terminal: q.Terminal.ID, Reference: q.Reference, Operation: q.Operation.String(), Request: q.Request,
		ActionKnown: q.ActionKnown, Wait: int64(wait),
	}
}

func (m *inquiryMessage) inquiry() (*actors.Inquiry, error) {
	operation, known := operations[m.Operation]
	if !known {
		return nil, errMessage
	}
	return &actors.Inquiry{
		Terminal: terminalOf(m.Terminal, ""), Reference: m.Reference, Operation: operation, Request: m.Request,
		ChargeState: actors.ChargeState{ActionKnown: m.ActionKnown},
	}, nil
}

// outcomeMessage is an actors.Outcome.
type outcomeMessage struct {
	Verdict      string         `msgpack:"verdict"`
	Code         string         `msgpack:"code,omitempty"`
	Detail       string         `msgpack:"detail,omitempty"`
	RRN          string         `msgpack:"rrn,omitempty"`
	InquireAfter int64          `msgpack:"inquire_after,omitempty"`
	Status       string         `msgpack:"status,omitempty"`
	Meta         []byte         `msgpack:"meta,omitempty"`
	Unreachable  bool           `msgpack:"unreachable,omitempty"`
	Token        string         `msgpack:"token,omitempty"`
	Action       *actionMessage `msgpack:"action,omitempty"`
	KeepCard     bool           `msgpack:"keep_card,omitempty"`
}

// actionMessage has the fields of payment.Action, so that the one can be converted to the other.
type actionMessage struct {
	Type         string                `msgpack:"type,omitempty"`
	Method       string                `msgpack:"method,omitempty"`
	URL          string                `msgpack:"url,omitempty"`
	Params       []byte                `msgpack:"params,omitempty"`
	Page         string                `msgpack:"page,omitempty"`
	PageUntil    ledger.Micros         `msgpack:"page_until,omitempty"`
	Code         string                `msgpack:"code,omitempty"`
	Deposit      string                `msgpack:"deposit,omitempty"`
	Material     []byte                `msgpack:"material,omitempty"`
	Requires     []string              `msgpack:"requires,omitempty"`
	ExpiresAt    ledger.Micros         `msgpack:"expires_at,omitempty"`
	Destinations []payment.Destination `msgpack:"destinations,omitempty"`
	Until        ledger.Micros         `msgpack:"until,omitempty"`
}

// verdicts are the verdicts by their names in messages.
var verdicts = func() map[string]payment.Verdict {
	byName := make(map[string]payment.Verdict)
	for v := payment.Verdict(1); v.IsValid(); v++ {
		byName[v.String()] = v
	}
	return byName
}()

func newOutcomeMessage(o *actors.Outcome) *outcomeMessage {
	m := &outcomeMessage{
		Verdict: o.Verdict.String(), Code: string(o.Failure.Code), Detail: o.Failure.Detail, RRN: o.RRN, InquireAfter: int64(o.InquireAfter),
		Status: string(o.Status), Meta: o.Meta, Unreachable: o.Unreachable, Token: string(o.Token), KeepCard: o.KeepCard,
	}
	if o.Action != nil {
		action := actionMessage(*o.Action)
		m.Action = &action
	}
	return m
}

func (m *outcomeMessage) outcome() (actors.Outcome, error) {
	verdict, known := verdicts[m.Verdict]
	if !known {
		return actors.Outcome{}, errMessage
	}
	o := actors.Outcome{
		Verdict: verdict, Failure: payment.Failure{Code: payment.Code(m.Code), Detail: m.Detail}, RRN: m.RRN, InquireAfter: time.Duration(m.InquireAfter),
		Status: payment.Status(m.Status), Meta: m.Meta, Unreachable: m.Unreachable, Token: secret.Text(m.Token), KeepCard: m.KeepCard,
	}
	if m.Action != nil {
		action := payment.Action(*m.Action)
		o.Action = &action
	}
	return o, nil
}

// periodMessage asks for the reports after Since and no later than Until.
type periodMessage struct {
	Since int64 `msgpack:"since"`
	Until int64 `msgpack:"until"`
	Wait  int64 `msgpack:"wait"`
}

// reportsMessage has the reports after periodMessage.Since and no later than Covered, oldest first.
type reportsMessage struct {
	Reports []reportMessage `msgpack:"reports"`
	Covered int64           `msgpack:"covered"`
	More    bool            `msgpack:"more,omitempty"` // reports after Covered are ready
}

// reportMessage is an actors.Report of the kind actors.Reversal, the only kind that the simulator sends.
type reportMessage struct {
	Org       [16]byte `msgpack:"org"`
	Reference [16]byte `msgpack:"reference"`
	Terminal  [16]byte `msgpack:"terminal"`
	At        int64    `msgpack:"at"`
}

// challengeMessage names a challenge and, in a request to decidePath, has the payer's decision.
type challengeMessage struct {
	Terminal  [16]byte `msgpack:"terminal"`
	Reference [16]byte `msgpack:"reference"`
	Token     string   `msgpack:"token"`
	Approve   bool     `msgpack:"approve,omitempty"`
}

// shownMessage is a simulator.Challenge. If Exists is false, there is no such challenge.
type shownMessage struct {
	Exists    bool   `msgpack:"exists"`
	Amount    string `msgpack:"amount,omitempty"`
	Currency  string `msgpack:"currency,omitempty"`
	Network   string `msgpack:"network,omitempty"`
	Env       string `msgpack:"env,omitempty"`
	State     string `msgpack:"state,omitempty"`
	ReturnURL string `msgpack:"return_url,omitempty"`
}

// decidedMessage is the result of a decision. If Exists is false, there is no such challenge.
type decidedMessage struct {
	Exists    bool     `msgpack:"exists"`
	ReturnURL string   `msgpack:"return_url,omitempty"`
	Org       [16]byte `msgpack:"org"`
}
