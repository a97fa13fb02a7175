package partner

import "mizan/api/console/labels"

// Texts are the texts of the pages in one language, with the labels of the API.
type Texts struct {
	*labels.Texts `json:"-"`

	Home struct {
		Today       string `json:"today"`
		Yesterday   string `json:"yesterday"`
		Month       string `json:"month"`
		Payouts     string `json:"payouts"`
		SuccessRate string `json:"successRate"`
		Percent     string `json:"percent" holds:"number"`
		Reasons     string `json:"reasons"`
		Reason      string `json:"reason"`
		Number      string `json:"number"`
		Share       string `json:"share"`
		Chart       string `json:"chart"`
		Days        string `json:"days" holds:"currency"`
		Day         string `json:"day"`
		AsOf        string `json:"asOf" holds:"time"`
		Empty       string `json:"empty"`
		EmptyText   string `json:"emptyText"`
		First       string `json:"first"`
		Environment string `json:"environment"`
	} `json:"home"`
	Payment struct {
		ChoosePartner string `json:"choosePartner"`
		Time          string `json:"time"`
		Method        string `json:"method"`
		Title         string `json:"title" holds:"amount"`
		Payout        string `json:"payout" holds:"amount"`
		Empty         string `json:"empty"`
		Left          string `json:"left"`
		Refunds       string `json:"refunds"`
		Timeline      string `json:"timeline"`
		Entry         string `json:"entry"`
		Account       string `json:"account"`
		Debit         string `json:"debit"`
		Credit        string `json:"credit"`
		NoAnswer      string `json:"noAnswer"`
		Replay        string `json:"replay" on:"button"`
		Others        string `json:"others"`
		More          string `json:"more"`
		Routing       string `json:"routing"`
		Metadata      string `json:"metadata"`
		Original      string `json:"original"`
		Return        string `json:"return"`
	} `json:"payment"`
	Operation struct {
		Refund      string `json:"refund" on:"button"`
		RefundText  string `json:"refundText" holds:"left"`
		Capture     string `json:"capture" on:"button"`
		CaptureText string `json:"captureText" holds:"left"`
		Cancel      string `json:"cancel" on:"button"`
		CancelText  string `json:"cancelText"`
		TooMuch     string `json:"tooMuch" holds:"left"`
		NotPositive string `json:"notPositive"`
	} `json:"operation"`
	Balance struct {
		Statement string `json:"statement"`
		Of        string `json:"of" holds:"currency"`
		Event     string `json:"event"`
		After     string `json:"after"`
		Download  string `json:"download"`
		TooLong   string `json:"tooLong" holds:"n"`
		Empty     string `json:"empty"`
		NoLines   string `json:"noLines"`
	} `json:"balance"`
	Webhook struct {
		Address    string `json:"address"`
		Text       string `json:"text"`
		Secret     string `json:"secret"`
		SecretText string `json:"secretText"`
		IsSet      string `json:"isSet"`
		NotSet     string `json:"notSet"`
		NewSecret  string `json:"newSecret" on:"button"`
		Once       string `json:"once"`
		Terminals  string `json:"terminals"`
		Shared     string `json:"shared"`
		Test       string `json:"test" on:"button"`
	} `json:"webhook"`
	Picture struct {
		Title   string `json:"title"`
		Text    string `json:"text"`
		Upload  string `json:"upload" on:"button"`
		Missing string `json:"missing"`
	} `json:"picture"`
	Address struct {
		Title string `json:"title"`
		QR    string `json:"qr"`
		Open  string `json:"open"`
	} `json:"address"`
}
