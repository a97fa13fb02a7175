package mizan

import "context"

// Types of transactions, and environments.
const (
	TypePayment = "payment" // money comes in
	TypePayout  = "payout"  // money goes out
	EnvProd     = "prod"    // moves money
	EnvTest     = "test"    // moves no money
)

// Refund pays back a part of the money of a charged payment. The outcome of the refund is in the transaction's Refunds,
// and may still be pending.
func (c *Client) Refund(ctx context.Context, id string, amount Amount, options ...Option) (*Transaction, error) {
	return c.ChangeTransaction(ctx, id, ChangeTransactionRequest{Type: "refund", Amount: &amount}, options...)
}

// RefundAll pays back all money of a charged payment that was not paid back yet.
func (c *Client) RefundAll(ctx context.Context, id string, options ...Option) (*Transaction, error) {
	return c.ChangeTransaction(ctx, id, ChangeTransactionRequest{Type: "refund"}, options...)
}

// CancelTransaction ends a transaction whose money has not settled.
func (c *Client) CancelTransaction(ctx context.Context, id string, options ...Option) (*Transaction, error) {
	return c.ChangeTransaction(ctx, id, ChangeTransactionRequest{Type: "cancel"}, options...)
}

// IsFinal tells whether the status is final: charged, rejected, failed or reversed. A transaction with a final status
// can still become refunding, refunded or reversed.
func (s TransactionStatus) IsFinal() bool {
	switch s {
	case StatusCharged, StatusRejected, StatusFailed, StatusReversed:
		return true
	}
	return false
}
