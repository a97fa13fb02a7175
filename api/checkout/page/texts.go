package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// texts are the texts of pages in one language.
type texts struct {
	Lang string // the value of the HTML attribute lang

	Test, Merchant, Amount, Details, MinorUnits string

	PayTitle, PayoutTitle, CardNumber, Holder, Month, Year, CVV, Pay, Receive               string
	WrongForm, WrongNumber, WrongHolder, WrongMonth, WrongYear, WrongCVV                    string
	PasswordTitle, PasswordHint, Password, WrongPassword, Confirm                           string
	SignTitle, SignHint, Payload, Sequence, Signature, WrongSignature, TimeLeft             string
	TimeFormat                                                                              string // minutes and seconds
	ScanPay, ScanPayout, ScanHint, ScanPayoutHint, DepositHint, QRCode                      string
	DepositAddress, SenderAddress, OnThisDevice                                             string
	ChoiceTitle, ChoiceHint, WrongChoice, Choose                                            string
	ForwardTitle, ForwardHint, Continue                                                     string
	ProcessingTitle, ProcessingHint, Refresh                                                string
	Paid, PaidOut, ApprovedPay, NotPaid, NotPaidOut, ReturnedPay, Back, BackSoon, CloseThis string

	Price, Fee, TotalRose string
	TryAgain, Cancel      string
	Support, Terms        string

	OfferTitle, NothingToPay                                    string
	AmountMissing, AmountMalformed, AmountAtLeast, AmountAtMost string // the last two end with the bound

	Numbers string // what is written before the fraction of a number, then what is written between groups of three digits

	Notices map[Notice]message
	Reasons map[string]string // by error_code; a code that is missing here is not shown
}

// message is the text of a notice.
type message struct{ Title, Body string }

var english = texts{
	Lang: "en",
	Test: "Test payment: no money moves.", Merchant: "Merchant", Amount: "Amount", Details: "Details", MinorUnits: "in minor units",

	PayTitle: "Pay by card", PayoutTitle: "Receive money to your card",
	CardNumber: "Card number", Holder: "Name on the card", Month: "Expiry month", Year: "Expiry year", CVV: "Security code (CVV)",
	Pay: "Pay", Receive: "Receive",
	WrongForm:   "Please check the fields marked below. Nothing has been charged. For your security, enter all details again.",
	WrongNumber: "Check the card number: it has 12 to 19 digits.",
	WrongHolder: "Enter the name as it appears on the card.",
	WrongMonth:  "The month is a number from 1 to 12.",
	WrongYear:   "The year has two or four digits.",
	WrongCVV:    "The security code is exactly three digits.",

	PasswordTitle: "Confirm with a password", PasswordHint: "Your bank has sent you a one-time password. It is for this payment only: do not share it.",
	Password: "One-time password", WrongPassword: "Enter the password you were sent.", Confirm: "Confirm",

	SignTitle: "Sign the transfer", SignHint: "Sign this text with your wallet and paste the signature. When it expires, a new one appears.",
	Payload: "Text to sign", Sequence: "Sequence number", Signature: "Signature", WrongSignature: "Paste the signature.",
	TimeLeft: "Time left", TimeFormat: "%d min %02d s",

	ScanPay: "Scan to pay", ScanPayout: "Scan to receive", ScanHint: "Scan the code with your phone, or continue here.",
	ScanPayoutHint: "Scan the code with your phone to receive the money, or continue here.",
	DepositHint:    "Send exactly this amount to this address before time runs out.",
	QRCode:         "QR code", DepositAddress: "Address", SenderAddress: "Sender address", OnThisDevice: "Continue on this device",

	ChoiceTitle: "Choose your bank", ChoiceHint: "The money goes to your account there.",
	WrongChoice: "Choose one of the banks.", Choose: "Continue",

	ForwardTitle: "Continue to your bank", ForwardHint: "Your bank wants to confirm that it is you making the payment.", Continue: "Continue",

	ProcessingTitle: "Processing", ProcessingHint: "This takes a moment. This page updates automatically.", Refresh: "Refresh",

	Price: "Price", Fee: "Fee", TotalRose: "The fee has changed meanwhile. Nothing has been charged: check the new total and enter the card again.",

	TryAgain: "Nothing has been charged. You can try again or use another card.", Cancel: "Cancel",

	Support: "Help", Terms: "Terms",

	OfferTitle: "Payment", NothingToPay: "There is nothing to pay here.",
	AmountMissing: "Enter the amount.", AmountMalformed: "Enter the amount as a number, for example 12.50.",
	AmountAtLeast: "The least is", AmountAtMost: "The most is", Numbers: ".,",

	Paid: "Paid", PaidOut: "The money is on its way to you", ApprovedPay: "Approved", NotPaid: "Not paid", NotPaidOut: "Not paid out",
	ReturnedPay: "Returned", Back: "Back to the merchant", BackSoon: "You will be sent back to the merchant in a few seconds.", CloseThis: "You can close this page.",

	Notices: map[Notice]message{
		NotFound:    {"Page not found", "Check the link, or ask the merchant for a new one."},
		Gone:        {"This link is no longer valid", "Links to payment pages expire after a short time. Go back to the merchant and start again."},
		TooLate:     {"Time has run out", "Go back to the merchant and start again."},
		Malformed:   {"That did not work", "The form could not be read. Go back and send it again."},
		Unavailable: {"Try again in a moment", "The service is busy. Nothing is lost: reload this page."},
		Fault:       {"Something went wrong", "The error is on our side. Reload this page in a moment, and check with the merchant before you pay again."},
		Closed:      {"No payments are accepted here", "This link or product is no longer offered. Ask the merchant for a new link."},
		TooMany:     {"Too many payments from here", "Wait a minute, then reload this page and try again."},
	},
	Reasons: map[string]string{
		"card_declined": "The card was declined.", "insufficient_funds": "There is not enough money on the card.",
		"expired_card": "The card has expired.", "processing_error": "The bank could not process the payment.",
		"authentication_failed": "Confirmation failed or was declined.", "payer_action_expired": "Time ran out before you confirmed.",
		"cancelled": "The payment was cancelled.", "hold_expired": "The merchant did not collect the payment in time.",
		"interrupted": "The payment was interrupted before it reached the bank.",
	},
}

var russian = texts{
	Lang: "ru",
	Test: "Тестовый платёж: деньги не списываются.", Merchant: "Получатель", Amount: "Сумма", Details: "Назначение", MinorUnits: "в минимальных единицах",

	PayTitle: "Оплата картой", PayoutTitle: "Получение на карту",
	CardNumber: "Номер карты", Holder: "Имя на карте", Month: "Месяц окончания", Year: "Год окончания", CVV: "Код безопасности (CVV)",
	Pay: "Оплатить", Receive: "Получить",
	WrongForm:   "Проверьте отмеченные поля. Деньги не списаны. В целях безопасности введите всё ещё раз.",
	WrongNumber: "Проверьте номер карты: в нём от 12 до 19 цифр.",
	WrongHolder: "Введите имя так, как оно указано на карте.",
	WrongMonth:  "Месяц — число от 1 до 12.",
	WrongYear:   "Год состоит из двух или четырёх цифр.",
	WrongCVV:    "Код безопасности — ровно три цифры.",

	PasswordTitle: "Подтверждение паролем", PasswordHint: "Банк отправил вам одноразовый пароль. Он только для этого платежа: никому его не сообщайте.",
	Password: "Одноразовый пароль", WrongPassword: "Введите пароль, который вы получили.", Confirm: "Подтвердить",

	SignTitle: "Подпишите перевод", SignHint: "Подпишите этот текст кошельком и вставьте подпись. Когда время выйдет, здесь появится новый.",
	Payload: "Текст для подписи", Sequence: "Порядковый номер", Signature: "Подпись", WrongSignature: "Вставьте подпись.",
	TimeLeft: "Осталось времени", TimeFormat: "%d мин %02d с",

	ScanPay: "Отсканируйте, чтобы оплатить", ScanPayout: "Отсканируйте, чтобы получить", ScanHint: "Отсканируйте код телефоном или продолжите здесь.",
	ScanPayoutHint: "Отсканируйте код телефоном, чтобы получить деньги, или продолжите здесь.",
	DepositHint:    "Отправьте ровно эту сумму на этот адрес, пока не вышло время.",
	QRCode:         "QR-код", DepositAddress: "Адрес", SenderAddress: "Отправитель", OnThisDevice: "Продолжить на этом устройстве",

	ChoiceTitle: "Выберите банк", ChoiceHint: "Деньги поступят на ваш счёт в этом банке.",
	WrongChoice: "Выберите один из банков.", Choose: "Продолжить",

	ForwardTitle: "Переход в банк", ForwardHint: "Банк хочет убедиться, что платите именно вы.", Continue: "Продолжить",

	ProcessingTitle: "Обрабатывается", ProcessingHint: "Это займёт немного времени. Страница обновится сама.", Refresh: "Обновить сейчас",

	Price: "Цена", Fee: "Комиссия", TotalRose: "Комиссия изменилась. Деньги не списаны: проверьте новую сумму и введите карту ещё раз.",

	TryAgain: "Деньги не списаны. Попробуйте ещё раз или используйте другую карту.", Cancel: "Отменить",

	Support: "Помощь", Terms: "Условия",

	OfferTitle: "Оплата", NothingToPay: "Здесь нечего оплачивать.",
	AmountMissing: "Введите сумму.", AmountMalformed: "Введите сумму числом, например 12,50.",
	AmountAtLeast: "Не меньше чем", AmountAtMost: "Не больше чем", Numbers: ", ",

	Paid: "Оплачено", PaidOut: "Деньги отправлены вам", ApprovedPay: "Одобрено", NotPaid: "Не оплачено", NotPaidOut: "Не выплачено",
	ReturnedPay: "Возвращено", Back: "Вернуться в магазин", BackSoon: "Через несколько секунд вы вернётесь в магазин.", CloseThis: "Страницу можно закрыть.",

	Notices: map[Notice]message{
		NotFound:    {"Страница не найдена", "Проверьте ссылку или попросите у магазина новую."},
		Gone:        {"Ссылка больше не действует", "Ссылки на страницы оплаты действуют недолго. Вернитесь в магазин и начните заново."},
		TooLate:     {"Время вышло", "Вернитесь в магазин и начните заново."},
		Malformed:   {"Не получилось", "Форму не удалось прочитать. Вернитесь назад и отправьте её ещё раз."},
		Unavailable: {"Повторите через минуту", "Сервис занят. Ничего не потеряно: обновите страницу."},
		Fault:       {"Что-то пошло не так", "Ошибка на нашей стороне. Обновите страницу через минуту; прежде чем платить снова, спросите магазин."},
		Closed:      {"Здесь больше не принимают оплату", "Эта ссылка или товар больше не действует. Попросите у магазина новую ссылку."},
		TooMany:     {"Слишком много платежей отсюда", "Подождите минуту, обновите страницу и попробуйте ещё раз."},
	},
	Reasons: map[string]string{
		"card_declined": "Карта отклонена.", "insufficient_funds": "На карте недостаточно средств.",
		"expired_card": "Срок действия карты истёк.", "processing_error": "Банк не смог обработать операцию.",
		"authentication_failed": "Подтверждение не получено.", "payer_action_expired": "Время на подтверждение истекло.",
		"cancelled": "Платёж отменён.", "hold_expired": "Магазин не списал деньги вовремя.",
		"interrupted": "Операция прервалась, не дойдя до банка.",
	},
}

var catalogue = map[string]*texts{"en": &english, "ru": &russian}

// textsIn returns the texts for a language tag (RFC 5646); English if there are none for
// that language.
func textsIn(lang string) *texts {
	language, _, _ := strings.Cut(lang, "-")
	if t := catalogue[strings.ToLower(language)]; t != nil {
		return t
	}
	return &english
}

// Preferred returns the first language of a header Accept-Language (RFC 9110, 12.5.4) in which there are texts, by
// descending weight; empty if there is none.
func Preferred(header string) string {
	preferred, best := "", 0.0
	for i, entry := range strings.Split(header, ",") {
		tag, parameter, _ := strings.Cut(entry, ";")
		weight := 1.0
		if text, hasWeight := strings.CutPrefix(strings.TrimSpace(parameter), "q="); hasWeight {
			weight, _ = strconv.ParseFloat(text, 64) // 0 for anything malformed
		}
		language, _, _ := strings.Cut(strings.TrimSpace(tag), "-")
		if language = strings.ToLower(language); catalogue[language] != nil && weight > best {
			preferred, best = language, weight
		}
		if i == maxLanguages {
			break
		}
	}
	return preferred
}

// maxLanguages bounds how many entries of Accept-Language are read.
const maxLanguages = 32

// SeparatorsOf returns what a language writes in numbers.
func SeparatorsOf(lang string) Separators {
	numbers := textsIn(lang).Numbers
	return Separators{Decimal: numbers[0], Group: numbers[1]}
}

// AmountRefusal is the text for the amount that a payer typed.
func (t *texts) AmountRefusal(o Offer) string {
	switch o.Problem {
	case AmountMissing:
		return t.AmountMissing
	case AmountTooLow:
		return t.AmountAtLeast + " " + t.Sum(Sum{o.Min, o.Sum.Asset}) + "."
	case AmountTooHigh:
		if !o.Max.IsZero() {
			return t.AmountAtMost + " " + t.Sum(Sum{o.Max, o.Sum.Asset}) + "."
		}
	}
	return t.AmountMalformed
}

// Sum formats an amount for people.
func (t *texts) Sum(s Sum) string {
	text, scaled := s.text()
	if !scaled {
		text += ", " + t.MinorUnits
	}
	return text
}

// Left formats a remaining time, to the second.
func (t *texts) Left(d time.Duration) string {
	seconds := wholeSeconds(d)
	return fmt.Sprintf(t.TimeFormat, seconds/60, seconds%60)
}

// wholeSeconds rounds down, so that a page never shows more time than is left.
func wholeSeconds(d time.Duration) int64 { return int64(d / time.Second) }

// Ended returns the title of the page that tells how a transaction ended.
func (t *texts) Ended(o Outcome) string {
	switch o.Result {
	case Done:
		return textFor(o.Payout, t.PaidOut, t.Paid)
	case Approved:
		return t.ApprovedPay
	case Returned:
		return t.ReturnedPay
	}
	return textFor(o.Payout, t.NotPaidOut, t.NotPaid)
}

// Reason returns the text for the reason code of an outcome; empty for a code that payers are not shown.
func (t *texts) Reason(o Outcome) string { return t.Reasons[o.Reason] }

// Refusal returns the text for the reason code of an attempt after which the payer may try again.
func (t *texts) Refusal(code string) string {
	return strings.TrimSpace(t.Reasons[code] + " " + t.TryAgain)
}

// Notice returns the text of a notice.
func (t *texts) Notice(n Notice) message { return t.Notices[n] }

func textFor(payout bool, payoutText, paymentText string) string {
	if payout {
		return payoutText
	}
	return paymentText
}
