package calls

import "testing"

// A card number is found in any member's name or value except in amounts, and not within longer numbers or identifiers.
func TestCardNumbersAreFoundInTexts(t *testing.T) {
	for line, want := range map[string]bool{
		`{"reason":"4242424242424242"}`:                                                             true,
		`{"reason":"card 5555555555554444 was declined"}`:                                           true,
		`{"reason":"card 5555555555554445 was declined"}`:                                           false, // the check digit is wrong
		`{"4242424242424242":"reason"}`:                                                             true,
		`{"reason":"x","request":{"number":"4242424242424242"}}`:                                    true,
		`{"reason":4242424242424242}`:                                                               true,
		`{"amount":"4242424242424242"}`:                                                             false,
		`{"captured":"4242424242424242","refunded":"4242424242424242","before":"4242424242424242"}`: false,
		`{"amount":"4242424242424242","reason":"4242424242424242"}`:                                 true,
		`{"reference":"33b8fd1f-2e0f-4363-826e-424242424242"}`:                                      false,
		`{"return_url":"https://shop.example/a4242424242424242"}`:                                   false,
		`{"return_url":"https://shop.example/?n=4242424242424242&x"}`:                               true,
		`{"reason":"42424242424242424242424242"}`:                                                   false, // this is longer than any card number
		`{"reason":"42424242424"}`:                                                                  false, // this is shorter than any card number
		`{"reason":"4242424242424242","reason":"x"}`:                                                true,  // two members have the same name; a line that can't be parsed is reported if it has a card number
	} {
		if got := showsCard([]byte(line)); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
