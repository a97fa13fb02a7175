import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";

import { ConnectionError, Mizan, fetchTransport, type Transport } from "@mizan/sdk";
import { nodeTransport, optionsFromEnvironment } from "@mizan/sdk/node";

const transports: [string, () => Transport][] = [["nodeTransport", nodeTransport], ["fetchTransport", fetchTransport]];

async function serve(t: TestContext, answer: (request: IncomingMessage, response: ServerResponse, body: string) => void): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => answer(request, response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const [name, transport] of transports) {
  test(`${name} sends a request and reads the response`, async (t) => {
    const seen: string[] = [];
    const url = await serve(t, (request, response, body) => {
      seen.push(`${request.method} ${request.url} ${request.headers["content-type"]} ${request.headers["x-api-key"]} ${body}`);
      response.writeHead(200, { "x-request-id": "r" }).end('{"status":"gefüllt","amount":"5"}');
    });
    const mizan = new Mizan({ url, apiKey: "k", organizationId: "o", transport: transport() });
    let requestId: string | undefined;
    const changed = await mizan.changeTransaction("1", { type: "refund", amount: 5n }, { onResponse: (r) => (requestId = r.requestId) });
    assert.equal(changed.status, "gefüllt");
    assert.equal(requestId, "r");
    await mizan.cancelSubscription("2").catch(() => undefined);
    assert.deepEqual(seen, [
      'PUT /api/v1/transactions/1 application/json k {"params":{"type":"refund","amount":"5"}}', "POST /api/v1/subscriptions/2/cancel undefined k ",
    ]);
  });

  test(`${name} reports a connection that ends within the response`, async (t) => {
    const url = await serve(t, (_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write('{"status":', () => response.socket?.destroy());
    });
    const mizan = new Mizan({ url, apiKey: "k", organizationId: "o", transport: transport(), retries: { attempts: 1 } });
    await assert.rejects(mizan.getTransaction("1"), ConnectionError);
  });

  test(`${name} ends a request whose response does not come`, async (t) => {
    const url = await serve(t, () => {});
    const mizan = new Mizan({ url, apiKey: "k", organizationId: "o", transport: transport(), timeout: 20, retries: { attempts: 1 } });
    await assert.rejects(mizan.getTransaction("1"), ConnectionError);
  });
}

test("the environment names the server and the credential", () => {
  const environment = { MIZAN_URL: "https://pay.example", MIZAN_API_KEY: "k", MIZAN_ORGANIZATION_ID: "o" };
  const { transport, ...options } = optionsFromEnvironment(environment);
  assert.deepEqual(options, { url: "https://pay.example", apiKey: "k", organizationId: "o" });
  assert.ok(transport);
  assert.throws(() => optionsFromEnvironment({ ...environment, MIZAN_API_KEY: "" }), /MIZAN_API_KEY is not set/);
  assert.throws(() => optionsFromEnvironment({ ...environment, MIZAN_CA_FILE: "/none" }), /ENOENT/);
});
