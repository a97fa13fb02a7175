package subscription

import (
	"log/slog"

	"mizan/actors"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/ledger/subscription"
)

// reply is the reply to a waiting caller.
type reply struct {
	result Result
	err    error
}

// caller is a request that waits for its reply.
type caller struct {
	actors.Waiter[reply]
	key    *actors.Key
	author ledger.Author
	origin tracing.Origin
}

// Refuse implements actors.Refusable.
func (c *caller) Refuse(err error) { c.Answer(reply{err: err}) }

// createMessage asks a new actor to create the subscription.
type createMessage struct {
	*caller
	partner    int64
	terms      subscription.Terms
	credential subscription.Credential
}

// LogValue implements slog.LogValuer.
func (*createMessage) LogValue() slog.Value { return slog.StringValue("create") }

// commandMessage asks for a change of an existing subscription.
type commandMessage struct {
	*caller
	event subscription.Event
}

// LogValue implements slog.LogValuer.
func (m *commandMessage) LogValue() slog.Value { return slog.StringValue(string(m.event)) }

// renewalEnded says how a renewal's payment ended.
type renewalEnded struct {
	transaction ledger.ID
	paid        bool
}

// IsRedelivered implements actors.RedeliveredMessage: after a panic the message is delivered again, because the payment's actor
// would repeat it only much later.
func (renewalEnded) IsRedelivered() {}

var _ actors.RedeliveredMessage = renewalEnded{}
