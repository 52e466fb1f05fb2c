/** The last transitions of an account's pools and origins. */

import { ListTable } from '../../kit/list.js';
import { useLoad } from '../../load.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { Cell } from '../../parts/table.js';
import { Time } from '../../parts/time.js';

interface HealthEvent {
  readonly id: number;
  readonly timestamp: string;
  readonly pool: { readonly name: string; readonly healthy: boolean; readonly changed: boolean };
  readonly origins: readonly {
    readonly name: string;
    readonly address: string;
    readonly healthy: boolean;
    readonly failure_reason: string;
  }[];
}

const MOST_SHOWN = 50;

/** Of the only account. */
export function HealthHistory() {
  const { answer, error, reload } = useLoad<HealthEvent[]>('/user/load_balancing_analytics/events');
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  const events = (answer?.result ?? []).slice(0, MOST_SHOWN);
  return (
    <Panel title="How their health changed">
      {answer && events.length === 0 && <p class="muted">Nothing has changed in the last 30 days.</p>}
      <ListTable
        label="Transitions"
        columns={['When', 'Pool', 'Origins']}
        items={events}
        keyOf={({ id }) => id}
        row={({ timestamp, pool, origins }) => (
          <tr>
            <Cell class="muted" name="When" value={<Time at={timestamp} />} />
            <th scope="row">
              {pool.name}
              {pool.changed && ` became ${pool.healthy ? 'healthy' : 'unhealthy'}`}
            </th>
            <td data-name="Origins">
              {origins.map(({ name, address, healthy, failure_reason }) => (
                <div key={name}>
                  {name} <span class="mono">{address}</span> {healthy ? 'healthy' : failure_reason}
                </div>
              ))}
            </td>
          </tr>
        )}
      />
    </Panel>
  );
}
