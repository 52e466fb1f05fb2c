/** User groups: members who share policies. */

import { useState } from 'preact/hooks';
import { call } from '../../../api.js';
import { Button } from '../../../kit/button.js';
import { ChoiceField, Form, LineForm, TextField } from '../../../kit/form.js';
import { ListState, ListTable } from '../../../kit/list.js';
import { useLoad, useSending } from '../../../load.js';
import { Delete } from '../../../parts/confirm.js';
import { Curl } from '../../../parts/curl.js';
import { Dialog } from '../../../parts/dialog.js';
import { Panel } from '../../../parts/facts.js';
import { Empty, ErrorNote, Loading } from '../../../parts/notes.js';
import { RowButton } from '../../../parts/row-button.js';
import { RowHead } from '../../../parts/table.js';
import type { GroupMember, Member, UserGroup } from '../../../types.js';
import { InAccount, type InAccountProps } from './in-account.js';
import { Policies } from './policies.js';
import { draftOf, type PolicyDraft, policiesOf, policyInWords } from './policy.js';

export function Groups() {
  return <InAccount what="groups" shown={GroupsOf} />;
}

function GroupsOf({ account, writes }: InAccountProps) {
  const path = `/accounts/${account}/iam/user_groups`;
  const { answer, error, reload } = useLoad<UserGroup[]>(`${path}?per_page=50`);
  /** `new`: the form for a new one. */
  const [edited, setEdited] = useState<UserGroup | 'new'>();
  const [opened, setOpened] = useState<UserGroup>();
  const sending = useSending(reload);
  const done = (): void => {
    setEdited(undefined);
    reload();
  };
  return (
    <>
      {writes && edited !== 'new' && (
        <div class="tools">
          <Button class="primary" onClick={() => setEdited('new')} text="New group" />
        </div>
      )}
      {edited === 'new' && (
        <Panel title="New group">
          <GroupForm account={account} onDone={done} onCancel={() => setEdited(undefined)} />
        </Panel>
      )}
      <ListState loaded={{ answer, error, reload }} what="groups" />
      {sending.error && <ErrorNote error={sending.error} />}
      {answer?.result.length === 0 && edited !== 'new' && (
        <Empty title="There are no groups yet">
          <p>Members of a group have its policies in addition to their own.</p>
        </Empty>
      )}
      <ListTable
        label="Groups"
        columns={['Name', 'Permissions']}
        actions
        items={answer?.result ?? []}
        keyOf={({ id }) => id}
        row={(group) => (
          <tr>
            <RowHead value={<bdi>{group.name}</bdi>} />
            <td class="long">{group.policies.map((policy) => policyInWords(draftOf(policy))).join('; ')}</td>
            <td class="row-actions">
              <RowButton verb="Members" what={`of ${group.name}`} onClick={() => setOpened(group)} />
              {writes && (
                <>
                  <RowButton verb="Change" what={group.name} onClick={() => setEdited(group)} />
                  <Delete what={group.name} quiet path={`${path}/${group.id}`} sending={sending} />
                </>
              )}
            </td>
          </tr>
        )}
      />
      {edited !== undefined && edited !== 'new' && (
        <Dialog title={`The group ${edited.name}`} onClose={() => setEdited(undefined)}>
          <GroupForm account={account} group={edited} onDone={done} onCancel={() => setEdited(undefined)} />
        </Dialog>
      )}
      {opened && (
        <Dialog title={`Members of ${opened.name}`} onClose={() => setOpened(undefined)}>
          <MembersOfGroup account={account} path={`${path}/${opened.id}/members`} writes={writes} />
        </Dialog>
      )}
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}

interface GroupFormProps {
  readonly account: string;
  readonly group?: UserGroup;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

function GroupForm({ account, group, onDone, onCancel }: GroupFormProps) {
  const [name, setName] = useState(group?.name ?? '');
  const [policies, setPolicies] = useState<readonly PolicyDraft[]>(() => group?.policies.map(draftOf) ?? []);
  const sending = useSending();
  const path = `/accounts/${account}/iam/user_groups`;
  const submit = (): void =>
    void sending.run(async () => {
      const body = { name: name.trim(), policies: await policiesOf(account, policies) };
      await (group ? call('PUT', `${path}/${group.id}`, { body }) : call('POST', path, { body }));
      onDone();
    });
  return (
    <Form sending={sending} verb="Save the group" doing="Saving…" onSubmit={submit} onCancel={onCancel}>
      <TextField label="Name of the group" required maxLength={100} value={name} onChange={setName} />
      <Policies account={account} policies={policies} onChange={setPolicies} />
      <Curl request={{ method: 'POST', path, body: { name, policies: [] } }} />
    </Form>
  );
}

interface MembersOfGroupProps extends InAccountProps {
  readonly path: string;
}

function MembersOfGroup({ account, path, writes }: MembersOfGroupProps) {
  const { answer, error, reload } = useLoad<GroupMember[]>(`${path}?per_page=50`);
  const members = useLoad<Member[]>(`/accounts/${account}/members?per_page=50&order=user.email`);
  const [added, setAdded] = useState('');
  const sending = useSending(() => {
    setAdded('');
    reload();
  });
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return <Loading what="the members" />;
  const isIn = ({ id }: Member): boolean => answer.result.some((one) => one.id === id);
  const others = (members.answer?.result ?? []).filter((member) => !isIn(member));
  return (
    <>
      {answer.result.length === 0 && <p class="muted">There are none yet.</p>}
      <ListTable
        label="Members of the group"
        columns={['Who']}
        actions={writes}
        items={answer.result}
        keyOf={({ id }) => id}
        row={({ id, email }) => (
          <tr>
            <RowHead value={<bdi>{email}</bdi>} />
            {writes && (
              <td class="row-actions">
                <Delete verb="Remove" what={email} quiet path={`${path}/${id}`} sending={sending} />
              </td>
            )}
          </tr>
        )}
      />
      {writes && others.length > 0 && (
        <LineForm
          sending={sending}
          verb="Add to the group"
          doing="Adding…"
          disabled={added === ''}
          onSubmit={() => sending.send('POST', path, { body: [{ id: added }] })}
        >
          <ChoiceField
            label="Member"
            value={added}
            onChange={setAdded}
            choices={others.map(({ id, email }) => [id, email] as const)}
          >
            <option value="">Choose a member</option>
          </ChoiceField>
        </LineForm>
      )}
      <Curl request={{ method: 'POST', path, body: [{ id: added || 'MEMBER' }] }} />
    </>
  );
}
