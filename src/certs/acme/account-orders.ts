/** Orders of an account (RFC 8555 §7.1.2.1), for finding out whether the authority created an order. */
import { z } from 'zod';
import type { Order } from '../authority.js';
import { urlSchema } from './directory.js';
import { readOrder } from './objects.js';
import { readObject } from './problem.js';
import type { Session } from './session.js';
import { type Answer, isSecureUrl } from './transport.js';

/** The largest number of list pages that are read. */
const MOST_PAGES = 50;
/** The largest number of orders that are examined: the last ones, because a list grows at its end. */
const MOST_ORDERS = 200;

const accountSchema = z.object({ orders: urlSchema.optional() });
const pageSchema = z.object({ orders: z.array(urlSchema) });
const NEXT = /<([^>]*)>\s*;[^,]*\brel="?next"?/i;

/**
 * Orders for exactly these names that can still be completed, newest first. Empty if the authority lists no orders.
 * Throws an {@link AuthorityError}.
 */
export async function listUnfinishedOrders(
  { account, post }: Session,
  names: readonly string[],
  nowMs: number,
): Promise<Order[]> {
  const { orders: list } = readObject(await post(await account()), accountSchema, nowMs);
  const wanted = [...names].sort().join(' ');
  const found: Order[] = [];
  for (const url of list === undefined ? [] : await orderUrls(post, list, nowMs)) {
    const answer = await post(url);
    const order = readOrder(answer, url, nowMs);
    const isOpen = order.status === 'pending' || order.status === 'ready';
    if (isOpen && [...order.names].sort().join(' ') === wanted) found.push(order);
  }
  return found;
}

async function orderUrls(post: Session['post'], list: string, nowMs: number): Promise<string[]> {
  const urls: string[] = [];
  const seen = new Set<string>();
  for (let page: string | undefined = list; page !== undefined && seen.size < MOST_PAGES && !seen.has(page); ) {
    seen.add(page);
    const answer = await post(page);
    urls.push(...readObject(answer, pageSchema, nowMs).orders);
    page = nextPage(answer);
  }
  return urls.slice(-MOST_ORDERS).reverse();
}

/** The next page of a list (RFC 8288). */
function nextPage({ url, headers }: Answer): string | undefined {
  for (const value of headers('link')) {
    const target = NEXT.exec(value)?.[1];
    const next = target === undefined ? undefined : URL.parse(target, url)?.href;
    if (next !== undefined && isSecureUrl(next)) return next;
  }
  return undefined;
}
