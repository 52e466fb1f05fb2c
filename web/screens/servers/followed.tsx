/** Catalogs of other servers, whose zones are copied here, and zones that left them. */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { Form, TextField } from '../../kit/form.js';
import { ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { Cell, Columns, RowHead, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import type { Consumed, ConsumedMember, RemovedZone } from '../../types.js';
import { PeersOfAccount } from './peers-of-account.js';
import type { PartProps } from './servers.js';

const REFRESH_MS = 5000;

const STATES: Readonly<Record<Consumed['state'], readonly [text: string, tone: string]>> = {
  waiting: ['Not transferred yet', 'wait'],
  current: ['Followed', 'good'],
  broken: ['Its newest version is wrong', 'bad'],
  held: ['Waits for you', 'wait'],
};

export function Followed({ base, writes }: PartProps) {
  const path = `${base}/consumed_catalogs`;
  const { answer, error, reload } = useLoad<Consumed[]>(path, { everyMs: REFRESH_MS, told: true });
  const removed = useLoad<RemovedZone[]>(`${base}/removed_zones`, { everyMs: REFRESH_MS, told: true });
  const [adding, setAdding] = useState(false);
  const [open, setOpen] = useState<string>();
  const sending = useSending();
  const send = (method: 'POST' | 'DELETE', at: string): void =>
    void sending.run(async () => {
      await call(method, at);
      reload();
      removed.reload();
    });
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  const catalogs = answer?.result ?? [];
  const add = writes && !adding && <Button onClick={() => setAdding(true)} text="Follow a catalog" />;
  return (
    <>
      <Panel title="Catalogs of other servers" aside={add}>
        <p class="muted">Each zone that such a catalog lists is copied here, from the servers of the catalog.</p>
        {adding && (
          <Follow
            path={path}
            base={base}
            onDone={() => {
              setAdding(false);
              reload();
            }}
            onCancel={() => setAdding(false)}
          />
        )}
        {sending.error && <ErrorNote error={sending.error} />}
        {catalogs.length > 0 && (
          <TableFrame label="List of followed catalogs" class="stacked">
            <Columns names={['Name', 'State', 'Zones here', 'Followed last']} numbers={['Zones here']} actions />
            <tbody>
              {catalogs.map((catalog) => (
                <OneFollowed
                  key={catalog.id}
                  catalog={catalog}
                  writes={writes}
                  busy={sending.busy}
                  onOpen={() => setOpen(open === catalog.id ? undefined : catalog.id)}
                  isOpen={open === catalog.id}
                  onConfirm={() => send('POST', `${path}/${catalog.id}/confirm`)}
                  onForget={() => send('DELETE', `${path}/${catalog.id}`)}
                />
              ))}
            </tbody>
          </TableFrame>
        )}
        {open !== undefined && <FollowedMembers path={`${path}/${open}/members`} />}
        <Curl request={{ method: 'GET', path }} />
      </Panel>
      {removed.answer && removed.answer.result.length > 0 && (
        <Removed
          zones={removed.answer.result}
          writes={writes}
          busy={sending.busy}
          onRestore={(id) => send('POST', `${base}/removed_zones/${id}/restore`)}
        />
      )}
    </>
  );
}

interface OneFollowedProps {
  readonly catalog: Consumed;
  readonly writes: boolean;
  readonly busy: boolean;
  readonly isOpen: boolean;
  readonly onOpen: () => void;
  readonly onConfirm: () => void;
  readonly onForget: () => void;
}

function OneFollowed({ catalog, writes, busy, isOpen, onOpen, onConfirm, onForget }: OneFollowedProps) {
  const { name, state, fault, held, zones, problems, followed_time: followed } = catalog;
  const [text, tone] = STATES[state];
  return (
    <tr>
      <RowHead class="long" value={name} />
      <td>
        <span class={`chip ${tone}`}>{text}</span>
        {fault !== null && <span class="problem"> {fault}</span>}
        {state === 'held' && (
          <span class="muted"> {held} zones are not in its newest version. They stay until you let them go.</span>
        )}
      </td>
      <td class="number" data-name="Zones here">
        {zones}
        {problems > 0 && <span class="muted"> and {problems} that cannot be here</span>}
      </td>
      <Cell class="muted" name="Followed last" value={followed === null ? 'never' : <Time at={followed} />} />
      <td class="row-actions">
        <Button class="quiet" aria-expanded={isOpen} onClick={onOpen} text="Members" />
        {writes && state === 'held' && (
          <Confirm verb="Let them go" what={`of ${name}`} busy={busy} quiet onConfirm={onConfirm} />
        )}
        {writes && <Confirm verb="Follow no longer" what={name} busy={busy} quiet onConfirm={onForget} />}
      </td>
    </tr>
  );
}

function FollowedMembers({ path }: { readonly path: string }) {
  const { answer, error, reload } = useLoad<ConsumedMember[]>(path);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return null;
  if (answer.result.length === 0) return <p class="muted">It lists no zone.</p>;
  return (
    <ListTable
      label="Members of the followed catalog"
      columns={['Zone', 'State', 'Group']}
      items={answer.result}
      keyOf={({ member_id }) => member_id}
      row={({ name, problem, group, moves_to: next }) => (
        <tr>
          <th scope="row">{name}</th>
          <td>
            {problem === null ? <span class="chip good">Here</span> : <span class="problem">Not here: {problem}</span>}
            {next !== null && <span class="muted"> goes over to {next}</span>}
          </td>
          <Cell class="muted" name="Group" value={group ?? '–'} />
        </tr>
      )}
    />
  );
}

interface RemovedProps {
  readonly zones: readonly RemovedZone[];
  readonly writes: boolean;
  readonly busy: boolean;
  readonly onRestore: (id: string) => void;
}

function Removed({ zones, writes, busy, onRestore }: RemovedProps) {
  return (
    <Panel title="Zones that left a catalog">
      <p class="muted">They are not answered any more, and are kept for some days in case that was a mistake.</p>
      <ListTable
        label="List of removed zones"
        columns={['Zone', 'Catalog', 'Left', 'Deleted']}
        actions={writes}
        items={zones}
        keyOf={({ id }) => id}
        row={({ id, name, catalog, removed_time: left, kept_until: until }) => (
          <tr>
            <th scope="row">{name}</th>
            <Cell class="muted long" name="Catalog" value={catalog} />
            <Cell class="muted" name="Left" value={<Time at={left} />} />
            <Cell class="muted" name="Deleted" value={<Time at={until} />} />
            {writes && (
              <td class="row-actions">
                <Button
                  class="quiet"
                  disabled={busy}
                  aria-label={`Serve ${name} again`}
                  onClick={() => onRestore(id)}
                  text="Serve it again"
                />
              </td>
            )}
          </tr>
        )}
      />
    </Panel>
  );
}

interface FollowProps {
  readonly path: string;
  readonly base: string;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

function Follow({ path, base, onDone, onCancel }: FollowProps) {
  const [name, setName] = useState('');
  const [peers, setPeers] = useState<readonly string[]>([]);
  const sending = useSending(onDone);
  const body = { name: name.trim(), peers };
  const submit = (): void => {
    void sending.send('POST', path, { body });
  };
  return (
    <Form
      onSubmit={submit}
      sending={sending}
      verb="Follow it"
      doing="Saving…"
      disabled={peers.length === 0}
      onCancel={onCancel}
    >
      <TextField
        label="Name of the catalog zone"
        required
        spellcheck={false}
        value={name}
        placeholder="catalog.example"
        onChange={setName}
      />
      <PeersOfAccount base={base} legend="From the servers" chosen={peers} onChange={setPeers} />
      <Curl request={{ method: 'POST', path, body }} />
    </Form>
  );
}
