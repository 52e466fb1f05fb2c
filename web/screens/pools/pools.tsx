/** Pools of an account: their origins, how healthy these are as each node sees them, and what became of them. */

import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { ListState } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { AccountChoice, NoAccount, useAccount } from '../../parts/account.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { Empty, ErrorNote } from '../../parts/notes.js';
import { Paging } from '../../parts/paging.js';
import { Search } from '../../parts/search.js';
import { Cell, Columns, TableFrame } from '../../parts/table.js';
import { usePlace } from '../../router.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { BalancingPool } from '../../types.js';
import { HealthHistory } from './history.js';
import { NewPool } from './new-pool.js';

/** How often health is read again. */
const EVERY_MS = 5000;

interface NodeHealth {
  readonly healthy: boolean;
  readonly origins: readonly Readonly<Record<string, OriginHealth>>[];
}

interface OriginHealth {
  readonly healthy: boolean;
  readonly failure_reason: string;
  readonly rtt?: string;
}

interface PoolHealth {
  readonly pop_health: Readonly<Record<string, NodeHealth>>;
}

export default function Pools() {
  const chosen = useAccount();
  const { accounts, account } = chosen;
  const base = account && `/accounts/${account.id}/load_balancers`;
  const path = base && `${base}/pools`;
  const pools = useLoad<BalancingPool[]>(path);
  const writes = mayWrite(usePermissions(), 'loadBalancing');
  const list = pools.answer?.result ?? [];
  const { query } = usePlace();
  const { found, info } = pageOf(list, query);
  return (
    <>
      <div class="head">
        <h1>Pools</h1>
        <AccountChoice accounts={accounts} account={account} />
        {list.length > PER_PAGE && <Search name="search" label="Search pools" />}
      </div>
      <NoAccount chosen={chosen} what="pools" />
      {account && <ListState loaded={pools} what="pools" />}
      {pools.answer && list.length === 0 && (
        <Empty title="There are no pools yet">
          <p>
            A pool has origins, and a monitor that probes them. Load balancers of zones answer with the addresses of
            healthy ones.
          </p>
        </Empty>
      )}
      {base &&
        found.map((pool) => <Pool key={pool.id} base={base} pool={pool} writes={writes} onChange={pools.reload} />)}
      {list.length > 0 && <Paging info={info} nouns={['pool', 'pools']} />}
      {base && writes && <NewPool base={base} onMade={pools.reload} />}
      {list.length > 0 && accounts.length === 1 && <HealthHistory />}
      {path && <Curl request={{ method: 'GET', path }} />}
    </>
  );
}

/** Their health is read again and again, so only some are shown at once. */
const PER_PAGE = 10;

function pageOf(pools: readonly BalancingPool[], query: URLSearchParams) {
  const wanted = (query.get('search') ?? '').toLowerCase();
  const all = pools.filter(({ name }) => name.toLowerCase().includes(wanted));
  const pages = Math.ceil(all.length / PER_PAGE);
  const page = Math.min(Math.max(1, Number(query.get('page')) || 1), Math.max(1, pages));
  const found = all.slice((page - 1) * PER_PAGE, page * PER_PAGE);
  const info = { page, per_page: PER_PAGE, count: found.length, total_count: all.length, total_pages: pages };
  return { found, info };
}

interface PoolProps {
  readonly base: string;
  readonly pool: BalancingPool;
  readonly writes: boolean;
  readonly onChange: () => void;
}

function Pool({ base, pool, writes, onChange }: PoolProps) {
  const path = `${base}/pools/${pool.id}`;
  const health = useLoad<PoolHealth>(`${path}/health`, { everyMs: EVERY_MS });
  const sending = useSending(onChange);
  const nodes = Object.entries(health.answer?.result.pop_health ?? {});
  const enable = (name: string, enabled: boolean): void => {
    const origins = pool.origins.map((origin) => (origin.name === name ? { ...origin, enabled } : origin));
    void sending.send('PATCH', path, { body: { origins } });
  };
  const remove = (): void =>
    void sending.run(async () => {
      await call('DELETE', path);
      onChange();
    });
  return (
    <Panel title={pool.name}>
      <TableFrame label={`Origins of ${pool.name}`} class="stacked" busy={sending.busy}>
        <Columns
          names={['Origin', 'Address', 'Weight', ...nodes.map(([node]) => node)]}
          numbers={['Weight']}
          actions={writes}
        />
        <tbody>
          {pool.origins.map((origin) => (
            <tr key={origin.name}>
              <th scope="row">{origin.name}</th>
              <Cell class="mono" name="Address" value={origin.address} />
              <Cell class="number" name="Weight" value={String(origin['weight'] ?? 1)} />
              {nodes.map(([node, found]) => (
                <td key={node} data-name={node}>
                  <State isEnabled={origin['enabled'] !== false} health={healthOf(found, origin.address)} />
                </td>
              ))}
              {writes && (
                <td class="row-actions">
                  <Button
                    class="quiet"
                    disabled={sending.busy}
                    aria-label={`${origin['enabled'] === false ? 'Enable' : 'Drain'} ${origin.name}`}
                    onClick={() => enable(origin.name, origin['enabled'] === false)}
                    text={origin['enabled'] === false ? 'Enable' : 'Drain'}
                  />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </TableFrame>
      {health.answer && nodes.length === 0 && <p class="muted">Nothing probes these origins.</p>}
      {sending.error && <ErrorNote error={sending.error} />}
      {writes && (
        <div class="actions">
          <Confirm what={pool.name} busy={sending.busy} onConfirm={remove} />
        </div>
      )}
      <Curl request={{ method: 'GET', path: `${path}/health` }} />
    </Panel>
  );
}

function healthOf({ origins }: NodeHealth, address: string): OriginHealth | undefined {
  return origins.map((origin) => origin[address]).find((found) => found !== undefined);
}

function State({ isEnabled, health }: { readonly isEnabled: boolean; readonly health: OriginHealth | undefined }) {
  if (!isEnabled) return <span class="muted">Disabled</span>;
  if (!health) return <span class="muted">Not known yet</span>;
  return health.healthy ? (
    <span class="chip good">Healthy{health.rtt ? ` · ${health.rtt}` : ''}</span>
  ) : (
    <span class="chip bad">Unhealthy: {health.failure_reason}</span>
  );
}
