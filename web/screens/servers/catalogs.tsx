/** Catalog zones (RFC 9432) of this server: lists of zones, by which other servers learn of new and removed zones. */

import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { ChoiceField, Form, TextField } from '../../kit/form.js';
import { ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { Cell, RowHead } from '../../parts/table.js';
import type { Catalog, CatalogMember } from '../../types.js';
import { PeersOfAccount } from './peers-of-account.js';
import type { PartProps } from './servers.js';

export function Catalogs({ base, writes }: PartProps) {
  const path = `${base}/catalogs`;
  const { answer, error, reload } = useLoad<Catalog[]>(path);
  const [adding, setAdding] = useState(false);
  const [open, setOpen] = useState<string>();
  const sending = useSending();
  const remove = (id: string): void =>
    void sending.run(async () => {
      await call('DELETE', `${path}/${id}`);
      reload();
    });
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  const catalogs = answer?.result ?? [];
  const add = writes && !adding && <Button onClick={() => setAdding(true)} text="New catalog" />;
  return (
    <Panel title="Catalogs of this server" aside={add}>
      <p class="muted">
        A catalog is a zone that lists zones. Knot, BIND and NSD from 4.9 on serve what it lists: a new zone needs no
        configuration there. When a catalog is deleted, they stop serving the zones that they have from it.
      </p>
      {adding && (
        <NewCatalog
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
      <ListTable
        label="List of catalogs"
        columns={['Name', 'Lists', 'Servers', 'Serial']}
        numbers={['Servers', 'Serial']}
        actions
        items={catalogs}
        keyOf={({ id }) => id}
        row={(catalog) => (
          <tr>
            <RowHead class="long" value={catalog.name} />
            <Cell
              class="muted"
              value={
                catalog.members === 'all' ? 'all zones of the account' : 'zones that are transferred to its servers'
              }
            />
            <Cell class="number" name="Servers" value={catalog.peers.length} />
            <Cell class="number" name="Serial" value={catalog.soa_serial} />
            <td class="row-actions">
              <Button
                class="quiet"
                aria-expanded={open === catalog.id}
                onClick={() => setOpen(open === catalog.id ? undefined : catalog.id)}
                text="Members"
              />
              {writes && <Confirm what={catalog.name} busy={sending.busy} quiet onConfirm={() => remove(catalog.id)} />}
            </td>
          </tr>
        )}
      />
      {open !== undefined && <Members path={`${path}/${open}/members`} />}
      <p class="hint">
        <code>zoneplane secondary print --catalog</code> prints the configuration of the other servers.
      </p>
      <Curl request={{ method: 'GET', path }} />
    </Panel>
  );
}

function Members({ path }: { readonly path: string }) {
  const { answer, error, reload } = useLoad<CatalogMember[]>(path);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return null;
  if (answer.result.length === 0) return <p class="muted">It lists no zone yet.</p>;
  return (
    <ListTable
      label="Members of the catalog"
      columns={['Zone', 'Group', 'Member identifier']}
      items={answer.result}
      keyOf={({ zone_id }) => zone_id}
      row={({ name, group, member_id: member }) => (
        <tr>
          <th scope="row">{name}</th>
          <Cell class="muted" name="Group" value={group ?? '–'} />
          <Cell class="muted mono long" name="Identifier" value={member} />
        </tr>
      )}
    />
  );
}

interface NewCatalogProps {
  readonly path: string;
  readonly base: string;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

function NewCatalog({ path, base, onDone, onCancel }: NewCatalogProps) {
  const [name, setName] = useState('');
  const [peers, setPeers] = useState<readonly string[]>([]);
  const [members, setMembers] = useState<Catalog['members']>('all');
  const sending = useSending(onDone);
  const body = { ...(name.trim() !== '' && { name: name.trim() }), peers, members };
  const submit = (): void => {
    void sending.send('POST', path, { body });
  };
  return (
    <Form
      onSubmit={submit}
      sending={sending}
      verb="Make the catalog"
      doing="Making it…"
      disabled={peers.length === 0}
      onCancel={onCancel}
    >
      <PeersOfAccount base={base} legend="For the servers" chosen={peers} onChange={setPeers} />
      <ChoiceField
        label="It lists"
        value={members}
        onChange={(value) => setMembers(value === 'all' ? 'all' : 'linked')}
      >
        <option value="all">all zones of the account, also new ones</option>
        <option value="linked">zones that are transferred to these servers already</option>
      </ChoiceField>
      <TextField
        label="Name of the catalog"
        spellcheck={false}
        value={name}
        placeholder="chosen for you"
        onChange={setName}
        hint="Only the servers see it."
      />
      <Curl request={{ method: 'POST', path, body }} />
    </Form>
  );
}
