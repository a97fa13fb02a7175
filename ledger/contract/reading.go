package contract

import (
	"mizan/ledger"
	"mizan/ledger/schema"
)

// Reading is one of the forms that contracts have: secular or religious. It determines whether a review comes
// before money moves, how actions are named in URLs, and where penalties go. A Reading is data: no product's
// code asks which reading a contract is in.
type Reading struct {
	Name string
	Code byte // stored in contracts

	// Path is the beginning of the URLs of the reading's contracts, after the API's version.
	Path string

	// ReviewFirst tells whether a contract must pass a review before any action that moves money.
	ReviewFirst bool

	// Requests says how requests are read, and Answers how contracts are shown in responses
	// (specification, "Contracts").
	Requests schema.Reader
	Answers  schema.Style

	// NamesProduct tells whether responses show a contract with its product's name and its
	// organization.
	NamesProduct bool

	// Reviews has the columns of a review's body.
	Reviews *schema.Table

	// EarlyPenalty is the account for a holder's penalty for early redemption, and
	// WithdrawalPenalty the account for a depositor's penalty for early withdrawal.
	EarlyPenalty      ledger.Path
	WithdrawalPenalty ledger.Path

	// CertificateMark is the part of a certificate issue's internal code that names the reading.
	CertificateMark string
}

// Columns of the bodies of reviews, for secular contracts (reviews), for religious contracts (religiousReviews) and for
// sukuk (boardReviews).
var (
	approvedBy  = schema.Text(1, "approved_by", schema.Required, schema.Help("who approved it"))
	signedAt    = schema.Text(2, "signed_at", schema.Settable, schema.IsDateOrTime, schema.Help("date or time of the signature"))
	documentRef = schema.Text(3, "document_ref", schema.Settable, schema.AtMost(maxNote), schema.Help("reference of the document"))
	note        = schema.Text(4, "note", schema.Settable, schema.AtMost(maxNote), schema.Help("a remark"))
	reviews     = schema.NewTable(nil, approvedBy, signedAt, documentRef, note)

	fatwaReference   = schema.Text(5, "fatwa_reference", schema.Required, schema.AtMost(maxNote), schema.Help("reference of the fatwa"))
	religiousReviews = schema.NewTable(reviews, fatwaReference)
	boardID          = schema.Text(6, "board_id", schema.Settable, schema.Help("id of the board"))
	boardReviews     = schema.NewTable(religiousReviews, boardID)
)

// The readings.
var (
	Secular = &Reading{
		Name: "secular", Code: 's', Path: "/pfp", Reviews: reviews, CertificateMark: "CRT",
		EarlyPenalty: "I:penalty", WithdrawalPenalty: "I:penalty",
	}
	Religious = &Reading{
		Name: "religious", Code: 'r', Path: "/baas/islamic-banking", ReviewFirst: true, Reviews: religiousReviews, CertificateMark: "SKK",
		Requests: schema.Reader{LooseAmounts: true}, Answers: schema.Style{NumericAmounts: true, OmitEmpty: true}, NamesProduct: true,
		EarlyPenalty: "L:charity", WithdrawalPenalty: "Q:pool_reserve",
	}
)
