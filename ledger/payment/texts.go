package payment

import "strings"

// Texts of error_description and refund_msg that the service gives itself.
// Those of the specification are exact.
const (
	UnexpectedCard      = "unexpected card"
	NoReturnURL         = "return_url/fail_url params not specified"
	AmountOutOfRange    = "amount out of range"
	NoTerminal          = "no terminal available"
	NoRate              = "no exchange rate"
	FeeExceedsAmount    = "fee exceeds amount"
	InsufficientBalance = "insufficient balance"
	LimitBreached       = "limit exceeded: " // and the limit's kind
	Blocklisted         = "anti-fraud: "     // and the entry's kind
	Interrupted         = "interrupted"
	ByCaller            = "cancelled"
	HoldExpired         = "hold expired"
	ActionExpired       = "payer action expired"
	MsgRefunded         = "refunded"
	MsgRefundPending    = "refund pending"
)

// The catalogue of descriptions in other languages than English. A reason with
// a colon is looked up by what stands before it, and keeps the rest.
var catalogue = map[string]map[string]string{
	"ru": {
		UnexpectedCard:             "карта не указана",
		NoReturnURL:                "не указаны параметры return_url/fail_url",
		AmountOutOfRange:           "сумма вне допустимых пределов",
		NoTerminal:                 "нет доступного терминала",
		NoRate:                     "нет обменного курса",
		FeeExceedsAmount:           "комиссия превышает сумму",
		InsufficientBalance:        "недостаточно средств на балансе",
		Interrupted:                "операция прервана",
		ByCaller:                   "отменено",
		HoldExpired:                "срок удержания истёк",
		ActionExpired:              "время на действие плательщика истекло",
		"card_declined":            "карта отклонена",
		"insufficient_funds":       "недостаточно средств на карте",
		"expired_card":             "срок действия карты истёк",
		"processing_error":         "ошибка обработки",
		"authentication_failed":    "аутентификация не пройдена",
		"chargeback":               "возврат по требованию плательщика",
		"forced_by_terminal":       "отклонено настройкой терминала",
		"card_missing":             "нет данных карты",
		MsgRefunded:                "возвращено",
		MsgRefundPending:           "возврат выполняется",
		"refund_refused_by_issuer": "эмитент отклонил возврат",
		"unknown_destination":      "неизвестный банк получателя",
		"limit exceeded":           "превышен лимит",
		"anti-fraud":               "отклонено системой защиты от мошенничества",
	},
}

// Describe is a reason in a partner's language; English, in which reasons are
// stored, where the catalogue has no other.
func Describe(lang, reason string) string {
	language, _, _ := strings.Cut(lang, "-")
	texts := catalogue[language]
	if texts == nil || reason == "" {
		return reason
	}
	if text, ok := texts[reason]; ok {
		return text
	}
	stem, rest, more := strings.Cut(reason, ": ")
	if text, ok := texts[stem]; more && ok {
		return text + ": " + rest
	}
	return reason
}
