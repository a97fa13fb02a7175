// This module proves in the auditor's browser that an event is in a journal, and that one journal extends another. It trusts
// only the key that the auditor gives it. docs/audit.md has the formats; package cmd/mizan/audit/evidence makes the same
// checks in Go. It has no dependencies, shows nothing and asks the server nothing: the page does both (page.js).

// codes name everything that can fail. The page has a sentence for each.
export const codes = [
  "browser", // this browser cannot check signatures with Ed25519
  "key_form", "key_hash", "key_algorithm",
  "head_form", "head_key", "head_signature", "head_size", "head_root", "head_organization",
  "older_form", "older_key", "older_signature", "older_organization",
  "leaf_form", "leaf_seq", "leaf_beyond_head",
  "proof_form", "proof_size", "proof_root", "proof_path",
  "entry_unbalanced",
  "extension_form", "extension_sizes", "extension_roots", "extension_path", "journal_shrank", "two_journals",
];

// Refusal is thrown when something is not proven. Its code says which check failed; its values fill the code's sentence.
export class Refusal extends Error {
  constructor(code, values = {}) {
    super(code);
    if (!codes.includes(code)) throw new TypeError(code);
    this.code = code;
    this.values = values;
  }
}

const require = (condition, code, values) => {
  if (!condition) throw new Refusal(code, values);
};

const utf8 = new TextEncoder();
// A text must be valid UTF-8, and a byte order mark at its beginning belongs to it.
const strictUTF8 = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const hashLength = 32;
const maxTreeSize = 1n << 62n;

export const toBase64 = bytes => btoa(Array.from(bytes, b => String.fromCharCode(b)).join(""));

// bytesOf decodes base64 in its one canonical form.
const bytesOf = (text, code) => {
  try {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    require(toBase64(bytes) === text, code);
    return bytes;
  } catch {
    throw new Refusal(code);
  }
};

const textOf = (bytes, code) => {
  try {
    return strictUTF8().decode(bytes);
  } catch {
    throw new Refusal(code);
  }
};

const hex = bytes => Array.from(bytes, b => b.toString(16).padStart(2, "0")).join("");
const isEqual = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);
const concatenate = parts => {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
};
const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", concatenate(parts)));

// The hashes of RFC 6962, section 2.1.
const leafHash = leaf => sha256([0], leaf);
const nodeHash = (left, right) => sha256([1], left, right);

// hashesOf decodes the hashes of a proof.
const hashesOf = (list, code) => {
  require(Array.isArray(list) && list.length <= 128, code);
  return list.map(text => hashOf(text, code));
};
const hashOf = (text, code) => {
  const bytes = bytesOf(text, code);
  require(bytes.length === hashLength, code);
  return bytes;
};

// countOf reads a number of events.
const countOf = (value, code) => {
  require(/^(0|[1-9][0-9]{0,18})$/.test(String(value)), code);
  return BigInt(value);
};

// canCheck tells whether the browser has Ed25519: some have not yet, and none has it on a page without TLS, except from the
// browser's own machine.
export const canCheck = async () => {
  try {
    await importKey(bytesOf("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=")); // the first key of RFC 8032, section 7.1
    return true;
  } catch {
    return false;
  }
};
const importKey = raw => crypto.subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);

// parseKey reads a verifier key, name+hash+base64, in the one form in which golang.org/x/mod/sumdb/note writes it.
export const parseKey = async text => {
  const match = /^([^\s\p{C}+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/u.exec(text);
  require(match, "key_form");
  const [, name, hash, encoded] = match;
  const raw = bytesOf(encoded, "key_form");
  require(hex((await sha256(utf8.encode(name + "\n"), raw)).subarray(0, 4)) === hash, "key_hash");
  require(raw[0] === 1 && raw.length === 1 + hashLength, "key_algorithm");
  require(await canCheck(), "browser");
  return { name, hash, text, cryptoKey: await importKey(raw.subarray(1)).catch(() => { throw new Refusal("key_algorithm"); }) };
};

// The one form of a signed head: the tree's text, a line with the organization, an empty line, and one signature.
const headForm = new RegExp("^(go\\.sum database tree\n(0|[1-9][0-9]{0,18})\n([A-Za-z0-9+/]{43}=)\n" +
  "organization ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\n)\n— ([^\\s\\p{C}+]+) ([A-Za-z0-9+/]{91}=)\n$", "u");

// openHead checks a signed head. kind is "head" or "older" and begins the code of a refusal.
export const openHead = async (signed, key, kind = "head") => {
  const note = textOf(signed, kind + "_form");
  const match = headForm.exec(note);
  require(match, kind + "_form");
  const [, text, size, root, organization, name, encoded] = match;
  const signature = bytesOf(encoded, kind + "_form");
  const head = { size: BigInt(size), root: hashOf(root, kind + "_form"), organization, note };
  require(head.size <= maxTreeSize, kind + "_form");
  require(name === key.name && hex(signature.subarray(0, 4)) === key.hash, kind + "_key", { key: `${key.name}+${key.hash}` });
  const isSigned = await crypto.subtle.verify({ name: "Ed25519" }, key.cryptoKey, signature.subarray(4), utf8.encode(text));
  require(isSigned, kind + "_signature");
  return head;
};

// openStatedHead checks the head of GET /ledger/head: {tree_size, root, signature}. Beside the signed note it repeats the
// note's size and root, which must agree.
const openStatedHead = async (stated, key, organization) => {
  const head = await openHead(bytesOf(stated.signature, "head_form"), key);
  require(countOf(stated.tree_size, "head_size") === head.size, "head_size", { signed: head.size, stated: stated.tree_size });
  require(isEqual(hashOf(stated.root, "head_root"), head.root), "head_root");
  require(head.organization === organization, "head_organization", { signed: head.organization, stated: organization });
  return head;
};

// LeafReader reads the fields of canonical bytes.
class LeafReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  take(length) {
    require(length <= this.bytes.length - this.at, "leaf_form");
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  byte() {
    return this.take(1)[0];
  }
  // varint reads an unsigned number of up to 64 bits. A padded form would be a second form of the same number.
  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.byte();
      require(shift < 63n || byte <= 1, "leaf_form");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        require(byte !== 0 || shift === 0n, "leaf_form");
        return value;
      }
    }
  }
  // length reads a number of things that the leaf has, each of at least one byte.
  length() {
    const length = this.varint();
    require(length <= BigInt(this.bytes.length), "leaf_form");
    return Number(length);
  }
  text(length = this.length()) {
    return textOf(this.take(length), "leaf_form");
  }
  name() {
    const length = this.byte();
    require(length <= 32, "leaf_form");
    return this.text(length);
  }
  amount() {
    const length = this.byte();
    require(length <= 32, "leaf_form");
    const digits = this.take(length);
    require(digits[0] !== 0, "leaf_form");
    return (length === 0 ? 0n : BigInt("0x" + hex(digits))).toString();
  }
  hash() {
    const hash = this.take(hashLength);
    require(hash.some(byte => byte !== 0), "leaf_form");
    return hex(hash);
  }
}

const parts = { entry: 1, record: 2, notifications: 4, claims: 8 };
const phases = ["posted", "pending", "capture", "void"];
const authorKinds = ["admin_token", "api_key", "session", "payer", "provider", "system"];
const sides = ["debit", "credit"];
const envs = ["prod", "test"];
const maxPostings = 256;
const maxClaims = 64;

// instantOf writes microseconds since 1970 as an RFC 3339 time, or as a number if no date is that late.
const instantOf = micros => {
  if (micros >= 253402300800000000n) return micros.toString();
  const seconds = new Date(Number(micros / 1000000n) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${(micros % 1000000n).toString().padStart(6, "0")}Z`;
};
// dateOf writes 1 + days since 1970 as a date.
const dateOf = days => (days > 2932897n ? days.toString() : new Date((Number(days) - 1) * 86400000).toISOString().slice(0, 10));

// referenceOf writes the seq of another event; empty if there is none.
const referenceOf = seq => (seq === 0n ? "" : seq.toString());

// decodeLeaf returns the event that canonical bytes contain, with the names of a proof's file. Numbers are texts, because some
// exceed what a JavaScript number holds exactly.
export const decodeLeaf = bytes => {
  const r = new LeafReader(bytes);
  const version = r.byte(), flags = r.byte();
  require(version === 3 && flags < 16, "leaf_form");
  const record = flags & parts.record ? r.hash() : undefined;
  const event = { seq: r.varint().toString(), version: r.varint().toString(), previous: referenceOf(r.varint()), booked_at: instantOf(r.varint()) };
  event.kind = String.fromCharCode(r.byte());
  event.source = hex(r.take(16)).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  Object.assign(event, decodeAuthor(r));
  event.event = r.text();
  event.from = r.text();
  event.to = r.text();
  if (flags & parts.entry) event.entry = decodeEntry(r);
  if (record) event.record_sha256 = record;
  if (flags & parts.notifications) event.notifications_sha256 = r.hash();
  if (flags & parts.claims) {
    const count = r.length();
    require(count >= 1 && count <= maxClaims, "leaf_form");
    event.claims_sha256 = Array.from({ length: count }, () => r.hash());
  }
  require(r.at === bytes.length, "leaf_form");
  return event;
};

// decodeAuthor returns who asked for an event: the kind and, for a key or a person, the seq of the event that created its record.
const decodeAuthor = r => {
  const author = authorKinds[r.byte() - 1];
  require(author, "leaf_form");
  if (author !== "api_key" && author !== "session") return { author };
  const seq = r.varint();
  require(seq !== 0n, "leaf_form");
  return { author, author_created_by: seq.toString() };
};

const decodeEntry = r => {
  const phase = phases[r.byte() - 1], days = r.varint();
  require(phase && days < 1n << 31n, "leaf_form");
  const entry = { phase, effective_date: dateOf(days), reverses: referenceOf(r.varint()), closes: referenceOf(r.varint()) };
  const count = r.length();
  require(count <= maxPostings, "leaf_form");
  entry.postings = Array.from({ length: count }, () => {
    const side = sides[r.byte() - 1], account = r.text(), env = envs[r.byte() - 1];
    const currency = r.name(), network = r.name();
    require(side && env && currency, "leaf_form");
    return { account, side, amount: r.amount(), currency, network, env };
  });
  return entry;
};

// checkBalance requires that an entry's debits equal its credits in each asset.
const checkBalance = entry => {
  const sums = new Map();
  for (const p of entry.postings) {
    const asset = [p.currency, p.network, p.env].filter(Boolean).join(" ");
    sums.set(asset, (sums.get(asset) ?? 0n) + (p.side === "debit" ? BigInt(p.amount) : -BigInt(p.amount)));
  }
  for (const [asset, difference] of sums) require(difference === 0n, "entry_unbalanced", { asset, difference });
};

// checkInclusion checks that the hashes lead from the leaf to the head's root (RFC 9162, section 2.1.3.2).
const checkInclusion = async (leaf, seq, path, head) => {
  let index = seq - 1n, last = head.size - 1n, hash = await leafHash(leaf);
  for (const sibling of path) {
    require(last > 0n, "proof_path");
    if (index & 1n || index === last) {
      hash = await nodeHash(sibling, hash);
      while (!(index & 1n) && index > 0n) [index, last] = [index >> 1n, last >> 1n];
    } else {
      hash = await nodeHash(hash, sibling);
    }
    [index, last] = [index >> 1n, last >> 1n];
  }
  require(last === 0n && isEqual(hash, head.root), "proof_path");
};

// proveEvent checks that the journal under a signed head contains an event, and returns both. head is the data of
// GET /ledger/head, inclusion that of GET /ledger/proofs/inclusion, organization the id of the expected one.
export const proveEvent = async (key, head, inclusion, organization) => {
  const opened = await openStatedHead(head, key, organization);
  require(countOf(inclusion.size, "proof_size") === opened.size, "proof_size", { signed: opened.size, stated: inclusion.size });
  require(isEqual(hashOf(inclusion.root, "proof_root"), opened.root), "proof_root");
  const leaf = bytesOf(inclusion.leaf, "leaf_form");
  const path = hashesOf(inclusion.proof, "proof_form");
  const event = decodeLeaf(leaf), seq = BigInt(event.seq);
  require(countOf(inclusion.seq, "leaf_seq") === seq, "leaf_seq", { proven: seq, stated: inclusion.seq });
  require(seq >= 1n && seq <= opened.size, "leaf_beyond_head", { seq, size: opened.size });
  await checkInclusion(leaf, seq, path, opened);
  if (event.entry) checkBalance(event.entry);
  return { event, head: opened, leaf: inclusion.leaf, path: inclusion.proof };
};

// pastedHead returns the signed head in what an auditor has kept: the note itself, its base64 as GET /ledger/head shows it, the
// state file of `mizan audit watch`, or a proof's file.
export const pastedHead = text => {
  text = text.trim();
  if (text.startsWith("{")) {
    try {
      const file = JSON.parse(text);
      const signature = file.data?.signature ?? file.signature;
      return signature ? bytesOf(signature, "older_form") : utf8.encode(String(file.head));
    } catch {
      throw new Refusal("older_form");
    }
  }
  return text.includes("— ") ? utf8.encode(text.replaceAll("\r\n", "\n") + "\n") : bytesOf(text.replace(/\s+/g, ""), "older_form");
};

// proveExtension checks that the journal under today's head begins with the whole journal under an older head (RFC 9162,
// section 2.1.4.2). older is what openHead has returned, extension the data of GET /ledger/proofs/consistency; it is not needed
// if both have the same number of events, or if the older journal is empty.
export const proveExtension = async (key, older, head, extension, organization) => {
  const newer = await openStatedHead(head, key, organization);
  require(older.organization === newer.organization, "older_organization", { older: older.organization, newer: newer.organization });
  require(older.size <= newer.size, "journal_shrank", { older: older.size, newer: newer.size });
  if (older.size === newer.size) {
    require(isEqual(older.root, newer.root), "two_journals", { size: newer.size });
    return { older, newer };
  }
  if (older.size === 0n) {
    require(isEqual(older.root, await sha256()), "extension_roots");
    return { older, newer };
  }
  require(extension, "extension_form");
  const from = countOf(extension.from, "extension_sizes"), to = countOf(extension.to, "extension_sizes");
  require(from === older.size && to === newer.size, "extension_sizes", { older: older.size, newer: newer.size });
  const agrees = isEqual(hashOf(extension.from_root, "extension_roots"), older.root) && isEqual(hashOf(extension.to_root, "extension_roots"), newer.root);
  require(agrees, "extension_roots");
  await checkExtension(older, newer, hashesOf(extension.proof, "extension_form"));
  return { older, newer };
};

const checkExtension = async (older, newer, path) => {
  const isWholeSubtree = (older.size & (older.size - 1n)) === 0n; // its root is then a node of the newer tree, and not in the proof
  const [first, ...rest] = isWholeSubtree ? [older.root, ...path] : path;
  require(first, "extension_path");
  let index = older.size - 1n, last = newer.size - 1n;
  while (index & 1n) [index, last] = [index >> 1n, last >> 1n];
  let olderHash = first, newerHash = first;
  for (const sibling of rest) {
    require(last > 0n, "extension_path");
    if (index & 1n || index === last) {
      olderHash = await nodeHash(sibling, olderHash);
      newerHash = await nodeHash(sibling, newerHash);
      while (!(index & 1n) && index > 0n) [index, last] = [index >> 1n, last >> 1n];
    } else {
      newerHash = await nodeHash(newerHash, sibling);
    }
    [index, last] = [index >> 1n, last >> 1n];
  }
  require(last === 0n && isEqual(olderHash, older.root) && isEqual(newerHash, newer.root), "extension_path");
};

// differences compares a proven event with what a page shows of it, and returns {field, proven, shown} for each field that
// differs. Only the fields that the page shows are compared, but all postings: a posting that the page leaves out differs.
export const differences = (proven, shown, prefix = "") => Object.entries(shown).flatMap(([name, value]) => {
  const field = prefix + name, ours = proven?.[name];
  if (value !== null && typeof value === "object") {
    const extra = Array.isArray(value) && Array.isArray(ours) ? ours.slice(value.length).map((_, i) => ({ field: `${field}.${value.length + i}`, proven: "+", shown: "" })) : [];
    return [...differences(ours, value, field + "."), ...extra];
  }
  const normal = text => String(text ?? "").replace(/\+00:00$/, "Z");
  return normal(ours) === normal(value) ? [] : [{ field, proven: normal(ours), shown: normal(value) }];
});

// proofFile returns the content of a file that `mizan audit check` accepts, for auditors who do not want to trust this page
// either.
export const proofFile = ({ event, head, leaf, path }) => {
  const { seq, ...rest } = event;
  const entry = event.entry && { ...event.entry, reverses: Number(event.entry.reverses), closes: Number(event.entry.closes) };
  const { kind, source, author, author_created_by, version, previous, event: name, from, to, booked_at, record_sha256, notifications_sha256, claims_sha256 } = rest;
  const readable = {
    kind, source, author, author_created_by: author_created_by && Number(author_created_by), version: Number(version), previous: Number(previous), event: name, from, to, booked_at, entry, record_sha256, notifications_sha256, claims_sha256,
  };
  const file = { form: "mizan proof 1", organization: head.organization, seq: Number(seq), event: readable, leaf, proof: path, head: head.note };
  return JSON.stringify(file, null, 2).replace(/[\u2028\u2029]/g, c => "\\u" + c.charCodeAt(0).toString(16)) + "\n";
};

// printable replaces the characters of a text that show nothing or change the order of others, so that a text from the
// journal cannot look like another one.
export const printable = text => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd");
