package payment

// Keys of the texts for refunds that have not failed. No Code has the same value.
const (
	textRefunded      = "refund succeeded"
	textRefundPending = "refund pending"
)

// failureTexts contains the texts for people: for each language, a map from a code or key to its text. If the
// specification prescribes an English text, the text here is exactly the same.
var failureTexts = map[string]map[string]string{
	"en": {
		string(UnexpectedCard):       "unexpected card",
		string(ReturnURLsMissing):    "return_url/fail_url params not specified",
		string(NoTerminal):           "no terminal available",
		string(InsufficientBalance):  "insufficient balance",
		string(FeeExceedsAmount):     "fee exceeds amount",
		string(AmountOutOfRange):     "amount out of range",
		string(NoExchangeRate):       "no exchange rate",
		string(LimitExceeded):        "limit exceeded",
		string(AntiFraud):            "anti-fraud",
		string(CardDeclined):         "The card was declined.",
		string(InsufficientFunds):    "There is not enough money on the card.",
		string(ExpiredCard):          "The card has expired.",
		string(ProcessingError):      "The provider could not process the transaction.",
		string(AuthenticationFailed): "The payer was not authenticated, or refused.",
		string(PayerActionExpired):   "payer action expired",
		string(Interrupted):          "The transaction was interrupted before it reached the provider.",
		string(ForcedByTerminal):     "The terminal's settings force this outcome.",
		string(HoldExpired):          "hold expired",
		string(CancelledByCaller):    "The transaction was cancelled before it settled.",
		string(RefundDeclined):       "The provider refused the refund.",
		string(RawCardsNotAllowed):   "This card can only be entered in the provider's own form.",
		string(TakenBack):            "The rail took the money back (chargeback).",
		textRefunded:                 "The money was returned.",
		textRefundPending:            "The refund is under way.",
	},
	"ru": {
		string(UnexpectedCard):       "карта не указана",
		string(ReturnURLsMissing):    "не указаны параметры return_url/fail_url",
		string(NoTerminal):           "нет доступного терминала",
		string(InsufficientBalance):  "недостаточно средств на балансе",
		string(FeeExceedsAmount):     "комиссия превышает сумму",
		string(AmountOutOfRange):     "сумма вне допустимых пределов",
		string(NoExchangeRate):       "нет обменного курса",
		string(LimitExceeded):        "превышен лимит",
		string(AntiFraud):            "отклонено системой защиты от мошенничества",
		string(CardDeclined):         "Карта отклонена.",
		string(InsufficientFunds):    "На карте недостаточно средств.",
		string(ExpiredCard):          "Срок действия карты истёк.",
		string(ProcessingError):      "Провайдер не смог обработать операцию.",
		string(AuthenticationFailed): "Плательщик не прошёл аутентификацию или отказался.",
		string(PayerActionExpired):   "время на действие плательщика истекло",
		string(Interrupted):          "Операция прервалась, не дойдя до провайдера.",
		string(ForcedByTerminal):     "Такой исход задан настройками терминала.",
		string(HoldExpired):          "срок удержания истёк",
		string(CancelledByCaller):    "Операция отменена до зачисления.",
		string(RefundDeclined):       "Провайдер отказал в возврате.",
		string(RawCardsNotAllowed):   "Карту можно ввести только в форме самого провайдера.",
		string(TakenBack):            "Деньги возвращены плательщику по требованию его банка.",
		textRefunded:                 "Деньги возвращены.",
		textRefundPending:            "Возврат выполняется.",
	},
}

// textIn returns the text for a key in the given language. If there is none, it returns the English text, and "" if the
// key is unknown.
func textIn(lang, key string) string {
	if text, translated := failureTexts[lang][key]; translated {
		return text
	}
	return failureTexts["en"][key]
}
