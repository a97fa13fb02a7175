import assert from "node:assert/strict";
import { test } from "node:test";

import { decode, encode, type Shape } from "../dist/json.js";

const shape = { amount: "text", link: { default: "number" }, refunds: [{ amount: "text" }] } as const satisfies Shape;
const huge = 2n ** 200n + 1n;

test("amounts are written as texts or as integers, as their shape says", () => {
  assert.equal(
    encode({ amount: huge, link: { default: huge }, refunds: [{ amount: 1n }, { amount: undefined }], note: 'a "b"', none: null, gone: undefined }, shape),
    `{"amount":"${huge}","link":{"default":${huge}},"refunds":[{"amount":"1"},{}],"note":"a \\"b\\"","none":null}`,
  );
});

test("an amount that is a number is refused", () => {
  assert.throws(() => encode({ amount: 1000 }, shape), /amount is a number/);
  assert.throws(() => encode({ refunds: [{ amount: 0.1 }] }, shape), /refunds\[0\]\.amount is a number/);
});

test("a bigint that is no amount is refused", () => {
  assert.throws(() => encode({ merchant_meta: { n: 1n } }, shape), /merchant_meta\.n is a bigint/);
});

test("other values are written as JSON.stringify writes them", () => {
  for (const value of [{ a: [1, "x", null, undefined, true, { b: -0.5 }], d: new Date(0) }, [], {}, "é\u2028", 5, null, { ["__proto__"]: 1 }]) {
    assert.equal(encode(value), JSON.stringify(value));
  }
});

test("amounts are read exactly", () => {
  const text = `{"amount":"${huge}","link":{"default":${huge}},"refunds":[{"amount":"1"}],"note":"12345678901234567890","n":5,"f":1.12345678901234567890,"e":12345678901234567e2}`;
  assert.deepEqual(decode(text, shape), {
    amount: huge, link: { default: huge }, refunds: [{ amount: 1n }], note: "12345678901234567890", n: 5, f: 1.1234567890123457, e: 12345678901234567e2,
  });
});

test("what is no amount stays as it is", () => {
  const text = '{"amount":null,"refunds":null,"link":"x","meta":{"amount":"5","long":12345678901234567890}}';
  assert.deepEqual(decode(text, shape), JSON.parse(text));
  assert.deepEqual(decode('{"amount":"many"}', shape), { amount: "many" });
});

test("a text before a long number does not hide it", () => {
  assert.deepEqual(decode('{"a\\\\":"\\"","link":{"default":99999999999999999999}}', shape), { "a\\": '"', link: { default: 99999999999999999999n } });
});
