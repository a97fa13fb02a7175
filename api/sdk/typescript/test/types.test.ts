import { test } from "node:test";

import type { Mizan } from "@mizan/sdk";
import type { Operator } from "@mizan/sdk/operator";
import type { Session } from "@mizan/sdk/session";

/** Never called: the compiler must refuse each line that follows a mark, and accept the others. */
export async function mistakes(mizan: Mizan, operator: Operator, session: Session): Promise<void> {
  // @ts-expect-error an amount is no number
  await mizan.createTransaction({ type: "payment", amount: 1000 });
  // @ts-expect-error an amount is no text
  await mizan.createTransaction({ type: "payment", amount: "1000" });
  // @ts-expect-error a misspelt field
  await mizan.createTransaction({ type: "payment", amuont: 1000n });
  // @ts-expect-error a currency that does not exist
  await mizan.createTransaction({ type: "payment", amount: 1n, currency: "XXX" });

  const card = await mizan.createTransaction({ type: "payment", amount: 1n });
  card.error_code satisfies string | null;
  const hosted = await mizan.createTransaction({ type: "payment", amount: 1n, hosted: true });
  hosted.widget_url satisfies string | null;
  // @ts-expect-error the response to a hosted create is short
  hosted.error_code;

  // @ts-expect-error a bigint does not mix with numbers
  card.amount * 1.1;
  // @ts-expect-error a partner may not close the books
  mizan.closePeriod;
  // @ts-expect-error a partner names no other partner
  await mizan.listTransactions({ partner_id: 2 });
  await operator.listTransactions({ partner_id: 2 });
  // @ts-expect-error the operator does not pay
  operator.createTransaction;
  (await session.createMusharaka({
    region: "AE", customer_id: "c", partnership_type: "permanent", total_value: 3n, bank_contribution: 2n, customer_contribution: 1n,
    profit_sharing_ratio: { bank: 60, customer: 40 },
    compliance_review: { approved_by: "board", fatwa_reference: "F-1" },
  })) satisfies object;
}

test("mistakes are refused by the compiler", () => {});
