/**
 * The beginning of an order. The row is written before the authority is asked, so a row without a URL shows that the
 * authority may have created the order. That order is looked for, and another one is created only if none is found.
 */
import { issuedFor } from '../../store/certs/issued.js';
import {
  findOrderUnderWay,
  insertOrderUnderWay,
  isOrderUnderWay,
  type OrderUnderWay,
  removeOrderUnderWay,
  setOrderUrl,
} from '../../store/certs/orders.js';
import { findRequestById, type RequestRow, updateRequest } from '../../store/certs/requests.js';
import { certificateIdentifier } from '../acme/certificate-identifier.js';
import { type Authority, AuthorityError, type AuthorityName, type Order, type OrderOptions } from '../authority.js';
import { USUAL_DAYS } from '../certificates.js';
import { parseCertificates } from '../chain.js';
import type { CertificateContext } from './context.js';

/** Lifetime of orders without an expiry. */
const ORDER_LIFETIME_MS = 7 * 86_400_000;
const DAY_MS = 86_400_000;

/**
 * Throws an AuthorityError when the authority refuses or cannot be reached; the row stays if the order may have been
 * created.
 */
export async function beginOrder(ctx: CertificateContext, row: RequestRow, name: AuthorityName): Promise<void> {
  const authority = await ctx.authorities.of(name);
  const order = await noteBeginning(ctx, row, name);
  if (order) await askForOrder(ctx, row, order, authority);
}

/** Continues when it is unknown whether the authority has created the order. */
export async function findBegunOrder(ctx: CertificateContext, row: RequestRow, order: OrderUnderWay): Promise<void> {
  const { store } = ctx;
  const authority = await ctx.authorities.of(order.authority as AuthorityName);
  const unfinished = await authority.unfinishedOrders(JSON.parse(row.names));
  const found = unfinished.find(({ url }) => !isOrderUnderWay(store, url));
  if (!found) return askForOrder(ctx, row, order, authority);
  ctx.log.info({ names: row.names, order: found.url }, 'continuing an order from before an interruption');
  // Another request for the same names may have taken it meanwhile; this one then looks again.
  await store.write(() => {
    if (!isOrderUnderWay(store, found.url)) keepUrl(ctx, order, found);
  });
}

async function askForOrder(
  ctx: CertificateContext,
  row: RequestRow,
  order: OrderUnderWay,
  authority: Authority,
): Promise<void> {
  const { store } = ctx;
  try {
    const made = await createOrder(ctx, row, authority);
    await store.write(() => keepUrl(ctx, order, made));
  } catch (error) {
    if (isRefusal(error)) await store.write(() => removeOrderUnderWay(store, order.seq));
    throw error;
  }
}

function keepUrl({ store }: CertificateContext, { seq, created_at }: OrderUnderWay, { url, expiresMs }: Order): void {
  setOrderUrl(store, seq, url, expiresMs ?? created_at + ORDER_LIFETIME_MS);
}

/** Undefined when the request has changed meanwhile. */
function noteBeginning(
  { store, clock, random }: CertificateContext,
  row: RequestRow,
  authority: AuthorityName,
): Promise<OrderUnderWay | undefined> {
  const nowMs = clock.nowMs();
  const id = random.uuid();
  return store.write(() => {
    if (findOrderUnderWay(store, row.seq) || findRequestById(store, row.id)?.version !== row.version) return undefined;
    const ends = { created_at: nowMs, expires_at: nowMs + ORDER_LIFETIME_MS };
    insertOrderUnderWay(store, { id, request: row.seq, version: row.version, authority, url: '', ...ends });
    updateRequest(store, row.seq, { chosen: authority });
    return findOrderUnderWay(store, row.seq);
  });
}

/** Whether the authority reported that it created no order. Failures of servers and networks leave that open. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof AuthorityError)) return false;
  const { type, status } = error.problem;
  return type !== 'connection' && type !== 'unexpectedAnswer' && status < 500;
}

/** A renewal names the certificate that it replaces (RFC 9773 §5), if the authority supports that. */
async function createOrder(ctx: CertificateContext, row: RequestRow, authority: Authority): Promise<Order> {
  const names: readonly string[] = JSON.parse(row.names);
  const [current] = issuedFor(ctx.store, row.seq);
  const known = row.renewal === 1 && current?.authority === authority.name && current.names === row.names;
  const replaces = known ? certificateIdentifier(derOf(current.chain)) : undefined;
  const options = lifetimeOf(ctx, row);
  if (replaces === undefined) return authority.createOrder(names, options);
  try {
    return await authority.createOrder(names, { ...options, replaces });
  } catch (error) {
    if (!(error instanceof AuthorityError) || !['alreadyReplaced', 'malformed'].includes(error.problem.type))
      throw error;
    return authority.createOrder(names, options);
  }
}

/** Authorities are asked for a lifetime only where it is not the usual one, because some refuse to be asked. */
function lifetimeOf({ clock }: CertificateContext, { validity_days: days }: RequestRow): OrderOptions {
  return days === USUAL_DAYS ? {} : { notAfterMs: clock.nowMs() + days * DAY_MS };
}

/** The end-entity certificate, DER. */
export function derOf(chain: string): Uint8Array {
  return new Uint8Array(parseCertificates(chain)[0]!.raw);
}
