/** Use cases of the history of delivered alerts (v4: alerting, history). */
import { toHex } from '../base/bytes.js';
import { requireAccount } from '../control/guard/access.js';
import type { Context, Page } from '../control/kernel/context.js';
import { countDelivered, type DeliveryRow, deliveredOfAccount } from '../store/alerts/deliveries.js';
import { type DestinationRow, findDestination } from '../store/alerts/destinations.js';
import { type AlertPolicyRow, findAlertPolicy } from '../store/alerts/policies.js';

export interface HistoryItem {
  readonly row: DeliveryRow;
  readonly destination: DestinationRow;
  /** Undefined: the policy was deleted since. */
  readonly policy: AlertPolicyRow | undefined;
}

export interface HistoryQuery {
  /** Microseconds since 1970: at or after `since`, and before `before`. */
  readonly since?: number | undefined;
  readonly before?: number | undefined;
  readonly page: number;
  readonly perPage: number;
}

/** Lists the newest first. */
export async function listHistory(ctx: Context, accountId: string, query: HistoryQuery): Promise<Page<HistoryItem>> {
  const { store } = ctx;
  const account = requireAccount(ctx, accountId);
  const { since = 0, before = Number.MAX_SAFE_INTEGER, page, perPage } = query;
  const seesInstallation = ctx.actor.superAdministrator;
  const asked = { since, before, seesInstallation, limit: perPage, offset: (page - 1) * perPage };
  return store.snapshot(() => ({
    items: deliveredOfAccount(store, account.seq, asked).map((row) => ({
      row,
      destination: findDestination(store, row.destination)!,
      policy: row.policy ? findAlertPolicy(store, row.policy) : undefined,
    })),
    ...{ page, perPage, totalCount: countDelivered(store, account.seq, asked) },
  }));
}

/** How clients see the destination of a delivery: a webhook by its identifier, since its URL may grant access. */
export function mechanismOf({ kind, id, address }: DestinationRow): string {
  return kind === 'email' ? address : toHex(id);
}
