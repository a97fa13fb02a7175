import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError, ConnectionError, fetchTransport, Mizan, MizanError, type MizanOptions, type ResponseInfo, type TransportRequest } from "@mizan/sdk";
import { Operator } from "@mizan/sdk/operator";
import { Session } from "@mizan/sdk/session";

const id = "f0b6ac47-fb98-4496-b1aa-601a0f5d967b";

type Answer = { status: number; body?: unknown; headers?: { [name: string]: string } } | Error;

/** A server that gives its answers one after the other, and a client that waits for nothing. */
function server(answers: Answer[], options: Partial<MizanOptions> = {}) {
  const requests: TransportRequest[] = [];
  const waits: number[] = [];
  const mizan = new Mizan({
    url: "https://pay.example/", apiKey: "mzk_1", organizationId: "org",
    transport: async (request) => {
      requests.push(request);
      const answer = answers[requests.length - 1];
      if (answer === undefined) throw new TypeError("the test has no further answer");
      if (answer instanceof Error) throw answer;
      const headers: { [name: string]: string } = { "x-request-id": `r${requests.length}`, ...answer.headers };
      return { status: answer.status, header: (name) => headers[name], text: typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? {}) };
    },
    ...options,
    retries: { wait: async (ms) => void waits.push(ms), random: () => 0, ...options.retries },
  });
  return { mizan, requests, waits, keys: () => requests.map((r) => r.headers["idempotency-key"]) };
}

const unavailable = { status: 503, body: { error: "unavailable", message: "a queue is full" }, headers: { "retry-after": "2" } };
const transaction = { status: 200, body: { id, status: "charged", amount: "1000", refunds: [{ amount: "400" }] } };

test("a create sends the credential, a random key and the amount as a text", async () => {
  const { mizan, requests } = server([{ ...transaction, status: 201 }]);
  const created = await mizan.createTransaction({ type: "payment", txid: "order-1", amount: 1000n, currency: "USD", env: "test" });
  assert.equal(created.amount, 1000n);
  assert.equal(created.refunds?.[0]?.amount, 400n);
  const [request] = requests;
  assert.equal(request?.method, "POST");
  assert.equal(request?.url, "https://pay.example/api/v1/transactions");
  assert.equal(request?.headers["x-api-key"], "mzk_1");
  assert.equal(request?.headers["x-organization-id"], "org");
  assert.match(request?.headers["idempotency-key"] ?? "", /^[0-9a-f]{32}$/);
  assert.equal(new TextDecoder().decode(request?.body), '{"params":{"type":"payment","txid":"order-1","amount":"1000","currency":"USD","env":"test"}}');
});

test("a write is repeated with the same key and body after what may be repeated", async () => {
  const answers = [unavailable, { status: 429, headers: { "retry-after": "1" } }, new Error("connection reset"), transaction];
  const { mizan, requests, waits, keys } = server(answers);
  await mizan.changeTransaction(id, { type: "refund", amount: 400n });
  assert.equal(requests.length, 4);
  assert.equal(new Set(keys()).size, 1);
  assert.equal(new Set(requests.map((r) => new TextDecoder().decode(r.body))).size, 1);
  assert.deepEqual(waits, [2250, 1500, 1000]); // retry-after, and the half of 500, 1000 and 2000 that is not random
});

test("408, 500, 502 and 504 are repeated too", async () => {
  for (const status of [408, 500, 502, 504]) {
    const { mizan, requests } = server([{ status }, transaction]);
    await mizan.getTransaction(id);
    assert.equal(requests.length, 2, String(status));
  }
});

test("two calls have two keys, and a key of one's own is sent", async () => {
  const { mizan, keys } = server([transaction, transaction, transaction]);
  await mizan.commitTransaction(id);
  await mizan.commitTransaction(id);
  await mizan.commitTransaction(id, { amount: 1n }, { idempotencyKey: "capture of order-1" });
  assert.notEqual(keys()[0], keys()[1]);
  assert.equal(keys()[2], "capture of order-1");
  for (const idempotencyKey of ["", "x".repeat(256), "é", "a\nb"]) {
    await assert.rejects(mizan.commitTransaction(id, {}, { idempotencyKey }), TypeError);
  }
});

test("a read has no key", async () => {
  const { mizan, keys } = server([transaction]);
  await mizan.getTransaction(id);
  assert.deepEqual(keys(), [undefined]);
});

test("what is refused is not repeated", async () => {
  for (const status of [400, 401, 403, 404, 409, 413, 415, 422, 431, 501, 505, 302]) {
    const { mizan, requests } = server([{ status, body: { error: "conflict", message: "m" } }]);
    await assert.rejects(mizan.commitTransaction(id), (error) => error instanceof ApiError && error.status === status);
    assert.equal(requests.length, 1, String(status));
  }
});

test("a write without an Idempotency-Key is sent once", async () => {
  for (const answer of [unavailable, new Error("connection reset")]) {
    let sent = 0;
    const operator = new Operator({
      url: "https://pay.example", adminToken: "mza_1",
      transport: async () => {
        sent++;
        if (answer instanceof Error) throw answer;
        return { status: answer.status, header: () => undefined, text: "" };
      },
    });
    await assert.rejects(operator.testDelivery(id), answer instanceof Error ? ConnectionError : ApiError);
    assert.equal(sent, 1);
  }
});

test("the attempts are bounded, and the last failure is thrown", async () => {
  const { mizan, waits } = server([unavailable, unavailable, unavailable, { ...unavailable, body: { error: "unavailable", message: "the last" } }]);
  await assert.rejects(mizan.commitTransaction(id), /the last/);
  assert.equal(waits.length, 3);
  const once = server([unavailable], { retries: { attempts: 1 } });
  await assert.rejects(once.mizan.getTransaction(id), ApiError);
});

test("a retry-after that is too long is not waited for", async () => {
  const { mizan, requests } = server([{ ...unavailable, headers: { "retry-after": "121" } }]);
  await assert.rejects(mizan.getTransaction(id), (error) => error instanceof ApiError && error.retryAfter === 121);
  assert.equal(requests.length, 1);
});

test("the delay doubles up to its bound, and half of it is random", async () => {
  const failing = Array.from({ length: 8 }, () => new Error("reset"));
  const least = server(failing, { retries: { attempts: 8 } });
  await assert.rejects(least.mizan.getTransaction(id), ConnectionError);
  assert.deepEqual(least.waits, [250, 500, 1000, 2000, 4000, 4000, 4000]);
  const most = server(failing, { retries: { attempts: 8, random: () => 1 } });
  await assert.rejects(most.mizan.getTransaction(id), ConnectionError);
  assert.deepEqual(most.waits, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
});

test("a failed connection names its cause and the key with which to repeat", async () => {
  const { mizan } = server([new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") })], { retries: { attempts: 1 } });
  await assert.rejects(mizan.commitTransaction(id, undefined, { idempotencyKey: "k" }), (error) => {
    assert.ok(error instanceof ConnectionError && error instanceof MizanError);
    assert.match(error.message, /https:\/\/pay\.example: fetch failed: ECONNREFUSED/);
    assert.equal(error.idempotencyKey, "k");
    return true;
  });
});

test("a certificate that is not trusted is not tried again", async () => {
  for (const code of ["SELF_SIGNED_CERT_IN_CHAIN", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"]) {
    const cause = Object.assign(new Error("certificate"), { code });
    for (const error of [cause, new TypeError("fetch failed", { cause })]) {
      const { mizan, requests } = server([error]);
      await assert.rejects(mizan.getTransaction(id), ConnectionError);
      assert.equal(requests.length, 1, code);
    }
  }
});

test("a write whose outcome is not known names its key", async () => {
  const { mizan, keys } = server([{ status: 500 }], { retries: { attempts: 1 } });
  await assert.rejects(mizan.commitTransaction(id), (error) => error instanceof ApiError && error.idempotencyKey === keys()[0]);
});

test("each form of a refusal has its code, message and fields", async () => {
  const cases: [number, unknown, string, RegExp, unknown[]][] = [
    [409, { error: "conflict", message: "another operation is under way" }, "conflict", /another operation/, []],
    [422, { errors: [{ code: "invalid", detail: "is wrong", field: "amount" }, { code: "invalid", detail: "no" }] }, "invalid", /amount: is wrong; no/,
      [{ field: "amount", detail: "is wrong" }, { field: "", detail: "no" }]],
    [422, { error: "unprocessable_entity", details: { term: ["is too long", "is odd"] } }, "unprocessable_entity", /term: is too long; term: is odd/,
      [{ field: "term", detail: "is too long" }, { field: "term", detail: "is odd" }]],
    [401, { error: "unauthorized" }, "unauthorized", /401 unauthorized \(request r1\)/, []],
    [502, "<html>", "", /502 without an explanation/, []],
    [400, null, "", /400/, []],
  ];
  for (const [status, body, code, message, fields] of cases) {
    const { mizan } = server([{ status, body: body === null ? "null" : body }], { retries: { attempts: 1 } });
    await assert.rejects(mizan.commitTransaction(id), (error) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.status, error.code, error.fields, error.requestId], [status, code, fields, "r1"]);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("a response that is no JSON is a fault of the address, and not repeated", async () => {
  const { mizan, requests, keys } = server([{ status: 200, body: "<html>" }]);
  await assert.rejects(mizan.commitTransaction(id), (error) => error instanceof ConnectionError && error.idempotencyKey === keys()[0] && /is no JSON/.test(error.message));
  assert.equal(requests.length, 1);
});

test("an aborted call throws the reason of its signal, before it, within an attempt and between attempts", async () => {
  const reason = new Error("the visitor has left");
  const { mizan, requests } = server([]);
  await assert.rejects(mizan.getTransaction(id, { signal: AbortSignal.abort(reason) }), reason);
  assert.equal(requests.length, 0);

  const during = new AbortController();
  const hanging = new Mizan({
    url: "https://pay.example", apiKey: "k", organizationId: "o",
    transport: ({ signal }) => new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      during.abort(reason);
    }),
  });
  await assert.rejects(hanging.getTransaction(id, { signal: during.signal }), reason);

  const between = new AbortController();
  const waiting = new Mizan({
    url: "https://pay.example", apiKey: "k", organizationId: "o", retries: { delay: 3_600_000 },
    transport: async () => {
      queueMicrotask(() => setImmediate(() => between.abort(reason)));
      throw new Error("reset");
    },
  });
  await assert.rejects(waiting.getTransaction(id, { signal: between.signal }), reason);
});

test("an attempt that takes too long counts as one without a response", async () => {
  const mizan = new Mizan({
    url: "https://pay.example", apiKey: "k", organizationId: "o", timeout: 1, retries: { attempts: 2, wait: async () => {} },
    transport: ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  await assert.rejects(mizan.getTransaction(id), (error) => error instanceof ConnectionError && /within 1 ms/.test(error.message));
});

test("a list is iterated over page by page, and await gives its first page", async () => {
  const page = (ids: string[], cursor: string | null) => ({ status: 200, body: { data: ids.map((i) => ({ id: i, amount: "5" })), cursor: { cursor_field: "started", cursor_value: cursor } } });
  const pages = [page(["a", "b"], "c1"), page([], "c2"), page(["c"], null)];
  const { mizan, requests } = server(pages);
  const seen: string[] = [];
  for await (const t of mizan.listTransactions({ env: "test", amount_from: 5n, status: undefined })) {
    seen.push(t.id);
    assert.equal(t.amount, 5n);
  }
  assert.deepEqual(seen, ["a", "b", "c"]);
  const path = "https://pay.example/api/v1/transactions?env=test&amount_from=5";
  assert.deepEqual(requests.map((r) => r.url), [path, `${path}&cursor=c1`, `${path}&cursor=c2`]);

  const first = server(pages);
  assert.equal((await first.mizan.listTransactions()).data.length, 2);
  assert.equal(first.requests.length, 1);

  const stopped = server(pages);
  for await (const t of stopped.mizan.listTransactions()) {
    if (t.id === "b") break;
  }
  assert.equal(stopped.requests.length, 1);

  const endless = server([page(["a"], "c1"), page(["b"], "c1"), page(["c"], null)]); // it would never end
  const rows: string[] = [];
  await assert.rejects(async () => {
    for await (const t of endless.mizan.listTransactions()) rows.push(t.id);
  }, MizanError);
  assert.deepEqual(rows, ["a", "b"]);

  const unused = server([]);
  unused.mizan.listTransactions();
  assert.equal(unused.requests.length, 0);
});

test("an id is one segment of the path, and never another path", async () => {
  const { mizan, requests } = server([transaction, transaction]);
  await mizan.getTransaction("a/b?c#d e");
  assert.equal(requests[0]?.url, "https://pay.example/api/v1/transactions/a%2Fb%3Fc%23d%20e");
  for (const wrong of ["", ".", "..", undefined as unknown as string]) await assert.rejects(mizan.getTransaction(wrong), TypeError);
});

test("what is known of a response is told before the call returns", async () => {
  const { mizan } = server([unavailable, { ...transaction, status: 201, headers: { "x-idempotent-replay": "true", "x-idempotent-mismatch": "amount" } }]);
  let info: ResponseInfo | undefined;
  await mizan.createTransaction({ type: "payment", amount: 1n }, { onResponse: (response) => (info = response) });
  assert.deepEqual(info, { status: 201, requestId: "r2", replayed: true, mismatch: "amount", attempts: 2 });
});

test("a response without a body is undefined, and the usual envelope is removed", async () => {
  const { mizan } = server([{ status: 204, body: "" }, { status: 200, body: { data: [{ available: "-5" }] } }]);
  assert.equal(await mizan.deleteLink(id), undefined);
  assert.equal((await mizan.listBalances())[0]?.available, -5n);
});

test("a table is returned as it is", async () => {
  const session = new Session({
    url: "https://pay.example", token: "mzs_1", organizationId: "o",
    transport: async ({ headers }) => ({ status: 200, header: () => undefined, text: `due,amount\r\n${headers["authorization"]},5\r\n` }),
  });
  assert.equal(await session.getMurabahaSchedule(id), "due,amount\r\nBearer mzs_1,5\r\n");
});

test("a call that was aborted while its response arrived does not wait for another attempt", async () => {
  const controller = new AbortController();
  const mizan = new Mizan({
    url: "https://pay.example", apiKey: "k", organizationId: "o", retries: { delay: 3_600_000 },
    transport: async () => {
      controller.abort(new Error("the visitor has left"));
      return { status: 503, header: () => undefined, text: "" };
    },
  });
  await assert.rejects(mizan.getTransaction(id, { signal: controller.signal }), /the visitor has left/);
});

test("an image is sent as a form whose boundary is not in the image", async () => {
  const { mizan, requests } = server([{ status: 201, body: { data: { url: "u", width: 1, height: 1 } } }]);
  const image = new TextEncoder().encode("\x89PNG mizan-boundary-0 mizan-boundary-1\r\n");
  await mizan.uploadImage({ image });
  const type = requests[0]?.headers["content-type"] ?? "";
  assert.equal(type, "multipart/form-data; boundary=mizan-boundary-2");
  const form = await new Response(requests[0]?.body as Uint8Array<ArrayBuffer>, { headers: { "content-type": type } }).formData();
  const file = form.get("image") as unknown as Blob;
  assert.deepEqual(new Uint8Array(await file.arrayBuffer()), image);
});

test("options that cannot be right are refused at once", () => {
  const good = { url: "https://pay.example", apiKey: "k", organizationId: "o" };
  for (const wrong of [{ url: "pay.example" }, { url: "ftp://pay.example" }, { url: "https://u:p@pay.example" }, { url: "https://pay.example/?a" }, { apiKey: "" },
    { apiKey: "a\nb" }, { organizationId: undefined as unknown as string }]) {
    assert.throws(() => new Mizan({ ...good, ...wrong }), TypeError, JSON.stringify(wrong));
  }
});

test("fetch never follows a redirect, which would send the key to another host", async () => {
  let redirect: string | undefined;
  const transport = fetchTransport(async (_, init) => {
    redirect = init?.redirect;
    return new Response("{}", { status: 302, headers: { location: "https://elsewhere.example" } });
  });
  const mizan = new Mizan({ url: "https://pay.example", apiKey: "k", organizationId: "o", transport });
  await assert.rejects(mizan.getTransaction(id), (error) => error instanceof ApiError && error.status === 302);
  assert.equal(redirect, "manual");
});
