// intl returns what the Intl objects of a browser write, for the table testdata/intl.json.
function intl(request) {
  const answer = {};
  for (const lang of request.languages) {
    const month = m => new Intl.DateTimeFormat(lang, {day: "numeric", month: "long", timeZone: "UTC", calendar: "gregory"})
      .formatToParts(new Date(Date.UTC(2026, m, 5))).find(part => part.type === "month").value;
    const shortDate = new Intl.DateTimeFormat(lang, {day: "numeric", month: "short", year: "numeric", timeZone: "UTC", calendar: "gregory"});
    const locale = new Intl.Locale(lang);
    const amounts = {};
    for (const currency in request.decimals) {
      const digits = request.decimals[currency];
      const format = new Intl.NumberFormat(lang, {style: "currency", currency, minimumFractionDigits: digits, maximumFractionDigits: digits});
      amounts[currency] = request.amounts.map(minor => {
        const padded = minor.padStart(digits + 1, "0"), point = padded.length - digits;
        return format.format(padded.slice(0, point) + "." + padded.slice(point) + "0"); // a string stays exact
      });
    }
    answer[lang] = {
      direction: (locale.getTextInfo ? locale.getTextInfo() : locale.textInfo).direction,
      months: Array.from({length: 12}, (_, m) => month(m)),
      short_dates: Array.from({length: 12}, (_, m) => shortDate.format(new Date(Date.UTC(2026, m, 5)))),
      categories: new Intl.PluralRules(lang).resolvedOptions().pluralCategories,
      plurals: request.numbers.map(n => new Intl.PluralRules(lang).select(n)),
      numbers: request.numbers.map(n => new Intl.NumberFormat(lang).format(n)),
      amounts,
    };
  }
  return answer;
}
