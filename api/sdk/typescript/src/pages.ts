import { MizanError } from "./errors.js";

/** A page of a list, as the server answers it. */
export interface Page<Row> {
  data: Row[];
  cursor: {
    /** The field from which the cursor is made. */
    cursor_field: string;
    /** Where the next page begins: send it as `cursor`. null on the last page. */
    cursor_value: string | null;
  };
}

/**
 * A list that the server answers in pages. `for await` iterates over all rows and fetches pages as they are needed; `await` gives
 * the first page. Nothing is sent before one of the two.
 */
export class Pages<Row, P extends Page<Row> = Page<Row>> implements AsyncIterable<Row>, PromiseLike<P> {
  readonly #fetch: (cursor: string | undefined) => Promise<P>;

  constructor(fetch: (cursor: string | undefined) => Promise<P>) {
    this.#fetch = fetch;
  }

  /** Iterates over all rows. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }

  /** Iterates over the pages. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    let cursor: string | undefined;
    for (;;) {
      const page = await this.#fetch(cursor);
      yield page;
      const next = page.cursor.cursor_value;
      if (next === null) return;
      if (next === cursor) throw new MizanError("two pages have the same cursor");
      cursor = next;
    }
  }

  /** Fetches the first page. */
  then<A = P, B = never>(done?: ((page: P) => A | PromiseLike<A>) | null, failed?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<A | B> {
    return this.#fetch(undefined).then(done, failed);
  }
}
