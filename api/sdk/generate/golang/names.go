package golang

import (
	"strings"
	"unicode"
)

// initialisms maps words to their spelling in Go names. It contains initialisms, which Go writes in capitals, and words that
// the protocol abbreviates or misspells.
var initialisms = map[string]string{
	"id": "ID", "txid": "TxID", "url": "URL", "qr": "QR", "ip": "IP", "rrn": "RRN", "bin": "BIN", "cvv": "CVV", "msg": "Message", "qty": "Quantity",
	"availble": "Available", "dest": "Destination", "cardnumber": "CardNumber", "http": "HTTP",
}

// goName returns the Go name of a member, parameter, operation or type: for example, return_url and returnUrl become
// ReturnURL.
func goName(name string) (result string) {
	for _, word := range words(name) {
		lower := strings.ToLower(word)
		if known, ok := initialisms[lower]; ok {
			result += known
		} else {
			result += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return result
}

// words splits a name at underscores, points, dashes and spaces, and before a capital that follows a small letter.
func words(name string) (list []string) {
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '.' || r == '-' || r == ' ' }) {
		from := 0
		for i := 1; i < len(part); i++ {
			if unicode.IsUpper(rune(part[i])) && unicode.IsLower(rune(part[i-1])) {
				list = append(list, part[from:i])
				from = i
			}
		}
		list = append(list, part[from:])
	}
	return list
}

// localName returns the Go name for a local variable, which begins with a small letter.
func localName(name string) string {
	result := goName(name)
	if known, ok := initialisms[strings.ToLower(name)]; ok {
		return strings.ToLower(known)
	}
	return strings.ToLower(result[:1]) + result[1:]
}

// commentWidth is the maximum length of a generated comment line.
const commentWidth = 118

// comment returns the text as comment lines that begin with indent. Each paragraph and each item of a list begins a new
// line.
func comment(indent, text string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 0 && paragraph == "" {
			b.WriteString(indent + "//\n")
			continue
		}
		first, rest := "// ", "// "
		if strings.HasPrefix(paragraph, "- ") {
			first, rest = "//   ", "//     "
		}
		line := indent + first
		for _, word := range strings.Fields(paragraph) {
			if len(line)+len(word) > commentWidth && strings.TrimSpace(line) != "//" {
				b.WriteString(strings.TrimRight(line, " ") + "\n")
				line = indent + rest
			}
			line += word + " "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// sentence returns the text with a capital first letter and a full stop at the end.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if !strings.HasPrefix(text, "`") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
