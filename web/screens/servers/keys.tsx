/** TSIG keys (RFC 8945), by which name servers and clients of dynamic updates prove who they are. */

import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.js';
import { Form } from '../../kit/form.js';
import { ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Copyable, Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { KeyFields, type NewKey, NO_KEY } from '../../parts/key-fields.js';
import { ErrorNote } from '../../parts/notes.js';
import { Cell, RowHead } from '../../parts/table.js';
import type { Tsig } from '../../types.js';
import type { PartProps } from './servers.js';

const SECRET_OCTETS = 32;

/** Base 64 of octets that nobody can guess. */
function randomSecret(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_OCTETS))));
}

export function Keys({ base, writes }: PartProps) {
  const path = `${base}/tsigs`;
  const { answer, error, reload } = useLoad<Tsig[]>(path);
  const [adding, setAdding] = useState<NewKey>();
  const [shown, setShown] = useState<string>();
  const sending = useSending(reload);
  const change = (method: 'POST' | 'DELETE', at: string, body?: object): Promise<boolean> =>
    sending.send(method, at, body && { body });
  const body = { name: adding?.name.trim(), algo: adding?.algorithm, secret: adding?.secret.trim() };
  const submit = (): void => {
    void change('POST', path, body).then((done) => done && setAdding(undefined));
  };
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  const keys = answer?.result ?? [];
  const add = writes && !adding && (
    <Button onClick={() => setAdding({ ...NO_KEY, secret: randomSecret() })} text="New key" />
  );
  const secret = keys.find(({ id }) => id === shown);
  return (
    <Panel title="Keys (TSIG)" aside={add}>
      {answer && keys.length === 0 && !adding && (
        <p class="muted">There are none yet. The first secondary that you add gets one by itself.</p>
      )}
      {adding && (
        <Form
          onSubmit={submit}
          sending={{ ...sending, error: undefined }}
          verb="Save the key"
          doing="Saving…"
          onCancel={() => setAdding(undefined)}
        >
          <KeyFields value={adding} onChange={setAdding} />
          <p class="hint">A secret was made for you. Replace it if the other server has the key already.</p>
        </Form>
      )}
      {sending.error && <ErrorNote error={sending.error} />}
      <ListTable
        label="List of keys"
        columns={['Name', 'Algorithm', 'May change records']}
        actions={writes}
        items={keys}
        keyOf={({ id }) => id}
        row={(key) => (
          <tr>
            <RowHead class="mono" value={key.name} />
            <td class="muted">{key.algo}</td>
            <Cell
              class="muted"
              name="May change records:"
              value={key.policies.length > 0 ? 'as its policies say' : 'no'}
            />
            {writes && (
              <td class="row-actions">
                {key.secret !== '' && (
                  <Button
                    class="quiet"
                    aria-label={`${shown === key.id ? 'Hide' : 'Show'} the secret of ${key.name}`}
                    onClick={() => setShown(shown === key.id ? undefined : key.id)}
                    text={shown === key.id ? 'Hide the secret' : 'Show the secret'}
                  />
                )}
                <Confirm
                  what={key.name}
                  busy={sending.busy}
                  quiet
                  onConfirm={() => void change('DELETE', `${path}/${key.id}`)}
                />
              </td>
            )}
          </tr>
        )}
      />
      {secret && (
        <>
          <h3>Secret of {secret.name}</h3>
          <Copyable text={secret.secret} label="secret" />
          <p class="hint">Copy it like a password. Both servers need the same name, algorithm and secret.</p>
        </>
      )}
      <Curl
        request={{ method: 'GET', path }}
        {...(adding && { others: { 'Save the key': { method: 'POST', path, body: { ...body, secret: 'SECRET' } } } })}
      />
    </Panel>
  );
}
