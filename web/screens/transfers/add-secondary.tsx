/** The form that makes another name server a secondary of the zone: one request, which makes everything or nothing. */

import { useState } from 'preact/hooks';
import { ChoiceField, Form, Switch, TextField } from '../../kit/form.js';
import { useLoad, useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { oneWord } from '../../parts/typed.js';
import type { Peer, Zone } from '../../types.js';

interface AddSecondaryProps {
  readonly zone: Zone;
  /** Identifiers of the zone's present peers. */
  readonly linked: readonly string[];
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

const NEW = '';

export function AddSecondary({ zone, linked, onDone, onCancel }: AddSecondaryProps) {
  const peers = useLoad<Peer[]>(`/accounts/${zone.account.id}/secondary_dns/peers`);
  const [server, setServer] = useState(NEW);
  const [values, setValues] = useState({ name: '', ip: '', port: '53', signed: true });
  const sending = useSending(onDone);
  const path = `/zones/${zone.id}/secondary_dns/secondaries`;
  const others = (peers.answer?.result ?? []).filter(({ id }) => !linked.includes(id));
  const { name, ip, port, signed } = values;
  const own = { name: name.trim(), ip: oneWord(ip), port: Number(port), ...(linked.length === 0 && { signed }) };
  const body = server === NEW ? own : { peer_id: server };
  const submit = (): void => {
    void sending.send('POST', path, { body });
  };
  return (
    <Panel title="Add a secondary">
      <Form onSubmit={submit} sending={sending} verb="Add" doing="Adding…" onCancel={onCancel}>
        {others.length > 0 && (
          <ChoiceField
            label="Server"
            value={server}
            onChange={setServer}
            choices={others.map(
              (peer) => [peer.id, peer.ip === undefined ? peer.name : `${peer.name} (${peer.ip})`] as const,
            )}
          >
            <option value={NEW}>Another server</option>
          </ChoiceField>
        )}
        {server === NEW && <Fields values={values} isFirst={linked.length === 0} onChange={setValues} />}
      </Form>
      <p class="hint">
        Then <code>zoneplane secondary print --kind nsd --address ADDRESS</code> prints the configuration of the other
        server, with the key. ADDRESS is that of this server.
      </p>
      <Curl request={{ method: 'POST', path, body }} />
    </Panel>
  );
}

interface Values {
  readonly name: string;
  readonly ip: string;
  readonly port: string;
  readonly signed: boolean;
}

interface FieldsProps {
  readonly values: Values;
  /** Whether the zone has no other secondary. */
  readonly isFirst: boolean;
  readonly onChange: (values: Values) => void;
}

function Fields({ values, isFirst, onChange }: FieldsProps) {
  const set = (change: Partial<Values>): void => onChange({ ...values, ...change });
  return (
    <>
      <TextField
        label="Name"
        required
        value={values.name}
        placeholder="ns2"
        onChange={(name) => set({ name })}
        hint="So that you can tell it apart."
      />
      <TextField
        label="Address"
        required
        value={values.ip}
        placeholder="192.0.2.53"
        onChange={(ip) => set({ ip })}
        hint="From which it asks, and where it is told about changes."
      />
      <TextField
        label="Port"
        required
        inputMode="numeric"
        pattern="\d{1,5}"
        title="A number from 1 to 65535"
        value={values.port}
        onChange={(port) => set({ port })}
      />
      {isFirst ? (
        <Switch
          label="Make a key (TSIG) that proves it is that server"
          checked={values.signed}
          onChange={(signed) => set({ signed })}
        />
      ) : (
        <p class="hint">All secondaries of a zone have the same key: this one gets that of the others.</p>
      )}
    </>
  );
}
