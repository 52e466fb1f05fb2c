/** Finds monitors, pools and load balancers of an account by what they say. */
import { toHex } from '../../base/bytes.js';
import { loadBalancersOfAccount } from '../../store/balancing/load-balancers.js';
import { monitorsOfAccount } from '../../store/balancing/monitors.js';
import { poolsOfAccount } from '../../store/balancing/pools.js';
import { requireAccount } from '../guard/access.js';
import type { Context, Page } from '../kernel/context.js';
import { aroundBalancer, aroundPool, described, type Reference, referrersOfMonitor } from './references.js';

export interface SearchQuery {
  /** Part of a name, a description, an address or an identifier, in any case; empty: all. */
  readonly query: string;
  /** Which references are listed with what is found. */
  readonly references: '' | '*' | Reference['reference_type'];
  readonly page: number;
  readonly perPage: number;
}

export interface FoundResource {
  readonly resource_id: string;
  readonly resource_name: string;
  readonly resource_type: 'load_balancer' | 'monitor' | 'pool';
  readonly reference_type: Reference['reference_type'];
  readonly references: readonly Reference[];
}

interface Candidate extends Pick<FoundResource, 'resource_id' | 'resource_name' | 'resource_type'> {
  readonly text: string;
  readonly around: () => readonly Reference[];
}

export async function searchBalancing(
  ctx: Context,
  accountId: string,
  { query, references, page, perPage }: SearchQuery,
): Promise<Page<FoundResource>> {
  const account = requireAccount(ctx, accountId);
  const wanted = query.toLowerCase();
  return ctx.store.snapshot(() => {
    const found = candidates(ctx, account.seq).filter(({ text }) => text.toLowerCase().includes(wanted));
    const items = found.slice((page - 1) * perPage, page * perPage).map(({ text: _, around, ...resource }) => ({
      ...resource,
      reference_type: resource.resource_type === 'load_balancer' ? ('referrer' as const) : ('referral' as const),
      references:
        references === '' ? [] : around().filter((one) => references === '*' || one.reference_type === references),
    }));
    return { items, page, perPage, totalCount: found.length };
  });
}

function candidates(ctx: Context, account: number): Candidate[] {
  const { store } = ctx;
  return [
    ...loadBalancersOfAccount(store, account).map((row) => ({
      ...{ resource_id: toHex(row.id), resource_name: row.name, resource_type: 'load_balancer' as const },
      text: `${toHex(row.id)} ${row.settings}`,
      around: () => aroundBalancer(store, row),
    })),
    ...poolsOfAccount(store, account).map((row) => ({
      ...{ resource_id: toHex(row.id), resource_name: row.name, resource_type: 'pool' as const },
      text: `${toHex(row.id)} ${row.settings}`,
      around: () => aroundPool(store, row),
    })),
    ...monitorsOfAccount(store, account).map((row) => ({
      ...{ resource_id: toHex(row.id), resource_name: described(row), resource_type: 'monitor' as const },
      text: `${toHex(row.id)} ${row.settings}`,
      around: () => referrersOfMonitor(store, row.seq),
    })),
  ];
}
