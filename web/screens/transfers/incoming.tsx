/** A zone that is copied from another server: how far it is, from where it comes, and what can be done about it. */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { ListTable } from '../../kit/list.js';
import { readAgain, useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { type Fact, Facts, Panel } from '../../parts/facts.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { Cell } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import type { Incoming, IncomingStatus, Zone } from '../../types.js';
import { PrimaryForm } from './primary-form.js';
import { inWords } from './words.js';

const REFRESH_MS = 3000;

type State = IncomingStatus['state'];

const WORDS: Readonly<Record<State, readonly [title: string, text: string]>> = {
  waiting: ['Nothing was transferred yet', 'The zone is answered as soon as a primary has sent it.'],
  current: [
    'The copy is up to date',
    'It is compared with the primary regularly, and at once when the primary says so.',
  ],
  failing: [
    'No primary answers as it should',
    'The copy that is here is answered until it expires. It is tried again by itself.',
  ],
  expired: [
    'The copy has expired',
    'No primary has answered for longer than the SOA permits, so that resolvers get SERVFAIL. The zone comes back as soon as a primary answers.',
  ],
};

interface CopiedProps {
  readonly zone: Zone;
  readonly writes: boolean;
  /** Whether the credential may end that the zone is a copy. */
  readonly writesZone: boolean;
}

export function Copied({ zone, writes, writesZone }: CopiedProps) {
  const base = `/zones/${zone.id}/secondary_dns`;
  const incoming = useLoad<Incoming>(`${base}/incoming`);
  const hasPrimaries = incoming.answer !== undefined && incoming.error === undefined;
  const status = useLoad<IncomingStatus>(hasPrimaries ? `${base}/incoming/status` : undefined, {
    everyMs: REFRESH_MS,
    told: true,
  });
  const [changing, setChanging] = useState(false);
  const sending = useSending(readAgain);
  const reload = (): void => {
    incoming.reload();
    status.reload();
  };
  if (incoming.error && incoming.error.status !== 404) return <ErrorNote error={incoming.error} onRetry={reload} />;
  if (!incoming.answer && !incoming.error) return <Loading what="the primaries" />;
  if (!hasPrimaries || changing) {
    return (
      <PrimaryForm
        zone={zone}
        writes={writes}
        chosen={hasPrimaries ? incoming.answer!.result.peers : undefined}
        onDone={() => {
          setChanging(false);
          reload();
        }}
        onCancel={hasPrimaries ? () => setChanging(false) : undefined}
      />
    );
  }
  const run = (work: () => Promise<unknown>): void =>
    void sending.run(async () => {
      await work();
      reload();
    });
  const makePrimary = { method: 'PATCH', path: `/zones/${zone.id}`, body: { type: 'full' } } as const;
  return (
    <>
      {sending.error && <ErrorNote error={sending.error} />}
      {status.answer && <Statement status={status.answer.result} />}
      <Panel title="Where it comes from">
        {status.answer && <Primaries status={status.answer.result} />}
        {status.answer && <Times status={status.answer.result} />}
        {writes && (
          <div class="actions">
            <Button
              disabled={sending.busy}
              onClick={() => run(() => call('POST', `${base}/force_axfr`, { body: {} }))}
              text="Transfer it now"
            />
            <Button onClick={() => setChanging(true)} text="Change the primaries" />
          </div>
        )}
        <Curl
          request={{ method: 'GET', path: `${base}/incoming/status` }}
          {...(writes && { others: { 'Transfer it now': { method: 'POST', path: `${base}/force_axfr`, body: {} } } })}
        />
      </Panel>
      {writesZone && (
        <Panel title="Edit it here instead">
          <p class="muted">
            Transfers end, and the records that are here become records of this server, which can be edited. Then let
            the registrar and other secondaries use this server.
          </p>
          <Confirm
            verb="Make it a primary zone"
            what={zone.name}
            busy={sending.busy}
            onConfirm={() => void sending.send(makePrimary.method, makePrimary.path, { body: makePrimary.body })}
          />
          <Curl request={makePrimary} />
        </Panel>
      )}
    </>
  );
}

function Times({ status }: { readonly status: IncomingStatus }) {
  const times: Fact[] = [
    ['Serial here', status.soa_serial],
    ['Transferred last', status.last_transferred_time],
    ['A primary answered last', status.checked_time],
    ['Looked at next', status.next_check_time],
    ['Expires, unless a primary answers', status.expires_time],
  ].flatMap(([name, value]) =>
    value === null ? [] : [{ name: name as string, value: typeof value === 'number' ? value : <Time at={value!} /> }],
  );
  return <Facts facts={times} />;
}

function Statement({ status }: { readonly status: IncomingStatus }) {
  const { state, error, notice } = status;
  const [title, text] = WORDS[state];
  return (
    <section class={`statement ${state === 'current' ? 'statement-good' : ''}`} aria-label="State">
      <div>
        <h2>{title}</h2>
        <p>{text}</p>
        {error !== null && <p class="problem">{inWords(error)}</p>}
        {notice !== null && <p>{notice}</p>}
      </div>
    </section>
  );
}

function Primaries({ status: { primaries } }: { readonly status: IncomingStatus }) {
  return (
    <ListTable
      label="Primaries"
      columns={['Server', 'Serial there', 'Last answer']}
      numbers={['Serial there']}
      items={primaries}
      keyOf={({ id }) => id}
      row={({ name, ip, port, serial, seen_time: seen, error }) => (
        <tr>
          <th scope="row">
            {name === ip ? '' : `${name} `}
            <span class="muted mono">{ip === null ? '' : `${ip} port ${port}`}</span>
          </th>
          <Cell class="number" name="Serial" value={serial ?? '–'} />
          <td data-name="Last answer">
            <span class="muted">{seen === null ? 'never' : <Time at={seen} />}</span>
            {error !== null && <span class="problem"> {inWords(error)}</span>}
          </td>
        </tr>
      )}
    />
  );
}
