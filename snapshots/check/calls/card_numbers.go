package calls

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A card number (ISO/IEC 7812) has at least minCardDigits and at most maxCardDigits digits.
const (
	minCardDigits = 12
	maxCardDigits = 19
)

// amountMembers are the JSON members of a log line whose values are amounts. Digits in an amount are not a card number.
var amountMembers = map[string]bool{"amount": true, "captured": true, "refunded": true, "before": true}

// showsCard tells whether any text in a line of the simulator's log contains a card number. The simulator decides the
// outcome of a call by the card number, but must not store the number. Most lines contain no digits that may be a card
// number, so only the few other lines are parsed as JSON.
func showsCard(line []byte) bool {
	if !hasCard(line) {
		return false
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(line, &members) != nil {
		return true // the line is not valid JSON, for instance because it repeats a member
	}
	for name, value := range members {
		if hasCard([]byte(name)) || !amountMembers[name] && hasCard(value) {
			return true
		}
	}
	return false
}

// hasCard tells whether the text contains a card number: minCardDigits to maxCardDigits digits that pass the Luhn check
// and are not part of a word, an identifier or a token.
func hasCard(text []byte) bool {
	for at := 0; at < len(text); {
		if text[at] < '0' || text[at] > '9' {
			at++
			continue
		}
		end := at
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		if n := end - at; n >= minCardDigits && n <= maxCardDigits && !isWordCharacter(text, at-1) && !isWordCharacter(text, end) && passesLuhn(text[at:end]) {
			return true
		}
		at = end
	}
	return false
}

// isWordCharacter tells whether the character at the index is a letter or one of "-_.%". Digits beside such a character
// are part of a word, an identifier or a token. If the index is outside the text, isWordCharacter returns false.
func isWordCharacter(text []byte, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	return bytes.IndexByte([]byte("-_.%"), text[at]) >= 0 || text[at]|0x20 >= 'a' && text[at]|0x20 <= 'z'
}

// passesLuhn tells whether digits pass the check digit formula of ISO/IEC 7812-1, annex B.
func passesLuhn(digits []byte) bool {
	sum := 0
	for i, c := range digits {
		d := int(c - '0')
		if (len(digits)-i)%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}
