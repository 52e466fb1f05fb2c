/** The messages sent to a webhook, and its answers. */
import { ListTable } from '../../kit/list.js';
import { useLoad } from '../../load.js';
import { ErrorNote } from '../../parts/notes.js';
import { Time } from '../../parts/time.js';
import type { WebhookDelivery } from '../../types.js';

/** `path`: path of the webhook, below the base of the API. */
export function Deliveries({ path, name }: { readonly path: string; readonly name: string }) {
  const { answer, error, reload } = useLoad<WebhookDelivery[]>(`${path}/deliveries`);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  return (
    <>
      <h3>Sent to {name}</h3>
      <ListTable
        label={`Messages sent to ${name}`}
        columns={['Time', 'Alert', 'Answer']}
        items={answer?.result ?? []}
        keyOf={({ id, attempt }) => `${id} ${attempt}`}
        row={({ at, alert_type: type, attempt, delivered, status, reason, answer: text, body }) => (
          <tr>
            <td>
              <Time at={at} />
              {attempt > 1 && <span class="muted"> attempt {attempt}</span>}
            </td>
            <td>
              <details>
                <summary>{type}</summary>
                <pre class="mono">{body}</pre>
              </details>
            </td>
            <td>
              <span class={delivered ? '' : 'bad'}>{status ?? reason}</span> <span class="muted">{text}</span>
            </td>
          </tr>
        )}
      />
    </>
  );
}
