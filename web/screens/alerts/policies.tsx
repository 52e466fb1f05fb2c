/** Notification policies: which alerts webhooks and members get. */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { ChoiceField, LineForm, TextField } from '../../kit/form.js';
import { ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Delete } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import type { AlertPolicy, AvailableAlerts, Webhook } from '../../types.js';

export function Policies({ base, writes }: { readonly base: string; readonly writes: boolean }) {
  const path = `${base}/policies`;
  const { answer, error, reload } = useLoad<AlertPolicy[]>(path);
  const types = useLoad<AvailableAlerts>(`${base}/available_alerts`).answer?.result ?? {};
  const webhooks = useLoad<Webhook[]>(`${base}/destinations/webhooks`).answer?.result ?? [];
  const sending = useSending(reload);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  const known = Object.values(types).flat();
  const nameOf = (type: string): string => known.find((one) => one.type === type)?.display_name ?? type;
  const toldBy = ({ mechanisms }: AlertPolicy): string =>
    [
      ...mechanisms.webhooks.map(({ id }) => webhooks.find((one) => one.id === id)?.name ?? id),
      ...mechanisms.email.map(({ id }) => id),
    ].join(', ');
  return (
    <Panel title="Policies">
      <ListTable
        label="List of policies"
        columns={['Name', 'Alert', 'Recipients', 'State']}
        actions={writes}
        items={answer?.result ?? []}
        keyOf={({ id }) => id}
        row={(policy) => (
          <tr>
            <th scope="row">{policy.name}</th>
            <td>{nameOf(policy.alert_type)}</td>
            <td>{toldBy(policy)}</td>
            <td>{policy.enabled ? 'on' : 'off'}</td>
            {writes && (
              <td class="row-actions">
                <Button
                  class="quiet"
                  disabled={sending.busy}
                  onClick={() =>
                    void sending.send('PUT', `${path}/${policy.id}`, { body: { enabled: !policy.enabled } })
                  }
                  text={policy.enabled ? 'Switch off' : 'Switch on'}
                />
                <Delete what={policy.name} quiet path={`${path}/${policy.id}`} sending={sending} />
              </td>
            )}
          </tr>
        )}
      />
      {writes && known.length > 0 && <NewPolicy path={path} types={known} base={base} onMade={reload} />}
    </Panel>
  );
}

interface NewProps {
  readonly path: string;
  readonly base: string;
  readonly types: AvailableAlerts[string];
  readonly onMade: () => void;
}

function NewPolicy({ path, base, types, onMade }: NewProps) {
  const [name, setName] = useState('');
  const [type, setType] = useState(types[0]!.type);
  const [webhook, setWebhook] = useState('');
  const [email, setEmail] = useState('');
  const { answer } = useLoad<Webhook[]>(`${base}/destinations/webhooks`);
  const webhooks = answer?.result ?? [];
  const sending = useSending();
  const mechanisms = {
    ...(webhook !== '' && { webhooks: [{ id: webhook }] }),
    ...(email.trim() !== '' && { email: [{ id: email.trim() }] }),
  };
  const body = { name: name.trim(), alert_type: type, enabled: true, mechanisms };
  const submit = (): void =>
    void sending.run(async () => {
      await call('POST', path, { body });
      setName('');
      onMade();
    });
  return (
    <>
      <LineForm onSubmit={submit} sending={sending} verb="Add the policy" doing="Adding…">
        <TextField label="Name of the policy" required value={name} placeholder="records" onChange={setName} />
        <ChoiceField
          label="Alert"
          value={type}
          onChange={setType}
          choices={types.map((one) => [one.type, one.display_name] as const)}
        />
        <ChoiceField
          label="Webhook"
          value={webhook}
          onChange={setWebhook}
          choices={webhooks.map(({ id, name: title }) => [id, title] as const)}
        >
          <option value="">none</option>
        </ChoiceField>
        <TextField label="Member" type="email" value={email} placeholder="nobody" onChange={setEmail} />
      </LineForm>
      <p class="muted">{types.find((one) => one.type === type)?.description}</p>
      <Curl request={{ method: 'POST', path, body }} />
    </>
  );
}
