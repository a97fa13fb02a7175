package contract

import "mizan/ledger"

// Reading is how contracts are read: what comes before money moves, what actions
// are called, and where some money goes. It is data: no product asks which one it
// is in.
type Reading struct {
	Name string
	Code byte // stored

	// ReviewFirst says that nothing moves money before a review with a conclusion.
	ReviewFirst bool

	// Loose says that amounts may also be sent as JSON integers.
	Loose bool

	// Reviews is the body of a review, by which a review is given.
	Reviews *Table

	// EarlyPenalty is where a holder's penalty for redeeming early goes, and
	// WithdrawalPenalty a depositor's for withdrawing early.
	EarlyPenalty      ledger.Path
	WithdrawalPenalty ledger.Path

	// Marks of a certificate's internal code.
	CertificateMark string
}

// Review bodies.
var (
	approvedBy  = text(1, "approved_by", required)
	signedAt    = text(2, "signed_at", asked, dateOrTime)
	documentRef = text(3, "document_ref", asked, atMost(maxNote))
	note        = text(4, "note", asked, atMost(maxNote))
	reviews     = columns(nil, approvedBy, signedAt, documentRef, note)

	fatwaReference   = text(5, "fatwa_reference", required, atMost(maxNote))
	religiousReviews = columns(reviews, fatwaReference)
	boardID          = text(6, "board_id", asked)
	boardReviews     = columns(religiousReviews, boardID)
)

// The readings.
var (
	Secular = &Reading{
		Name: "secular", Code: 's', Reviews: reviews, CertificateMark: "CRT",
		EarlyPenalty: "I:penalty", WithdrawalPenalty: "I:penalty",
	}
	Religious = &Reading{
		Name: "religious", Code: 'r', ReviewFirst: true, Loose: true, Reviews: religiousReviews, CertificateMark: "SKK",
		EarlyPenalty: "L:charity", WithdrawalPenalty: "Q:pool_reserve",
	}
)
