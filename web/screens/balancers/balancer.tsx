/** One load balancer. Its pools are put in order by dragging, or with the buttons beside them. */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { ChoiceField, Switch } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import type { LoadBalancer } from '../../types.js';
import { ExampleClient } from './example-client.js';

interface BalancerProps {
  readonly path: string;
  readonly balancer: LoadBalancer;
  /** Of pools, by identifier; none that the credential may not read. */
  readonly names: ReadonlyMap<string, string>;
  readonly writes: boolean;
  readonly onChange: () => void;
}

const POLICIES = [
  ['', 'In this order, or by place where places have pools'],
  ['off', 'In this order'],
  ['geo', 'By place'],
  ['random', 'At random, by weight'],
  ['dynamic_latency', 'The fastest'],
  ['proximity', 'The nearest'],
  ['least_outstanding_requests', 'The one with the fewest requests'],
  ['least_connections', 'The one with the fewest connections'],
] as const;

export function Balancer({ path, balancer, names, writes, onChange }: BalancerProps) {
  const sending = useSending(onChange);
  const change = (body: object): void => void sending.send('PATCH', path, { body });
  const remove = (): void =>
    void sending.run(async () => {
      await call('DELETE', path);
      onChange();
    });
  const isEnabled = balancer['enabled'] !== false;
  return (
    <Panel title={balancer.name}>
      <PoolOrder
        pools={balancer.default_pools}
        names={names}
        writes={writes && !sending.busy}
        onOrder={(default_pools) => change({ default_pools })}
      />
      <p class="muted">When all of them are down: {names.get(balancer.fallback_pool) ?? balancer.fallback_pool}</p>
      <div class="form">
        <ChoiceField
          label="Which pool is chosen"
          value={String(balancer['steering_policy'] ?? '')}
          disabled={!writes || sending.busy}
          onChange={(steering_policy) => change({ steering_policy })}
          choices={POLICIES}
        />
        <Switch
          label="Enabled"
          hint="When it is not, other records of the name are answered"
          checked={isEnabled}
          disabled={!writes || sending.busy}
          onChange={(enabled) => change({ enabled })}
        />
      </div>
      {sending.error && <ErrorNote error={sending.error} />}
      {writes && (
        <div class="actions">
          <Confirm what={balancer.name} busy={sending.busy} onConfirm={remove} />
        </div>
      )}
      <ExampleClient path={path} />
      <Curl request={{ method: 'PATCH', path, body: { enabled: !isEnabled } }} />
    </Panel>
  );
}

interface OrderProps {
  readonly pools: readonly string[];
  readonly names: ReadonlyMap<string, string>;
  readonly writes: boolean;
  readonly onOrder: (pools: readonly string[]) => void;
}

function PoolOrder({ pools, names, writes, onOrder }: OrderProps) {
  const [dragged, setDragged] = useState<string>();
  const move = (pool: string, to: number): void => {
    if (to < 0 || to >= pools.length || pools[to] === pool) return;
    const others = pools.filter((one) => one !== pool);
    onOrder(others.toSpliced(to, 0, pool));
  };
  return (
    <ol class="order" aria-label="Pools in the order of failover">
      {pools.map((pool, i) => {
        const name = names.get(pool) ?? pool;
        return (
          <li
            key={pool}
            draggable={writes && pools.length > 1}
            onDragStart={() => setDragged(pool)}
            onDragEnd={() => setDragged(undefined)}
            onDragOver={(event) => dragged && event.preventDefault()}
            onDrop={() => dragged && move(dragged, i)}
          >
            <span class="name">{name}</span>
            {writes && pools.length > 1 && (
              <span class="row-actions">
                <Button
                  class="quiet"
                  disabled={i === 0}
                  aria-label={`Move ${name} up`}
                  onClick={() => move(pool, i - 1)}
                  text="↑"
                />
                <Button
                  class="quiet"
                  disabled={i === pools.length - 1}
                  aria-label={`Move ${name} down`}
                  onClick={() => move(pool, i + 1)}
                  text="↓"
                />
              </span>
            )}
          </li>
        );
      })}
    </ol>
  );
}
