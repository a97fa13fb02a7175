package contract

import (
	"mizan/ledger"
	"mizan/ledger/schema"
)

// Reading is one of the forms that contracts have: secular or religious. It determines whether a review comes before money
// moves, how actions are named in URLs, and where penalties go. The code of products uses these values and does not ask in
// which reading a contract is.
type Reading struct {
	Name string
	Code byte // stored in contracts

	// Path is the part that follows the API's version in the URLs of the reading's contracts.
	Path string

	// ReviewFirst tells whether a contract must pass a review before any action that moves money.
	ReviewFirst bool

	// ParseOptions says how request bodies are read, and ResponseStyle how responses show contracts (specification,
	// "Contracts").
	ParseOptions  schema.ParseOptions
	ResponseStyle schema.Style

	// NamesProduct tells whether responses include the product's name and the organization of a contract.
	NamesProduct bool

	// Reviews contains the columns of a review's request body.
	Reviews *schema.Table

	// EarlyPenalty is the account to which penalties for the early redemption of certificates go. WithdrawalPenalty is the
	// account to which penalties for the early withdrawal of a deposit go.
	EarlyPenalty      ledger.Path
	WithdrawalPenalty ledger.Path

	// CertificateMark is the part of a certificate issue's internal code that names the reading.
	CertificateMark string
}

// The columns of a review's request body: reviews for secular contracts, religiousReviews for religious contracts, and
// boardReviews for sukuk (religious certificates).
var (
	approvedBy  = schema.Text(1, "approved_by", schema.Required, schema.Help("who approved the contract"))
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
		ParseOptions: schema.ParseOptions{LooseAmounts: true}, ResponseStyle: schema.Style{NumericAmounts: true, OmitEmpty: true}, NamesProduct: true,
		EarlyPenalty: "L:charity", WithdrawalPenalty: "Q:pool_reserve",
	}
)
