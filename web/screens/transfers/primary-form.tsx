/** From which servers a zone is copied: servers that the account knows, or a new one with its key. */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { ChoiceField, Form, TextField } from '../../kit/form.js';
import { useLoad, useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ALGORITHMS, KeyFields, type NewKey, NO_KEY } from '../../parts/key-fields.js';
import { Empty } from '../../parts/notes.js';
import { PeerChoice } from '../../parts/peer-choice.js';
import type { Incoming, Peer, Tsig, Zone } from '../../types.js';

interface PrimaryFormProps {
  readonly zone: Zone;
  readonly writes: boolean;
  /** Identifiers of the present primaries; undefined: there are none yet. */
  readonly chosen: readonly string[] | undefined;
  readonly onDone: () => void;
  readonly onCancel: (() => void) | undefined;
}

interface NewServer {
  readonly ip: string;
  readonly port: string;
  readonly tlsName: string;
  /** Identifier of a key, or one of the two below. */
  readonly key: string;
}

const WITHOUT = '';
const NEW_KEY = 'new';
const NONE: NewServer = { ip: '', port: '', tlsName: '', key: WITHOUT };

export function PrimaryForm({ zone, writes, chosen, onDone, onCancel }: PrimaryFormProps) {
  const account = `/accounts/${zone.account.id}/secondary_dns`;
  const path = `/zones/${zone.id}/secondary_dns/incoming`;
  const known = useLoad<Peer[]>(`${account}/peers`);
  const keys = useLoad<Tsig[]>(`${account}/tsigs`);
  const [picked, setPicked] = useState<readonly string[]>(chosen ?? []);
  const [server, setServer] = useState(NONE);
  const [newKey, setNewKey] = useState<NewKey>(NO_KEY);
  const sending = useSending();
  const peers = (known.answer?.result ?? []).filter(({ ip }) => ip !== undefined);
  const hasNew = server.ip.trim() !== '';
  if (!writes) {
    return (
      <Empty title="No primary has been set for this zone yet">
        <p>Your credential may not choose its primaries.</p>
      </Empty>
    );
  }
  // Each step is remembered: a refusal of a later one does not make the earlier ones twice.
  const makeKey = async (): Promise<string | undefined> => {
    if (server.key !== NEW_KEY) return server.key || undefined;
    const { result } = await call<Tsig>('POST', `${account}/tsigs`, { body: keyBody(newKey) });
    setServer({ ...server, key: result.id });
    keys.reload();
    return result.id;
  };
  const makePeer = async (): Promise<readonly string[]> => {
    if (!hasNew) return picked;
    const tsig_id = await makeKey();
    const { result } = await call<Peer>('POST', `${account}/peers`, { body: { ...peerBody(server), tsig_id } });
    const all = [...picked, result.id];
    setPicked(all);
    setServer(NONE);
    known.reload();
    return all;
  };
  const submit = (): void => {
    void sending
      .run(async () => {
        const body = { name: zone.name, peers: await makePeer() };
        await call<Incoming>(chosen ? 'PUT' : 'POST', path, { body });
      })
      .then((done) => done && onDone());
  };
  const body = { name: zone.name, peers: picked.length > 0 ? picked : ['PEER'] };
  return (
    <Panel title={chosen ? 'Primaries of this zone' : 'From which server does this zone come?'}>
      <p class="muted">
        The primary is asked for changes, and its answers are copied. Let it permit transfers to this server, and let it
        send NOTIFY here, so that changes come at once.
      </p>
      <Form onSubmit={submit} sending={sending} verb="Copy the zone from there" doing="Saving…" onCancel={onCancel}>
        {peers.length > 0 && (
          <PeerChoice peers={peers} legend="Servers that this account knows" chosen={picked} onChange={setPicked} />
        )}
        <ServerFields
          server={server}
          isNeeded={picked.length === 0}
          keys={keys.answer?.result ?? []}
          onChange={setServer}
        />
        {hasNew && server.key === NEW_KEY && <KeyFields value={newKey} onChange={setNewKey} />}
      </Form>
      <Curl
        request={{ method: chosen ? 'PUT' : 'POST', path, body }}
        {...(hasNew && {
          others: { 'The new server': { method: 'POST', path: `${account}/peers`, body: peerBody(server) } },
        })}
      />
    </Panel>
  );
}

interface ServerFieldsProps {
  readonly server: NewServer;
  readonly isNeeded: boolean;
  readonly keys: readonly Tsig[];
  readonly onChange: (server: NewServer) => void;
}

function ServerFields({ server, isNeeded, keys, onChange }: ServerFieldsProps) {
  const set = (change: Partial<NewServer>): void => onChange({ ...server, ...change });
  return (
    <>
      <TextField
        label={isNeeded ? 'Address of the primary' : 'Address of another primary'}
        required={isNeeded}
        spellcheck={false}
        value={server.ip}
        placeholder="192.0.2.53"
        onChange={(ip) => set({ ip })}
      />
      <TextField
        label="Port"
        inputMode="numeric"
        pattern="\d{1,5}"
        title="A number from 1 to 65535"
        placeholder={server.tlsName.trim() === '' ? '53' : '853'}
        value={server.port}
        onChange={(port) => set({ port })}
      />
      <ChoiceField label="Key (TSIG)" value={server.key} onChange={(key) => set({ key })}>
        <option value={WITHOUT}>None: the primary knows this server by its address</option>
        {keys.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
        <option value={NEW_KEY}>Another key, which the primary has</option>
      </ChoiceField>
      <TextField
        label="Name in its certificate"
        spellcheck={false}
        value={server.tlsName}
        placeholder="without TLS"
        onChange={(tlsName) => set({ tlsName })}
        hint="Only for transfers over TLS (RFC 9103)."
      />
    </>
  );
}

function keyBody({ name, algorithm, secret }: NewKey): object {
  return { name: name.trim(), algo: algorithm || ALGORITHMS[0], secret: secret.trim() };
}

function peerBody({ ip, port, tlsName }: NewServer): object {
  const name = tlsName.trim();
  const number = port.trim() === '' ? (name === '' ? 53 : 853) : Number(port);
  return { name: ip.trim(), ip: ip.trim(), port: number, ixfr_enable: true, ...(name !== '' && { tls_name: name }) };
}
