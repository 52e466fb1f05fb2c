/**
 * Orders at an authority, which limits them for everybody here together. A third is kept for renewals and for names that are already
 * active. Of what the others leave, an account may use half, so that something is left for whoever comes; one that is alone may use
 * all of it.
 */
import { isSingleAccount } from '../../control/zones/claims.js';
import { isProven } from '../../serving/name-owner.js';
import { addOrderStart, ordersSince } from '../../store/certs/order-starts.js';
import type { RequestRow } from '../../store/certs/requests.js';
import type { Store } from '../../store/driver.js';
import { findHostname } from '../../store/hostnames/hostnames.js';
import { findZone } from '../../store/zones/zones.js';
import type { AuthorityName } from '../authority.js';

/** Let's Encrypt publishes 300 orders in three hours. The same is assumed of the others. */
export const ORDERS = 100;
const WINDOW_MS = 3_600_000;
const KEPT_PART = 1 / 3;
const SHORTEST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 600_000;

/** Counts the order. When there is no room for it: when to try again, milliseconds since 1970. Call inside a write. */
export function takeOrder(store: Store, row: RequestRow, authority: AuthorityName, nowMs: number): number | undefined {
  const account = row.owner_kind === 'service' ? 0 : (findZone(store, row.zone)?.account ?? 0);
  const isKept = isOfActive(store, row);
  const all = ordersSince(store, authority, nowMs - WINDOW_MS, nowMs);
  const total = all.reduce((sum, { orders }) => sum + orders, 0);
  const first = all.reduce((sum, one) => sum + one.first, 0);
  const own = all.find((one) => one.account === account);
  const budget = isKept ? ORDERS : Math.floor(ORDERS * (1 - KEPT_PART));
  const used = isKept ? total : first;
  const ofOthers = used - ((isKept ? own?.orders : own?.first) ?? 0);
  const most = account === 0 || isSingleAccount(store) ? budget : (budget + ofOthers) / 2;
  if (total < ORDERS && used < most) {
    addOrderStart(store, { authority, account, kept: isKept ? 1 : 0, at_ms: nowMs }, nowMs - WINDOW_MS);
    return undefined;
  }
  const oldest = Math.min(...all.map((one) => one.oldest));
  const waitMs = oldest + WINDOW_MS - nowMs;
  return nowMs + Math.min(Math.max(waitMs, SHORTEST_WAIT_MS), LONGEST_WAIT_MS);
}

function isOfActive(store: Store, { renewal, owner_kind: kind, owner, zone: seq }: RequestRow): boolean {
  if (renewal === 1 || kind === 'service') return true;
  if (kind === 'hostname') return findHostname(store, owner)?.state === 'active';
  const zone = findZone(store, seq);
  return zone !== undefined && isProven(zone);
}
