import { currencyDecimals } from "./generated/currencies.js";

/** The largest amount that the API knows: 2^256 - 1 minor units. */
export const maxAmount = (1n << 256n) - 1n;

/**
 * Returns the minor units of an amount in major units: `parseAmount("10.00", 2)` is `1000n`. The result is exact: a text with
 * more decimals than the currency has, with a sign, a thousands separator or an exponent is refused by a RangeError. `decimalsOf` knows the
 * decimals of a currency.
 */
export function parseAmount(text: string, decimals: number): bigint {
  checkDecimals(decimals);
  const parts = typeof text === "string" ? /^([0-9]+)(?:\.([0-9]+))?$/.exec(text) : null;
  if (parts === null) throw new RangeError(`${JSON.stringify(text)} is no amount such as "10.00"`);
  const fraction = parts[2] ?? "";
  if (fraction.length > decimals) throw new RangeError(`${text} has more than ${decimals} decimals`);
  const digits = (parts[1] + fraction.padEnd(decimals, "0")).replace(/^0+(?=[0-9])/, "");
  if (digits.length > 78 || BigInt(digits) > maxAmount) throw new RangeError(`${text} is more than an amount can be`);
  return BigInt(digits);
}

/** Returns an amount in major units: `formatAmount(1000n, 2)` is `"10.00"`. It is the same in every language. */
export function formatAmount(amount: bigint, decimals: number): string {
  checkDecimals(decimals);
  if (typeof amount !== "bigint") throw new TypeError("an amount is a bigint");
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const sign = amount < 0n ? "-" : "";
  return decimals === 0 ? sign + whole : `${sign}${whole}.${digits.slice(-decimals)}`;
}

function checkDecimals(decimals: number): void {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 77) throw new RangeError(`${decimals} is no number of decimals`);
}

/**
 * Returns the decimals of a currency: `decimalsOf("USD")` is 2. Name the network of a currency that has different decimals on its networks.
 * A currency that the API does not accept throws a RangeError.
 */
export function decimalsOf(currency: string, network = ""): number {
  const networks = (Object.hasOwn(currencyDecimals, currency) && currencyDecimals[currency]) || {};
  const found = new Set(Object.entries(networks).flatMap(([name, decimals]) => (network === "" || name === network ? [decimals] : [])));
  const [decimals] = found;
  if (decimals === undefined) throw new RangeError(`${currency}${network && ` on ${network}`} is no currency of the API`);
  if (found.size > 1) throw new RangeError(`${currency} has different decimals on its networks ${Object.keys(networks).join(", ")}`);
  return decimals;
}
