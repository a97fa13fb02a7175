package texts

import "mizan/api/web/locale"

// Texts are the texts of the payers' pages in one language. The embedded Locale formats numbers and times. locale.Load explains
// the fields' tags.
type Texts struct {
	*locale.Locale `json:"-"`

	Common struct {
		Test       string `json:"test"`
		PayTo      string `json:"payTo" holds:"merchant"`
		PayoutFrom string `json:"payoutFrom" holds:"merchant"`
		Amount     string `json:"amount"`
		Price      string `json:"price"`
		Fee        string `json:"fee"`
		Total      string `json:"total"`
		Label      string `json:"label" holds:"name"` // how a name is written before its value, for example with a colon
		Continue   string `json:"continue" on:"button"`
		Confirm    string `json:"confirm" on:"button"`
		Cancel     string `json:"cancel" on:"button"`
		Back       string `json:"back" on:"button"`
		Help       string `json:"help"`
		Terms      string `json:"terms"`
		Refresh    string `json:"refresh" on:"button"`
		Copy       string `json:"copy" on:"button"`
		Copied     string `json:"copied" on:"button"`
		TimeLeft   string `json:"timeLeft"`
	} `json:"common"`
	Offer struct {
		Title            string        `json:"title"`
		Pay              string        `json:"pay" on:"button"`
		Pieces           locale.Plural `json:"pieces" holds:"n"`
		NothingToPay     string        `json:"nothingToPay"`
		EnterAmount      string        `json:"enterAmount" holds:"currency"`
		AmountMissing    string        `json:"amountMissing"`
		AmountMalformed  string        `json:"amountMalformed" holds:"example"`
		AmountTooPrecise string        `json:"amountTooPrecise" holds:"example"`
		AmountAtLeast    string        `json:"amountAtLeast" holds:"amount"`
		AmountAtMost     string        `json:"amountAtMost" holds:"amount"`
	} `json:"offer"`
	Checkout struct {
		Title             string        `json:"title"`
		PayoutTitle       string        `json:"payoutTitle"`
		Methods           string        `json:"methods"`
		PayoutMethods     string        `json:"payoutMethods"`
		NoMethod          string        `json:"noMethod"`
		MethodHint        string        `json:"methodHint"`
		Number            string        `json:"number"`
		Expiry            string        `json:"expiry"`
		ExpiryHint        string        `json:"expiryHint"`
		Holder            string        `json:"holder"`
		CVV               string        `json:"cvv"`
		CVVHint           string        `json:"cvvHint"`
		Pay               string        `json:"pay" holds:"amount" on:"button"`
		Receive           string        `json:"receive" holds:"amount" on:"button"`
		WrongForm         string        `json:"wrongForm"`
		WrongPayout       string        `json:"wrongPayout"`
		WrongNumber       string        `json:"wrongNumber"`
		WrongHolder       string        `json:"wrongHolder"`
		WrongExpiry       string        `json:"wrongExpiry"`
		WrongCVV          string        `json:"wrongCVV"`
		WrongField        string        `json:"wrongField"`
		WrongMethod       string        `json:"wrongMethod"`
		TotalRose         string        `json:"totalRose"`
		Declined          string        `json:"declined"`
		TryAgain          string        `json:"tryAgain"`       // shown if the only method on offer is not a card
		TryAnotherCard    string        `json:"tryAnotherCard"` // shown if a card was declined
		TryAnotherWay     string        `json:"tryAnotherWay"`  // shown if a method other than a card was declined and several methods are offered
		AttemptsLeft      locale.Plural `json:"attemptsLeft" holds:"n"`
		Secure            string        `json:"secure"`
		AccountNumber     string        `json:"accountNumber"`
		RoutingNumber     string        `json:"routingNumber"`
		SortCode          string        `json:"sortCode"`
		InstitutionNumber string        `json:"institutionNumber"`
		TransitNumber     string        `json:"transitNumber"`
	} `json:"checkout"`
	Elements struct {
		Title    string `json:"title"`
		Hint     string `json:"hint"`
		NoScript string `json:"noScript"`
		Failed   string `json:"failed"`
	} `json:"elements"`
	Password struct {
		Title string `json:"title"`
		Hint  string `json:"hint"`
		Label string `json:"label"`
		Wrong string `json:"wrong"`
	} `json:"password"`
	Signature struct {
		Title    string `json:"title"`
		Hint     string `json:"hint"`
		Payload  string `json:"payload"`
		Sequence string `json:"sequence"`
		Label    string `json:"label"`
		Wrong    string `json:"wrong"`
	} `json:"signature"`
	Scan struct {
		Pay          string `json:"pay"`
		Payout       string `json:"payout"`
		PayHint      string `json:"payHint"`
		PayoutHint   string `json:"payoutHint"`
		Deposit      string `json:"deposit"`
		DepositHint  string `json:"depositHint"`
		Code         string `json:"code"`
		Address      string `json:"address"`
		Sender       string `json:"sender"`
		OnThisDevice string `json:"onThisDevice" on:"button"`
	} `json:"scan"`
	Choice struct {
		Title string `json:"title"`
		Hint  string `json:"hint"`
		Wrong string `json:"wrong"`
	} `json:"choice"`
	Forward struct {
		Title string `json:"title"`
		Hint  string `json:"hint"`
	} `json:"forward"`
	Processing struct {
		Title string `json:"title"`
		Hint  string `json:"hint"`
	} `json:"processing"`
	Outcome struct {
		Paid           string        `json:"paid"`
		PaidOut        string        `json:"paidOut"`
		Approved       string        `json:"approved"`
		ApprovedHint   string        `json:"approvedHint"`
		Failed         string        `json:"failed"`
		FailedPayout   string        `json:"failedPayout"`
		NothingCharged string        `json:"nothingCharged"`
		AnotherWay     string        `json:"anotherWay"` // shown after a failure whose reason the payer must not see
		Returned       string        `json:"returned"`
		ReturnedHint   string        `json:"returnedHint"`
		SecondsToBack  locale.Plural `json:"secondsToBack" holds:"n"`
		Close          string        `json:"close"`
		Receipt        string        `json:"receipt" on:"button"`
	} `json:"outcome"`
	Receipt struct {
		Title       string `json:"title"`
		PayoutTitle string `json:"payoutTitle"`
		Number      string `json:"number"`
		Date        string `json:"date"`
		Merchant    string `json:"merchant"`
		PaidWith    string `json:"paidWith"`
		PaidTo      string `json:"paidTo"`
		Status      string `json:"status"`
		Refunded    string `json:"refunded"`
		Print       string `json:"print" on:"button"`
		MailSubject string `json:"mailSubject" holds:"amount merchant"`
		MailBody    string `json:"mailBody" holds:"amount merchant"`
	} `json:"receipt"`
	Notices struct {
		NotFound    Notice `json:"notFound"`
		Gone        Notice `json:"gone"`
		TooLate     Notice `json:"tooLate"`
		Malformed   Notice `json:"malformed"`
		Unavailable Notice `json:"unavailable"`
		Fault       Notice `json:"fault"`
		Closed      Notice `json:"closed"`
		TooMany     Notice `json:"tooMany"`

		StillOpen string `json:"stillOpen"` // the body of the notice StillOpen, which has the title of Gone
	} `json:"notices"`
	Methods map[string]string `json:"methods"` // names of payment methods, by money_storage type
	Reasons map[string]string `json:"reasons"` // texts by error_code; other reasons are not shown to payers
}

// Notice contains the texts of a page that only explains why there is nothing to show.
type Notice struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}
