/** Transfers of a zone: from where it comes, if it is a copy; which secondaries have which serial, and their keys. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { Empty, ErrorNote, Loading } from '../../parts/notes.js';
import { Cell, Columns, RowHead, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { Link } from '../../router.js';
import type { ZoneScreenProps } from '../../screen.js';
import { mayRead, mayWrite, usePermissions } from '../../session.js';
import type { Outgoing, Peer, PeerStatus, Tsig, Zone } from '../../types.js';
import { AddSecondary } from './add-secondary.js';
import { Copied } from './incoming.js';
import { inWords } from './words.js';

const REFRESH_MS = 5000;

/** Who copies the zone from here, and what can be done about it. */
function useSecondaries(zone: Zone) {
  const base = `/zones/${zone.id}/secondary_dns`;
  const outgoing = useLoad<Outgoing>(`${base}/outgoing`, { everyMs: REFRESH_MS, told: true });
  const isLinked = outgoing.answer !== undefined && outgoing.error === undefined;
  const status = useLoad<PeerStatus[]>(isLinked ? `${base}/status` : undefined, { everyMs: REFRESH_MS, told: true });
  const reload = (): void => {
    outgoing.reload();
    status.reload();
  };
  const sending = useSending(reload);
  const remove = (id: string): void =>
    void sending.run(async () => {
      // As it is now: with what is shown, the secondary that was removed just before would come back.
      const { result } = await call<Outgoing>('GET', `${base}/outgoing`);
      const peers = result.peers.filter((other) => other !== id);
      if (peers.length === 0) await call('DELETE', `${base}/outgoing`);
      else await call('PUT', `${base}/outgoing`, { body: { name: zone.name, peers } });
      reload();
    });
  return { base, outgoing, isLinked, status, reload, sending, remove };
}

export default function Transfers({ zone }: ZoneScreenProps) {
  const secondaries = useSecondaries(zone);
  const { base, outgoing, isLinked, reload, sending } = secondaries;
  const permissions = usePermissions();
  const [adding, setAdding] = useState(false);
  const isMissing = outgoing.error?.status === 404;
  const writes = mayWrite(permissions, 'dns') && mayWrite(permissions, 'account');
  if (outgoing.error && !isMissing) return <ErrorNote error={outgoing.error} onRetry={reload} />;
  if (!outgoing.answer && !isMissing) return <Loading what="transfers" />;
  const add = writes && !adding && <Button class="primary" onClick={() => setAdding(true)} text="Add a secondary" />;
  return (
    <>
      {zone.type === 'secondary' && <Copied zone={zone} writes={writes} writesZone={mayWrite(permissions, 'zone')} />}
      {sending.error && <ErrorNote error={sending.error} />}
      <Linked secondaries={secondaries} add={add} notifies={mayWrite(permissions, 'dns')} removes={writes} />
      {!isLinked && !adding && <NotLinked zone={zone}>{add}</NotLinked>}
      {adding && (
        <AddSecondary
          zone={zone}
          linked={isLinked ? (outgoing.answer?.result.peers ?? []) : []}
          onDone={() => {
            setAdding(false);
            reload();
          }}
          onCancel={() => setAdding(false)}
        />
      )}
      {mayRead(permissions, 'account') && (
        // A secondary that comes or goes may change the keys.
        <AccountKeys key={outgoing.answer?.result.peers.join()} account={zone.account.id ?? ''} />
      )}
      <Curl
        request={{ method: 'GET', path: `${base}/status` }}
        {...(writes &&
          isLinked && {
            others: {
              'Notify them now': { method: 'POST', path: `${base}/outgoing/force_notify`, body: {} },
              'End all transfers': { method: 'DELETE', path: `${base}/outgoing` },
            },
          })}
      />
    </>
  );
}

interface LinkedProps {
  readonly secondaries: ReturnType<typeof useSecondaries>;
  /** The button that adds one. */
  readonly add: ComponentChildren;
  readonly notifies: boolean;
  readonly removes: boolean;
}

/** Nothing where no other server has the zone. */
function Linked({ secondaries, add, notifies, removes }: LinkedProps) {
  const { base, outgoing, isLinked, status, sending, remove } = secondaries;
  if (!isLinked || !status.answer || !outgoing.answer) return null;
  const { soa_serial: serial, last_transferred_time: transferred } = outgoing.answer.result;
  const notify = (): void => void sending.send('POST', `${base}/outgoing/force_notify`, { body: {} });
  const actions = (
    <div class="actions">
      {notifies && <Button disabled={sending.busy} onClick={notify} text="Notify them now" />}
      {add}
    </div>
  );
  return (
    <Panel title="Secondaries" aside={actions}>
      <Secondaries
        peers={status.answer.result}
        serial={serial}
        onRemove={removes ? remove : undefined}
        busy={sending.busy}
      />
      {transferred !== null && (
        <p class="hint">
          Transferred last <Time at={transferred} />.
        </p>
      )}
    </Panel>
  );
}

function NotLinked({ zone, children }: { readonly zone: Zone; readonly children: ComponentChildren }) {
  const isCopy = zone.type === 'secondary';
  return (
    <Empty title={isCopy ? 'No other server copies this zone from here' : 'No other server has this zone'}>
      <p>
        A secondary is another name server that copies the zone and answers when this one cannot. NSD, Knot, BIND and
        hosted services can be one.
      </p>
      {children}
    </Empty>
  );
}

interface SecondariesProps {
  readonly peers: readonly PeerStatus[];
  readonly serial: number;
  /** Undefined for who may not. */
  readonly onRemove: ((id: string) => void) | undefined;
  readonly busy: boolean;
}

function Secondaries({ peers, serial, onRemove, busy }: SecondariesProps) {
  return (
    <TableFrame label="List of secondaries" class="stacked">
      <Columns
        names={['Server', 'State', 'Serial there', 'Last answer']}
        numbers={['Serial there']}
        actions={onRemove !== undefined}
      />
      <tbody>
        {peers.map((peer) => (
          <tr key={peer.id}>
            <th scope="row">
              {peer.name} <span class="muted mono">{peer.ip === null ? '' : `${peer.ip} port ${peer.port}`}</span>
            </th>
            <td>
              <PeerState peer={peer} />
              {peer.error !== null && <span class="muted"> {inWords(peer.error)}</span>}
            </td>
            <td class="number" data-name="Serial">
              {peer.serial ?? '–'} <span class="muted">of {serial}</span>
            </td>
            <Cell
              class="muted"
              name="Last answer"
              value={peer.seen_time === null ? 'never' : <Time at={peer.seen_time} />}
            />
            {onRemove && (
              <td class="row-actions">
                <Confirm verb="Remove" what={peer.name} busy={busy} quiet onConfirm={() => onRemove(peer.id)} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </TableFrame>
  );
}

function PeerState({ peer }: { readonly peer: PeerStatus }) {
  if (peer.error !== null) {
    return <span class="chip bad">{peer.error.includes('its answer') ? 'No valid answer' : 'Does not answer'}</span>;
  }
  if (peer.in_sync) return <span class="chip good">In step</span>;
  if (peer.ahead) return <span class="chip bad">Ahead: it has a newer version</span>;
  return <span class="chip wait">Behind</span>;
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
      <ListTable
        label="TSIG keys"
        columns={['Name', 'Algorithm', 'Used by', 'May change records']}
        items={list}
        keyOf={({ id }) => id}
        row={(key) => (
          <tr>
            <RowHead class="mono" value={key.name} />
            <td class="muted">{key.algo}</td>
            <Cell class="long" name="Used by" value={used(key.id) || <span class="muted">nobody</span>} />
            <Cell
              class="muted"
              name="May change records:"
              value={key.policies.length > 0 ? 'as its policies say' : 'no'}
            />
          </tr>
        )}
      />
      <p class="hint">
        <Link href="/servers">Servers</Link> shows their secrets to those who may see them, and{' '}
        <code>zoneplane secondary print</code> prints the configuration of the other server with its key.
      </p>
    </Panel>
  );
}
