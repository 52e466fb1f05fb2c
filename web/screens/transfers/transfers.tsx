/** Transfers of a zone: which secondaries have which serial, and their keys. */
import { useState } from 'preact/hooks';
import { ApiError, call } from '../../api.js';
import { useLoad, useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { Empty, ErrorNote, Loading } from '../../parts/notes.js';
import { Columns, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import type { ZoneScreenProps } from '../../screens.js';
import { mayRead, mayWrite, usePermissions } from '../../session.js';
import type { Outgoing, Peer, PeerStatus, Tsig, Zone } from '../../types.js';

const REFRESH_MS = 5000;

export default function Transfers({ zone }: ZoneScreenProps) {
  const base = `/zones/${zone.id}/secondary_dns`;
  const outgoing = useLoad<Outgoing>(`${base}/outgoing`, { everyMs: REFRESH_MS });
  const isLinked = outgoing.answer !== undefined && outgoing.error === undefined;
  const status = useLoad<PeerStatus[]>(isLinked ? `${base}/status` : undefined, { everyMs: REFRESH_MS });
  const permissions = usePermissions();
  const [adding, setAdding] = useState(false);
  const isMissing = outgoing.error?.status === 404;
  const writes = mayWrite(permissions, 'dns') && mayWrite(permissions, 'account');
  const reload = (): void => {
    outgoing.reload();
    status.reload();
  };
  if (outgoing.error && !isMissing) return <ErrorNote error={outgoing.error} onRetry={reload} />;
  if (!outgoing.answer && !isMissing) return <Loading what="transfers" />;
  const add = writes && !adding && (
    <button type="button" class="primary" onClick={() => setAdding(true)}>
      Add a secondary
    </button>
  );
  return (
    <>
      {isLinked && status.answer && outgoing.answer ? (
        <Panel title="Secondaries" aside={add}>
          <Secondaries peers={status.answer.result} serial={outgoing.answer.result.soa_serial} />
          {outgoing.answer.result.last_transferred_time !== null && (
            <p class="hint">
              Transferred last <Time at={outgoing.answer.result.last_transferred_time} />.
            </p>
          )}
        </Panel>
      ) : (
        !adding && (
          <Empty title="No other server has this zone">
            <p>
              A secondary is another name server that copies the zone and answers when this one cannot. NSD, Knot, BIND
              and hosted services can be one.
            </p>
            {add}
          </Empty>
        )
      )}
      {adding && (
        <AddSecondary
          zone={zone}
          linked={isLinked ? (outgoing.answer?.result.peers ?? []) : undefined}
          onDone={() => {
            setAdding(false);
            reload();
          }}
          onCancel={() => setAdding(false)}
        />
      )}
      {mayRead(permissions, 'account') && <AccountKeys account={zone.account.id ?? ''} />}
      <Curl request={{ method: 'GET', path: `${base}/status` }} />
    </>
  );
}

function Secondaries({ peers, serial }: { readonly peers: readonly PeerStatus[]; readonly serial: number }) {
  return (
    <TableFrame label="Secondaries">
      <Columns names={['Server', 'State', 'Serial there', 'Asked']} />
      <tbody>
        {peers.map((peer) => (
          <tr key={peer.id}>
            <th scope="row">
              {peer.name} <span class="muted mono">{peer.ip === null ? '' : `${peer.ip} port ${peer.port}`}</span>
            </th>
            <td>
              <span class={`chip ${peer.in_sync ? 'good' : peer.error === null ? 'wait' : 'bad'}`}>
                {peer.in_sync ? 'In step' : peer.error === null ? 'Behind' : 'Does not answer'}
              </span>
              {peer.error !== null && <span class="muted"> {inWords(peer.error)}</span>}
            </td>
            <td class="number">
              {peer.serial ?? '–'} <span class="muted">of {serial}</span>
            </td>
            <td class="muted">{peer.seen_time === null ? 'never' : <Time at={peer.seen_time} />}</td>
          </tr>
        ))}
      </tbody>
    </TableFrame>
  );
}

/** Errors of sockets in words; others say themselves what is wrong. */
function inWords(error: string): string {
  if (error.includes('ECONNREFUSED')) return 'nothing listens at this address and port';
  if (error.includes('EHOSTUNREACH') || error.includes('ENETUNREACH')) return 'the network does not lead there';
  return error;
}

interface AddSecondaryProps {
  readonly zone: Zone;
  /** Identifiers of the present peers; undefined: the zone has no transfers yet. */
  readonly linked: readonly string[] | undefined;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

/** 32 random octets, as base 64. */
function newSecret(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
}

function AddSecondary({ zone, linked, onDone, onCancel }: AddSecondaryProps) {
  const [name, setName] = useState('');
  const [ip, setIp] = useState('');
  const [port, setPort] = useState('53');
  const [signed, setSigned] = useState(true);
  const sending = useSending();
  const account = `/accounts/${zone.account.id}/secondary_dns`;
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const done = await sending.run(async () => {
      const tsig = signed ? await makeKey(account, name) : undefined;
      const body = { name, ip, port: Number(port), ...(tsig !== undefined && { tsig_id: tsig }) };
      const { result: peer } = await call<Peer>('POST', `${account}/peers`, { body });
      const peers = [...(linked ?? []), peer.id];
      await call(linked ? 'PUT' : 'POST', `/zones/${zone.id}/secondary_dns/outgoing`, {
        body: { name: zone.name, peers },
      });
      if (!linked) await call('POST', `/zones/${zone.id}/secondary_dns/outgoing/enable`, { body: {} });
    });
    if (done) onDone();
  };
  return (
    <Panel title="Add a secondary">
      <form class="form" onSubmit={(event) => void submit(event)}>
        <label class="field">
          <span>Name</span>
          <input required value={name} placeholder="ns2" onInput={(event) => setName(event.currentTarget.value)} />
          <span class="hint">For you to tell it apart.</span>
        </label>
        <label class="field">
          <span>Address</span>
          <input required value={ip} placeholder="192.0.2.53" onInput={(event) => setIp(event.currentTarget.value)} />
          <span class="hint">From which it asks, and where it is told about changes.</span>
        </label>
        <label class="field">
          <span>Port</span>
          <input
            required
            inputMode="numeric"
            pattern="\d{1,5}"
            value={port}
            onInput={(event) => setPort(event.currentTarget.value)}
          />
        </label>
        <label class="check">
          <input type="checkbox" checked={signed} onChange={(event) => setSigned(event.currentTarget.checked)} />
          <span>Make a key (TSIG) that proves it is that server</span>
        </label>
        {sending.error && <ErrorNote error={sending.error} />}
        <div class="actions">
          <button type="submit" class="primary" disabled={sending.busy}>
            {sending.busy ? 'Adding…' : 'Add'}
          </button>
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        </div>
      </form>
      <p class="hint">
        Then <code>zoneplane secondary print {zone.name}</code> prints the configuration of the other server, with the
        key.
      </p>
    </Panel>
  );
}

async function makeKey(account: string, name: string): Promise<string> {
  const label = name.toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-') || 'secondary';
  const body = { name: `${label}.transfer.`, algo: 'hmac-sha256.', secret: newSecret() };
  try {
    return (await call<Tsig>('POST', `${account}/tsigs`, { body })).result.id;
  } catch (error) {
    // The name may be taken by an earlier try; the key of that name is the one that was meant.
    const { result } = await call<Tsig[]>('GET', `${account}/tsigs`);
    const known = result.find((key) => key.name === body.name);
    if (known && error instanceof ApiError && error.status < 500) return known.id;
    throw error;
  }
}

function AccountKeys({ account }: { readonly account: string }) {
  const keys = useLoad<Tsig[]>(`/accounts/${account}/secondary_dns/tsigs`);
  const peers = useLoad<Peer[]>(`/accounts/${account}/secondary_dns/peers`);
  const list = keys.answer?.result ?? [];
  if (list.length === 0) return null;
  const used = (id: string): string =>
    (peers.answer?.result ?? [])
      .filter((peer) => peer.tsig_id === id)
      .map((peer) => peer.name)
      .join(', ');
  return (
    <Panel title="TSIG keys of the account">
      <TableFrame label="TSIG keys">
        <Columns names={['Name', 'Algorithm', 'Used by', 'May change records']} />
        <tbody>
          {list.map((key) => (
            <tr key={key.id}>
              <th scope="row" class="mono">
                {key.name}
              </th>
              <td class="muted">{key.algo}</td>
              <td>{used(key.id) || <span class="muted">nobody</span>}</td>
              <td class="muted">{key.policies.length > 0 ? 'as its policies say' : 'no'}</td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
      <p class="hint">
        Secrets are not shown here. <code>zoneplane secondary print</code> prints them for the other server.
      </p>
    </Panel>
  );
}
