import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import { verifyWebhook, WebhookError, type WebhookHeaders } from "@mizan/sdk/webhooks";

// The delivery that docs/webhooks.md shows.
const documented = {
  secret: "whsec-example",
  body: '{"event_id":"01a066c4-364b-41c8-b2d4-5e6f708192a3","timestamp":1788430530,"type":"transaction.charged","data":{"type":"payment","txid":"order-1042","id":"f0b6ac47-fb98-4496-b1aa-601a0f5d967b","amount":"1000","amount_dest":"1000","amount_with_fee":"1000","status":"charged","error_description":"","error_code":null,"merchant_meta":{"basket":"A-17","buyer":"Zoë"}}}',
  headers: {
    "x-webhook-timestamp": "1788430530",
    "x-webhook-signature": "ca89e8c27a817554453b9d2843d5afcb4f869a1a86d65a082f1a51c557d5f547",
  },
};
const stamp = 1788430530;
const now = stamp * 1000;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function signed(body: string, secret: string, at = String(stamp)): { [name: string]: string } {
  return { "x-webhook-timestamp": at, "x-webhook-signature": createHmac("sha256", secret).update(`${at}.${body}`).digest("hex") };
}

async function statusOf(body: string, headers: WebhookHeaders, secrets: string | string[] = documented.secret, at = now): Promise<number> {
  try {
    await verifyWebhook(bytes(body), headers, secrets, at);
    return 200;
  } catch (error) {
    assert.ok(error instanceof WebhookError, String(error));
    return error.status;
  }
}

test("the documented delivery is accepted, and its amounts are bigints", async () => {
  const { signed, event } = await verifyWebhook(bytes(documented.body), documented.headers, documented.secret, now);
  assert.ok(signed && event.type === "transaction.charged");
  assert.equal(event.data.amount, 1000n);
  assert.deepEqual(event.data.merchant_meta, { basket: "A-17", buyer: "Zoë" });
});

test("headers of fetch are accepted, and a body in an ArrayBuffer", async () => {
  const body = bytes(documented.body);
  const buffer = body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength) as ArrayBuffer;
  assert.ok((await verifyWebhook(buffer, new Headers(documented.headers), documented.secret, now)).signed);
});

test("the timestamp may be five minutes off, and no more", async () => {
  for (const [seconds, want] of [[0, 200], [300, 200], [-300, 200], [301, 401], [-301, 401]] as const) {
    assert.equal(await statusOf(documented.body, documented.headers, documented.secret, now + seconds * 1000), want, String(seconds));
  }
});

test("a changed byte, another secret, and a signature of another form are refused", async () => {
  const { body, headers } = documented;
  assert.equal(await statusOf(body.replace("1000", "9000"), headers), 401);
  assert.equal(await statusOf(`${body} `, headers), 401);
  assert.equal(await statusOf(body, headers, "whsec-other"), 401);
  const signature = headers["x-webhook-signature"];
  for (const other of [signature.toUpperCase(), ` ${signature}`, signature.slice(1), `${signature}00`, "", "é".repeat(64), `${signature}, ${signature}`]) {
    assert.equal(await statusOf(body, { ...headers, "x-webhook-signature": other }), 401, other);
  }
  assert.equal(await statusOf(body, { "x-webhook-timestamp": headers["x-webhook-timestamp"] }), 401);
  assert.equal(await statusOf(body, {}), 401);
});

test("the timestamp consists of digits only, and is that of the envelope", async () => {
  const { secret } = documented;
  for (const at of [` ${stamp}`, `+${stamp}`, `${stamp}.0`, "1788430530e0", "", "1".repeat(13), "١٧٨٨٤٣٠٥٣٠"]) {
    assert.equal(await statusOf(documented.body, signed(documented.body, secret, at)), 401, at);
  }
  assert.equal(await statusOf(documented.body, signed(documented.body, secret, String(stamp + 1))), 400);
});

test("while the secret is changed, each secret fits one of the headers", async () => {
  const { body } = documented;
  const headers = { ...signed(body, "new"), "x-webhook-signature-previous": signed(body, "old")["x-webhook-signature"]! };
  assert.equal(await statusOf(body, headers, "old"), 200);
  assert.equal(await statusOf(body, headers, "new"), 200);
  assert.equal(await statusOf(body, headers, ["other", "old"]), 200);
  assert.equal(await statusOf(body, signed(body, "new"), ["new", "old"]), 200);
  assert.equal(await statusOf(body, headers, "other"), 401);
});

test("an empty secret is a mistake of the receiver", async () => {
  for (const secrets of ["", [], ["a", ""]]) {
    await assert.rejects(verifyWebhook(bytes(documented.body), documented.headers, secrets, now), TypeError);
  }
});

test("a body that was decoded is a mistake of the receiver", async () => {
  await assert.rejects(verifyWebhook(documented.body as unknown as Uint8Array, documented.headers, documented.secret, now), TypeError);
});

test("what is no envelope is refused", async () => {
  for (const body of ["", "[]", "null", "5", "{", "{}", '"event_id"']) assert.equal(await statusOf(body, {}), 400, body);
  for (const envelope of [`{"event_id":"","timestamp":${stamp}}`, `{"event_id":5,"timestamp":${stamp}}`, '{"event_id":"a"}', `{"event_id":"a","timestamp":"${stamp}"}`]) {
    assert.equal(await statusOf(envelope, signed(envelope, documented.secret)), 400, envelope);
  }
  assert.equal(await statusOf(`{"a":"${"x".repeat(1 << 20)}"}`, {}), 413);
});

test("an event of the subscription stream is an unsigned hint with an exact amount", async () => {
  const body = '{"event":"subscription.renewed","timestamp":"2026-09-03T10:15:30.123456+00:00","subscription":{"id":"7a0f9a3e-52c7-4c0e-9f38-0d1c7e0c6a55","amount":123456789012345678901234567890}}';
  const { signed, event } = await verifyWebhook(bytes(body), {}, documented.secret, now);
  assert.ok(!signed && event.event === "subscription.renewed");
  assert.equal(event.subscription.amount, 123456789012345678901234567890n);
});

test("a hint that names no subscription is refused", async () => {
  for (const body of ['{"event":"subscription.renewed"}', '{"event":5,"subscription":{"id":"a"}}', '{"event":null,"subscription":null}', '{"event":"a","subscription":{"id":7}}',
    '{"event":"a","subscription":{"id":""}}']) {
    assert.equal(await statusOf(body, {}), 400, body);
  }
});

test("a type that is not known yet is accepted", async () => {
  const body = `{"event_id":"a","timestamp":${stamp},"type":"transaction.invented","data":{"amount":"7","new":1}}`;
  const { event } = await verifyWebhook(bytes(body), signed(body, documented.secret), documented.secret, now);
  assert.deepEqual(event, { event_id: "a", timestamp: stamp, type: "transaction.invented", data: { amount: 7n, new: 1 } });
});
