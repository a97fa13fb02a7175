package mizan

import "context"

// Types of transactions, and environments.
const (
	TypePayment = "payment" // money comes in
	TypePayout  = "payout"  // money goes out
	EnvProd     = "prod"    // moves money
	EnvTest     = "test"    // moves no money
)

// Refund returns a part of the money of a charged payment. Its outcome is in the transaction's Refunds, and may still be
// pending.
func (c *Client) Refund(ctx context.Context, id string, amount Amount, options ...Option) (*Transaction, error) {
	return c.ChangeTransaction(ctx, id, ChangeTransactionRequest{Type: "refund", Amount: &amount}, options...)
}

// RefundAll returns all money of a charged payment that was not returned yet.
func (c *Client) RefundAll(ctx context.Context, id string, options ...Option) (*Transaction, error) {
	return c.ChangeTransaction(ctx, id, ChangeTransactionRequest{Type: "refund"}, options...)
}

// CancelTransaction ends a transaction whose money has not settled.
func (c *Client) CancelTransaction(ctx context.Context, id string, options ...Option) (*Transaction, error) {
	return c.ChangeTransaction(ctx, id, ChangeTransactionRequest{Type: "cancel"}, options...)
}

// IsFinal tells whether the status is final. A final status can still become refunding, refunded or reversed.
func (s TransactionStatus) IsFinal() bool {
	switch s {
	case StatusCharged, StatusRejected, StatusFailed, StatusReversed:
		return true
	}
	return false
}
