/** What each role permits, and the groups of zones to which policies refer. */

import { useState } from 'preact/hooks';
import { call } from '../../../api.js';
import { Button } from '../../../kit/button.js';
import type { Named } from '../../../kit/checks.js';
import { Form, TextField } from '../../../kit/form.js';
import { ListState, ListTable } from '../../../kit/list.js';
import { useLoad, useSending } from '../../../load.js';
import { Delete } from '../../../parts/confirm.js';
import { Curl } from '../../../parts/curl.js';
import { Panel } from '../../../parts/facts.js';
import { ErrorNote } from '../../../parts/notes.js';
import { RowButton } from '../../../parts/row-button.js';
import { Cell, RowHead } from '../../../parts/table.js';
import type { PermissionGroupOfMembers, ResourceGroup, Zone } from '../../../types.js';
import { InAccount, type InAccountProps } from './in-account.js';
import { scopeOf, zoneIdsOf } from './policy.js';
import { ZoneChoice } from './zone-choice.js';

export function Roles() {
  return <InAccount what="roles" shown={RolesOf} />;
}

function RolesOf({ account, writes }: InAccountProps) {
  const path = `/accounts/${account}/iam/permission_groups`;
  const loaded = useLoad<PermissionGroupOfMembers[]>(`${path}?per_page=50`);
  return (
    <>
      <ListState loaded={loaded} what="roles" />
      <ListTable
        label="Roles"
        columns={['Name', 'What it permits', 'Where']}
        items={loaded.answer?.result ?? []}
        keyOf={({ id }) => id}
        row={({ name, meta }) => (
          <tr>
            <th scope="row">{name}</th>
            <td class="long">{meta.description}</td>
            <Cell
              class="muted"
              name="Where"
              value={meta.scopes.endsWith('.zone') ? 'in policies, for zones' : 'in the account, or in policies'}
            />
          </tr>
        )}
      />
      <ZoneGroups account={account} writes={writes} />
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}

function ZoneGroups({ account, writes }: InAccountProps) {
  const path = `/accounts/${account}/iam/resource_groups`;
  const { answer, error, reload } = useLoad<ResourceGroup[]>(path);
  const zones = useLoad<Zone[]>(`/zones?account.id=${account}&per_page=50&order=name`).answer?.result ?? [];
  const [edited, setEdited] = useState<ResourceGroup | 'new'>();
  const sending = useSending(reload);
  const groups = answer?.result ?? [];
  return (
    <Panel title="Groups of zones">
      <p class="muted">Policies of members and groups can apply to these.</p>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {sending.error && <ErrorNote error={sending.error} />}
      {answer && groups.length === 0 && <p>There are none yet.</p>}
      <ListTable
        label="List of groups of zones"
        columns={['Name', 'Zones']}
        actions={writes}
        items={groups}
        keyOf={({ id }) => id}
        row={(group) => (
          <tr>
            <RowHead value={<bdi>{group.name}</bdi>} />
            <td class="long">{zonesInWords(group, zones)}</td>
            {writes && (
              <td class="row-actions">
                <RowButton verb="Change" what={group.name} onClick={() => setEdited(group)} />
                <Delete what={group.name} quiet path={`${path}/${group.id}`} sending={sending} />
              </td>
            )}
          </tr>
        )}
      />
      {writes && edited === undefined && <Button onClick={() => setEdited('new')} text="New group of zones" />}
      {edited && (
        <ZoneGroupForm
          key={edited === 'new' ? 'new' : edited.id}
          account={account}
          zones={zones}
          {...(edited !== 'new' && { group: edited })}
          onDone={() => {
            setEdited(undefined);
            reload();
          }}
          onCancel={() => setEdited(undefined)}
        />
      )}
    </Panel>
  );
}

function zonesInWords(group: ResourceGroup, zones: readonly Zone[]): string {
  const ids = zoneIdsOf(group);
  if (!ids) return 'everything in the account';
  return ids.map((id) => zones.find((zone) => zone.id === id)?.name ?? id).join(', ') || 'none: it grants nothing';
}

interface ZoneGroupFormProps {
  readonly account: string;
  readonly zones: readonly Zone[];
  readonly group?: ResourceGroup;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

function ZoneGroupForm({ account, zones, group, onDone, onCancel }: ZoneGroupFormProps) {
  const known = (group && zoneIdsOf(group)) ?? [];
  const [name, setName] = useState(group?.name ?? '');
  const [chosen, setChosen] = useState<readonly Named[]>(() =>
    known.map((id) => ({ id, name: zones.find((zone) => zone.id === id)?.name ?? id })),
  );
  const sending = useSending();
  const path = `/accounts/${account}/iam/resource_groups`;
  const body = { name: name.trim(), scope: scopeOf(account, chosen) };
  const submit = (): void =>
    void sending.run(async () => {
      await (group ? call('PUT', `${path}/${group.id}`, { body }) : call('POST', path, { body }));
      onDone();
    });
  return (
    <Form
      sending={sending}
      verb="Save the group of zones"
      doing="Saving…"
      disabled={chosen.length === 0}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <TextField label="Name of the group" required maxLength={100} value={name} onChange={setName} />
      <ZoneChoice account={account} chosen={chosen} onChange={setChosen} />
      <Curl request={{ method: 'POST', path, body }} />
    </Form>
  );
}
