/** Networks from which NOTIFY is believed, beside the addresses of the servers (v4: ACLs). */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { LineForm, TextField } from '../../kit/form.js';
import { ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import type { Acl } from '../../types.js';
import type { PartProps } from './servers.js';

export function Networks({ base, writes }: PartProps) {
  const path = `${base}/acls`;
  const { answer, error, reload } = useLoad<Acl[]>(path);
  const [name, setName] = useState('');
  const [range, setRange] = useState('');
  const sending = useSending(reload);
  const body = { name: name.trim(), ip_range: range.trim() };
  const submit = (): void => {
    void sending.run(async () => {
      await call('POST', path, { body });
      setName('');
      setRange('');
      reload();
    });
  };
  const remove = (id: string): void => void sending.send('DELETE', `${path}/${id}`);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  const networks = answer?.result ?? [];
  return (
    <Panel title="Networks">
      <p class="muted">
        A primary may tell this server about changes from other addresses than its own. NOTIFY from these networks
        counts, too.
      </p>
      <ListTable
        label="List of networks"
        columns={['Name', 'Network']}
        actions={writes}
        items={networks}
        keyOf={({ id }) => id}
        row={(network) => (
          <tr>
            <th scope="row">{network.name}</th>
            <td class="mono">{network.ip_range}</td>
            {writes && (
              <td class="row-actions">
                <Confirm what={network.name} busy={sending.busy} quiet onConfirm={() => remove(network.id)} />
              </td>
            )}
          </tr>
        )}
      />
      {writes && (
        <LineForm onSubmit={submit} sending={sending} verb="Add the network" doing="Adding…">
          <TextField label="Name of the network" required value={name} placeholder="office" onChange={setName} />
          <TextField
            label="Network"
            required
            spellcheck={false}
            value={range}
            placeholder="192.0.2.0/28"
            onChange={setRange}
          />
        </LineForm>
      )}
      {writes && <Curl request={{ method: 'POST', path, body }} />}
    </Panel>
  );
}
