import assert from "node:assert/strict";
import { test } from "node:test";

import { decimalsOf, formatAmount, maxAmount, parseAmount } from "@mizan/sdk";

test("an amount is parsed exactly", () => {
  const cases: [string, number, bigint][] = [
    ["10.00", 2, 1000n], ["10", 2, 1000n], ["10.5", 2, 1050n], ["0", 2, 0n], ["0.01", 2, 1n], ["007", 0, 7n], ["1", 0, 1n],
    ["0.29", 2, 29n], // 0.29 * 100 is 28.999999999999996 in floating point
    ["9007199254740993", 0, 9007199254740993n], ["1.000000000000000001", 18, 1000000000000000001n], [maxAmount.toString(), 0, maxAmount],
  ];
  for (const [text, decimals, want] of cases) assert.equal(parseAmount(text, decimals), want, text);
});

test("a text that would have to be rounded or guessed is refused", () => {
  for (const text of ["10.001", "10.000", "", ".5", "5.", "-1", "+1", "1e3", "1,000", "1 000", " 1", "1\n", "0x10", "١", (maxAmount + 1n).toString(), "9".repeat(1000)]) {
    assert.throws(() => parseAmount(text, 2), RangeError, text);
  }
  assert.throws(() => parseAmount(10 as unknown as string, 2), RangeError);
  for (const decimals of [-1, 1.5, 78, NaN]) assert.throws(() => parseAmount("1", decimals), RangeError);
});

test("an amount is formatted exactly", () => {
  const cases: [bigint, number, string][] = [
    [1000n, 2, "10.00"], [1n, 2, "0.01"], [0n, 2, "0.00"], [-5n, 2, "-0.05"], [-1234n, 2, "-12.34"], [7n, 0, "7"], [1n, 18, "0.000000000000000001"],
  ];
  for (const [amount, decimals, want] of cases) assert.equal(formatAmount(amount, decimals), want);
  assert.throws(() => formatAmount(10 as unknown as bigint, 2), TypeError);
});

test("the decimals of a currency are known", () => {
  for (const [currency, network, want] of [["USD", undefined, 2], ["ETH", undefined, 18], ["ETH", "ethereum", 18], ["USDT", "tron", 6], ["USDT", "bsc", 18]] as const) {
    assert.equal(decimalsOf(currency, network), want, currency);
  }
  for (const [currency, network] of [["USDT", undefined], ["USDT", "other"], ["USD", "tron"], ["XXX", undefined], ["usd", undefined], ["constructor", undefined]] as const) {
    assert.throws(() => decimalsOf(currency, network), RangeError, currency);
  }
});
