/**
 * Where the amounts are in a JSON value. "text" is an amount that is a string of digits in JSON, "number" one that is an integer;
 * a list has the shape of its entries, and an object those of its members. Members without amounts are not listed.
 */
export type Shape = "text" | "number" | readonly [Shape] | { readonly [member: string]: Shape };

/** Returns the JSON of a value, with its amounts as the shape says. Members that are undefined are left out. */
export function encode(value: unknown, shape?: Shape): string {
  return write(value, shape, "") ?? "null";
}

function write(value: unknown, shape: Shape | undefined, at: string): string | undefined {
  if (shape === "text" || shape === "number") return writeAmount(value, shape, at);
  switch (typeof value) {
    case "bigint":
      throw new TypeError(`${at || "the value"} is a bigint, and no amount`);
    case "object":
      break;
    default:
      return JSON.stringify(value);
  }
  if (value === null) return "null";
  if (Array.isArray(value)) {
    const entry = Array.isArray(shape) ? (shape as readonly [Shape])[0] : undefined;
    return `[${value.map((v, i) => write(v, entry, `${at}[${i}]`) ?? "null").join(",")}]`;
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return JSON.stringify(value);
  const members = isMembers(shape) ? shape : {};
  const list: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    const text = write(member, own(members, name), at ? `${at}.${name}` : name);
    if (text !== undefined) list.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${list.join(",")}}`;
}

function writeAmount(value: unknown, shape: "text" | "number", at: string): string | undefined {
  switch (typeof value) {
    case "undefined":
      return undefined;
    case "bigint":
      return shape === "number" ? value.toString() : `"${value}"`;
    case "number":
      throw new TypeError(`${at} is a number: an amount is a bigint of minor units, such as 1000n`);
    default:
      return JSON.stringify(value);
  }
}

/** Returns the value of a JSON text, with its amounts as bigint. A text that is no JSON throws a SyntaxError. */
export function decode(text: string, shape?: Shape): unknown {
  const value: unknown = JSON.parse(text);
  if (shape === undefined) return value;
  const quoted = quoteLongIntegers(text);
  return read(value, quoted === text ? value : JSON.parse(quoted), shape);
}

/** exact is the same value as value, but its long integers are texts, which have lost no digits. */
function read(value: unknown, exact: unknown, shape: Shape): unknown {
  if (shape === "text") return typeof value === "string" && /^-?[0-9]{1,100}$/.test(value) ? BigInt(value) : value;
  if (shape === "number") return typeof value === "number" && Number.isInteger(value) ? BigInt(exact as string | number) : value;
  if (Array.isArray(shape)) {
    if (Array.isArray(value)) value.forEach((entry, i) => (value[i] = read(entry, (exact as unknown[])[i], (shape as readonly [Shape])[0])));
    return value;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const object = value as Record<string, unknown>;
  for (const [name, member] of Object.entries(shape)) {
    if (Object.hasOwn(object, name)) object[name] = read(object[name], (exact as Record<string, unknown>)[name], member);
  }
  return value;
}

/** Puts integers that a floating-point number may not keep into quotes. Texts are matched so that numbers inside them stay as they are. */
function quoteLongIntegers(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g, (token) => (/^-?[0-9]{16,}$/.test(token) ? `"${token}"` : token));
}

function isMembers(shape: Shape | undefined): shape is { readonly [member: string]: Shape } {
  return typeof shape === "object" && !Array.isArray(shape);
}

function own(members: { readonly [member: string]: Shape }, name: string): Shape | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}
