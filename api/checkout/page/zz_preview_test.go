package page

import (
	"os"
	"testing"
	"time"

	"mizan/ledger/money"
)

func TestPreview(t *testing.T) {
	eur := func(n string) Sum { return Sum{money.MustParse(n), money.Asset{Currency: "EUR", Env: money.Test}} }
	shop := Shop{Merchant: "Nordlicht Coffee", Brand: Brand{SupportEmail: "help@nordlicht.example", TermsURL: "https://nordlicht.example/terms"}}
	o := Order{Shop: shop, Sum: eur("2055"), Text: "Order 1042, two bags of beans", MayCancel: true}
	brands := []CardBrand{{4000, 4999, "visa"}, {5100, 5599, "mastercard"}}
	price, fee := eur("1999"), eur("56")
	card := Method{Type: "bank_card", Total: o.Sum, IsChosen: true}
	methods := []Method{card, {Type: "qr_code", Total: eur("1999")}, {Type: "crypto", Total: eur("2010")}, {Type: "direct_debit", Total: eur("1999"), Fields: []string{"account_number", "sort_code"}}}
	code, _ := NewCode("https://pay.example/l/0191d2c4-0000-7000-8000-000000000000?x=1")
	pages := map[string]Page{
		"card":     Card{Order: o, Self: "/pay/a", Methods: []Method{card}, Price: &price, Fee: &fee, Left: 14*time.Minute + 32*time.Second, Brands: brands},
		"methods":  Card{Order: o, Self: "/pay/a", Methods: methods, Left: 14 * time.Minute, Brands: brands},
		"wrong":    Card{Order: o, Self: "/pay/a", Methods: []Method{card}, Wrong: WrongFields{"cardnumber": true, "expiry": true, "cvv": true, "cardholder": true}, Typed: map[string][]byte{"expiry": []byte("13/29"), "cardholder": []byte("ANNA")}, Left: 14 * time.Minute},
		"declined": Card{Order: o, Self: "/pay/a", Methods: []Method{card}, Declined: "insufficient_funds", AttemptsLeft: 2, Left: 14 * time.Minute},
		"password": Password{Order: o, Post: "/a"}, "signature": Signature{Order: o, Self: "/a", Payload: "c2lnbiB0aGlzIHRleHQgd2l0aCB5b3VyIHdhbGxldA==", Sequence: "7", Left: time.Minute},
		"scan":    Scan{Order: o, Self: "/a", Code: code, Left: 4 * time.Minute, Link: "https://x.example"},
		"deposit": Scan{Order: o, Self: "/a", Code: code, Deposit: "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf", Left: 4 * time.Minute, Simulated: &SimulatedForm{Post: "/s"}},
		"choice":  Choice{Order: Order{Shop: shop, Sum: eur("5000"), Payout: true}, Post: "/a", Banks: []Bank{{"1", "Sparkasse"}, {"2", "Deutsche Bank"}}, Wrong: true},
		"forward": Forward{Order: o, Target: "https://acs.example/", Fields: nil}, "processing": Processing{Order: o, Self: "/a"},
		"paid": Outcome{Order: o, Result: Done, Back: "https://shop.example/", Receipt: "/pay/r"}, "failed": Outcome{Order: o, Result: NotDone, Reason: "card_declined"},
		"approved": Outcome{Order: o, Result: Approved}, "returned": Outcome{Order: o, Result: Returned, Receipt: "/r"},
		"receipt":   Receipt{Order: o, Number: "0191d2c4-0000-7000-8000-000000000000", Ended: time.Now(), Result: Done, Method: "bank_card", Card: "Visa •••• 4242", Price: &price, Fee: &fee},
		"toolate":   Stop{Shop: shop, Notice: TooLate, Back: "https://shop.example/"},
		"challenge": Challenge{Order: Order{Sum: o.Sum}, Open: true, Post: "/s"},
		"offer": Offer{Order: Order{Shop: shop, Sum: eur("1999")}, Title: "Two bags of beans", Description: "Roasted on Tuesday.\nShipped on Wednesday.", Post: "/pay/l/1",
			Items: []Item{{Header: "Yirgacheffe", Text: "Floral, 500 g", Quantity: "2", Price: &price}}},
		"open": Offer{Order: Order{Shop: shop, Sum: eur("1000")}, Title: "Donation", Post: "/pay/l/1", IsOpen: true, Problem: AmountTooLow, Min: money.MustParse("500"), Typed: "2"},
	}
	lang := os.Getenv("PREVIEW")
	if lang == "" {
		t.Skip()
	}
	for name, p := range pages {
		html, err := Render(lang, p)
		if err != nil {
			t.Fatal(name, err)
		}
		os.WriteFile("/dev/shm/preview/"+name+".html", html, 0o644)
	}
}
