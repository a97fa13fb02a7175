package browser_test

import (
	"encoding/json"
	"fmt"
	"testing"
)

// longestNumbers has, for each card scheme, a card number of the greatest length that the scheme issues. The keys are the
// schemes' names as the page shows them.
var longestNumbers = map[string]string{
	"Visa": "4000000000000000006", "Mastercard": "5555555555554444", "American Express": "378282246310005", "Mir": "2200000000000000004",
	"Discover": "6011000000000000009", "JCB": "3530111333300000008", "Diners Club": "3600000000000000008", "UnionPay": "6200000000000000005",
	"Uzcard": "8600000000000000", "Humo": "9860000000000000", "Troy": "9792000000000000", "Maestro": "6759649826438453000",
}

// typeBrands is a JavaScript expression that types each card number into its field and returns a list of what is wrong on the
// page then. The DOM has no box for the text in a field, so the script computes the text's position from its width and its
// alignment. Sprintf inserts the numbers.
const typeBrands = `(() => {
	const field = document.querySelector("#cardnumber"), brand = document.querySelector(".brandname");
	const boxOf = node => { const range = document.createRange(); range.selectNodeContents(node); return range.getBoundingClientRect(); };
	const label = document.querySelector("label[for=cardnumber]"), style = getComputedStyle(field), copy = document.body.appendChild(document.createElement("span"));
	for (const name of ["fontFamily", "fontSize", "fontWeight", "fontVariantNumeric", "letterSpacing"]) copy.style[name] = style[name];
	copy.style.cssText += "position:absolute;top:0;left:0;white-space:pre;visibility:hidden";
	const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
	const empty = document.body.scrollHeight + " " + field.getBoundingClientRect().top, faults = [];
	for (const [name, digits] of Object.entries(%s)) {
		field.focus();
		field.select();
		document.execCommand("insertText", false, digits);
		const box = field.getBoundingClientRect(), width = (copy.textContent = field.value, boxOf(copy).width);
		const inner = {left: box.left + parseFloat(style.paddingLeft) + 1, right: box.right - parseFloat(style.paddingRight) - 1};
		const number = style.textAlign === "right" ? {left: inner.right - width, right: inner.right} : {left: inner.left, right: inner.left + width};
		const shown = boxOf(brand), column = field.closest(".field").getBoundingClientRect();
		if (brand.textContent !== name) faults.push(digits + " is named " + brand.textContent + ", want " + name);
		if (number.left < inner.left - 1 || number.right > inner.right + 1) faults.push(field.value + " does not fit into the field");
		if (meet(shown, {...number, top: box.top, bottom: box.bottom})) faults.push(name + " stands on the number");
		if (meet(shown, boxOf(label))) faults.push(name + " stands on the label");
		if (shown.left < column.left - 0.5 || shown.right > column.right + 0.5) faults.push(name + " is wider than the field");
		if (document.body.scrollHeight + " " + field.getBoundingClientRect().top !== empty) faults.push(name + " moves the page");
	}
	return JSON.stringify(faults);
})()`

// The page shows the name of the card's scheme beside the number. On small phones, and in both directions of writing, this name
// must neither cover the number nor move other parts of the page.
func TestBrandOfTheCardLeavesTheNumberFree(t *testing.T) {
	s := newSite(t)
	s.prepareMethods(t)
	numbers, err := json.Marshal(longestNumbers)
	if err != nil {
		t.Fatal(err)
	}
	for name, show := range map[string]func(tb *tab){"card only": showCheckout, "methods": showMethods} {
		for _, v := range []view{
			{320, "en", false, true}, {360, "en", false, true}, {375, "en", false, true}, {320, "ar", false, true}, {360, "ar", false, true}, {375, "ar", false, true},
			{320, "de", false, true}, {320, "es", false, true}, {320, "fr", false, true}, {320, "fa", false, true},
		} {
			t.Run(fmt.Sprintf("%s %s %d", name, v.lang, v.width), func(t *testing.T) {
				t.Parallel()
				tb := s.open(t, v)
				show(tb)
				var faults []string
				decode(tb, fmt.Sprintf(typeBrands, numbers), &faults)
				for _, fault := range faults {
					t.Error(fault)
				}
			})
		}
	}
}
