package contract

import (
	"mizan/ledger"
	"mizan/ledger/schema"
)

// Reading is how contracts are read: what comes before money moves, what actions
// are called, and where some money goes. It is data: no product asks which one it
// is in.
type Reading struct {
	Name string
	Code byte // stored

	// ReviewFirst says that nothing moves money before a review with a conclusion.
	ReviewFirst bool

	// Requests says how requests are read, and Answers how contracts are shown (specification,
	// "Contracts").
	Requests schema.Reader
	Answers  schema.Style

	// Reviews is the body of a review, by which a review is given.
	Reviews *schema.Table

	// EarlyPenalty is where a holder's penalty for redeeming early goes, and
	// WithdrawalPenalty a depositor's for withdrawing early.
	EarlyPenalty      ledger.Path
	WithdrawalPenalty ledger.Path

	// Marks of a certificate's internal code.
	CertificateMark string
}

// Review bodies.
var (
	approvedBy  = schema.Text(1, "approved_by", schema.Required)
	signedAt    = schema.Text(2, "signed_at", schema.Asked, schema.IsDateOrTime)
	documentRef = schema.Text(3, "document_ref", schema.Asked, schema.AtMost(maxNote))
	note        = schema.Text(4, "note", schema.Asked, schema.AtMost(maxNote))
	reviews     = schema.NewTable(nil, approvedBy, signedAt, documentRef, note)

	fatwaReference   = schema.Text(5, "fatwa_reference", schema.Required, schema.AtMost(maxNote))
	religiousReviews = schema.NewTable(reviews, fatwaReference)
	boardID          = schema.Text(6, "board_id", schema.Asked)
	boardReviews     = schema.NewTable(religiousReviews, boardID)
)

// The readings.
var (
	Secular = &Reading{
		Name: "secular", Code: 's', Reviews: reviews, CertificateMark: "CRT",
		EarlyPenalty: "I:penalty", WithdrawalPenalty: "I:penalty",
	}
	Religious = &Reading{
		Name: "religious", Code: 'r', ReviewFirst: true, Reviews: religiousReviews, CertificateMark: "SKK",
		Requests: schema.Reader{LooseAmounts: true}, Answers: schema.Style{NumericAmounts: true, OmitEmpty: true},
		EarlyPenalty: "L:charity", WithdrawalPenalty: "Q:pool_reserve",
	}
)
