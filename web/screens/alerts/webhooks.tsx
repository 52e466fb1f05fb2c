/** Receivers of webhooks: their state, a test, and the deliveries to one. */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { LineForm, TextField } from '../../kit/form.js';
import { ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Delete } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { Cell } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import type { Webhook } from '../../types.js';
import { Deliveries } from './deliveries.js';

interface Props {
  /** Path of the alerts of an account, below the API's base. */
  readonly base: string;
  readonly writes: boolean;
}

export function Webhooks({ base, writes }: Props) {
  const path = `${base}/destinations/webhooks`;
  const { answer, error, reload } = useLoad<Webhook[]>(path);
  const [shown, setShown] = useState<string>();
  const [tests, setTests] = useState(0);
  const sending = useSending(reload);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  const webhooks = answer?.result ?? [];
  const test = (id: string): void =>
    void sending.run(async () => {
      await call('POST', `${path}/${id}/test`);
      setShown(id);
      setTests(tests + 1);
      reload();
    });
  const chosen = webhooks.find(({ id }) => id === shown);
  return (
    <Panel title="Webhooks">
      <p class="muted">Each gets a POST request for every alert that a policy below sends to it.</p>
      <ListTable
        label="List of webhooks"
        columns={['Name', 'Address', 'State']}
        actions
        items={webhooks}
        keyOf={({ id }) => id}
        row={(webhook) => (
          <tr>
            <th scope="row">{webhook.name}</th>
            <td class="mono">{webhook.url}</td>
            <Cell value={<State webhook={webhook} />} />
            <td class="row-actions">
              <Button
                class="quiet"
                aria-expanded={shown === webhook.id}
                onClick={() => setShown(shown === webhook.id ? undefined : webhook.id)}
                text="Deliveries"
              />
              {writes && <Button class="quiet" disabled={sending.busy} onClick={() => test(webhook.id)} text="Test" />}
              {writes && !webhook.enabled && (
                <Button
                  class="quiet"
                  disabled={sending.busy}
                  onClick={() => void sending.send('PUT', `${path}/${webhook.id}`, switchedOn(webhook))}
                  text="Switch on"
                />
              )}
              {writes && <Delete what={webhook.name} quiet path={`${path}/${webhook.id}`} sending={sending} />}
            </td>
          </tr>
        )}
      />
      {chosen && <Deliveries key={`${chosen.id} ${tests}`} path={`${path}/${chosen.id}`} name={chosen.name} />}
      {writes && <NewWebhook path={path} onMade={reload} />}
    </Panel>
  );
}

function switchedOn({ name, url }: Webhook) {
  return { body: { name, url, enabled: true } };
}

function State({ webhook }: { readonly webhook: Webhook }) {
  const { enabled, disabled_reason: reason, failures, last_success: success } = webhook;
  if (!enabled) return <span class="bad">off: {reason}</span>;
  if (failures > 0) return <span class="bad">has failed {failures} times</span>;
  return success === null ? (
    <span class="muted">nothing was sent yet</span>
  ) : (
    <span>
      last told <Time at={success} />
    </span>
  );
}

function NewWebhook({ path, onMade }: { readonly path: string; readonly onMade: () => void }) {
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [secret, setSecret] = useState('');
  const sending = useSending();
  const body = { name: name.trim(), url: url.trim(), ...(secret !== '' && { secret }) };
  const submit = (): void =>
    void sending.run(async () => {
      await call('POST', path, { body });
      setName('');
      setUrl('');
      setSecret('');
      onMade();
    });
  return (
    <>
      <LineForm onSubmit={submit} sending={sending} verb="Add the webhook" doing="Adding…">
        <TextField label="Name of the webhook" required value={name} placeholder="chat" onChange={setName} />
        <TextField
          label="Address"
          type="url"
          required
          spellcheck={false}
          value={url}
          placeholder="https://hooks.example.com/dns"
          onChange={setUrl}
        />
        <TextField
          label="Secret"
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={secret}
          placeholder="none"
          onChange={setSecret}
        />
      </LineForm>
      <Curl request={{ method: 'POST', path, body: secret === '' ? body : { ...body, secret: 'SECRET' } }} />
    </>
  );
}
