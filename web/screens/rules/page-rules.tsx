/** Page rules, which clients of the API make: they are shown, switched and deleted here. */
import { Button } from '../../kit/button.js';
import { ListState, ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Delete } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { RowHead } from '../../parts/table.js';
import type { PageRule } from '../../types.js';

interface Target {
  readonly constraint: { readonly value: string };
}

interface Action {
  readonly id: string;
  readonly value?: unknown;
}

/** Nothing while there are none: redirects do the same. */
export function PageRules({ path, writes }: { readonly path: string; readonly writes: boolean }) {
  const loaded = useLoad<PageRule[]>(path);
  const sending = useSending(loaded.reload);
  const rules = loaded.answer?.result ?? [];
  if (loaded.answer && rules.length === 0) return null;
  return (
    <Panel title="Page rules">
      <p class="muted">
        After the redirects, the page rule with the highest priority that matches a URL applies to it.
      </p>
      <ListState loaded={loaded} what="the page rules" />
      <ListTable
        label="List of page rules"
        columns={['URL', 'Then', 'Priority']}
        actions={writes}
        items={rules}
        keyOf={({ id }) => id}
        row={(rule) => (
          <tr>
            <RowHead class="mono" value={urlOf(rule)} />
            <td>{(rule.actions as Action[]).map(said).join(', ')}</td>
            <td>{rule.priority}</td>
            {writes && (
              <td class="row-actions">
                <Button
                  class="quiet"
                  disabled={sending.busy}
                  onClick={() =>
                    void sending.send('PATCH', `${path}/${rule.id}`, {
                      body: { status: rule.status === 'active' ? 'disabled' : 'active' },
                    })
                  }
                  text={rule.status === 'active' ? 'Switch off' : 'Switch on'}
                />
                <Delete what={urlOf(rule)} quiet path={`${path}/${rule.id}`} sending={sending} />
              </td>
            )}
          </tr>
        )}
      />
      {sending.error && <ErrorNote error={sending.error} />}
      <Curl request={{ method: 'GET', path }} />
    </Panel>
  );
}

const urlOf = ({ targets }: PageRule): string => (targets[0] as Target).constraint.value;

function said({ id, value }: Action): string {
  if (id !== 'forwarding_url') return value === undefined ? id : `${id} ${String(value)}`;
  const { url, status_code: status } = value as { readonly url: string; readonly status_code: number };
  return `${status} to ${url}`;
}
