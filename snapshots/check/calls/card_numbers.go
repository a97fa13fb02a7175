package calls

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The least and greatest length of a card number (ISO/IEC 7812) that showsCard looks for.
const (
	minCardDigits = 12
	maxCardDigits = 19
)

// amountMembers are the JSON members of a log line that are amounts, not texts.
var amountMembers = map[string]bool{"amount": true, "captured": true, "refunded": true, "before": true}

// showsCard tells whether any text in a line of the simulator's log has a card number. The
// simulator chooses its outcome by the card number and must not store it. Most lines have no digits that may
// be a card number; only the other lines are parsed.
func showsCard(line []byte) bool {
	if !hasCard(line) {
		return false
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(line, &members) != nil {
		return true // the line is not valid JSON; for instance, it repeats a member
	}
	for name, value := range members {
		if hasCard([]byte(name)) || !amountMembers[name] && hasCard(value) {
			return true
		}
	}
	return false
}

// hasCard tells whether the text has digits that pass the Luhn check and are not part of a word, an
// identifier or a token.
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

// isWordCharacter tells whether there is a character at the index that makes the digits beside it a part of a
// word, an identifier or a token.
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
