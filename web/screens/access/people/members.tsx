/** The members of an account: who they are, what they may do, and whether they have accepted. */

import { useState } from 'preact/hooks';
import { call, pathWith } from '../../../api.js';
import { Button } from '../../../kit/button.js';
import { Form } from '../../../kit/form.js';
import { ListState, ListTable } from '../../../kit/list.js';
import { useLoad, useSending } from '../../../load.js';
import { Confirm } from '../../../parts/confirm.js';
import { Curl } from '../../../parts/curl.js';
import { Dialog } from '../../../parts/dialog.js';
import { ErrorNote } from '../../../parts/notes.js';
import { Paging } from '../../../parts/paging.js';
import { RowButton } from '../../../parts/row-button.js';
import { Cell, RowHead } from '../../../parts/table.js';
import { Time } from '../../../parts/time.js';
import { usePlace } from '../../../router.js';
import type { InvitationSent, Member } from '../../../types.js';
import { AssignmentFields, assignmentInWords, assignmentOf, isAssigned, sendAssignment } from './assignment.js';
import { InAccount, type InAccountProps } from './in-account.js';
import { HandOn, Invite } from './invite.js';

export function Members() {
  return <InAccount what="members" shown={MembersOf} />;
}

function MembersOf({ account, writes }: InAccountProps) {
  const { query } = usePlace();
  const path = `/accounts/${account}/members`;
  const page = { page: query.get('page') ?? undefined, per_page: 50, order: 'user.email' };
  const { answer, error, reload } = useLoad<Member[]>(pathWith(path, page));
  const [isInviting, setInviting] = useState(false);
  const [changing, setChanging] = useState<Member>();
  const [sent, setSent] = useState<InvitationSent>();
  const sending = useSending(reload);
  const renew = (id: string): void =>
    void sending.run(async () => {
      setSent((await call<InvitationSent>('POST', `${path}/${id}/invitation`)).result);
      reload();
    });
  return (
    <>
      {writes && !isInviting && (
        <div class="tools">
          <Button class="primary" onClick={() => setInviting(true)} text="Invite a member" />
        </div>
      )}
      {isInviting && (
        <Invite
          account={account}
          onInvited={(invited) => {
            setInviting(false);
            setSent(invited);
            reload();
          }}
          onCancel={() => setInviting(false)}
        />
      )}
      {sent && <HandOn sent={sent} onClose={() => setSent(undefined)} />}
      <ListState loaded={{ answer, error, reload }} what="members" />
      {sending.error && <ErrorNote error={sending.error} />}
      <ListTable
        label="Members"
        columns={['Who', 'Permissions', 'Second factor', 'Last active']}
        actions={writes}
        items={answer?.result ?? []}
        keyOf={({ id }) => id}
        row={(member) => (
          <MemberRow
            member={member}
            writes={writes}
            busy={sending.busy}
            onChange={() => setChanging(member)}
            onRenew={() => renew(member.id)}
            onRemove={() => void sending.send('DELETE', `${path}/${member.id}`)}
          />
        )}
      />
      {answer?.info && <Paging info={answer.info} nouns={['member', 'members']} />}
      {changing && (
        <Change
          account={account}
          member={changing}
          onClose={() => setChanging(undefined)}
          onChanged={() => {
            setChanging(undefined);
            reload();
          }}
        />
      )}
      <Curl
        request={{ method: 'GET', path }}
        {...(writes && { others: { 'Remove a member': { method: 'DELETE', path: `${path}/ID` } } })}
      />
    </>
  );
}

interface MemberRowProps {
  readonly member: Member;
  readonly writes: boolean;
  readonly busy: boolean;
  readonly onChange: () => void;
  readonly onRenew: () => void;
  readonly onRemove: () => void;
}

function MemberRow({ member, writes, busy, onChange, onRenew, onRemove }: MemberRowProps) {
  const { email } = member;
  return (
    <tr>
      <RowHead value={<Person member={member} />} />
      <td class="long">{assignmentInWords(member)}</td>
      <Cell class="muted" name="Second factor" value={factorInWords(member)} />
      <Cell
        class="muted"
        name="Last active"
        value={member.last_active_on === null ? 'never' : <Time at={member.last_active_on} />}
      />
      {writes && (
        <td class="row-actions">
          <RowButton verb="Change" what={`what ${email} may do`} onClick={onChange} />
          {member.status === 'pending' && (
            <Button
              class="quiet"
              aria-label={`Invite again: ${email}`}
              disabled={busy}
              onClick={onRenew}
              text="Invite again"
            />
          )}
          <Confirm verb="Remove" what={email} busy={busy} quiet onConfirm={onRemove} />
        </td>
      )}
    </tr>
  );
}

function Person({ member: { email, status, invite, user } }: { readonly member: Member }) {
  const name = [user.first_name, user.last_name].filter(Boolean).join(' ');
  return (
    <>
      <bdi>{email}</bdi>{' '}
      {status === 'pending' && <span class="chip wait">{invite?.expired ? 'invitation expired' : 'invited'}</span>}
      {name !== '' && (
        <div class="muted small">
          <bdi>{name}</bdi>
        </div>
      )}
    </>
  );
}

function factorInWords({ user: { two_factor_authentication_enabled: has } }: Member): string {
  return has === undefined ? '' : has ? 'yes' : 'no';
}

interface ChangeProps {
  readonly account: string;
  readonly member: Member;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function Change({ account, member, onClose, onChanged }: ChangeProps) {
  const [value, setValue] = useState(() => assignmentOf(member));
  const sending = useSending();
  const submit = (): void =>
    void sending.run(async () => {
      await sendAssignment(account, member.id, value);
      onChanged();
    });
  return (
    <Dialog title={`What ${member.email} may do`} onClose={onClose}>
      <Form
        sending={sending}
        verb="Save"
        doing="Saving…"
        disabled={!isAssigned(value)}
        onSubmit={submit}
        onCancel={onClose}
      >
        <AssignmentFields account={account} value={value} onChange={setValue} />
      </Form>
      <Curl request={{ method: 'PUT', path: `/accounts/${account}/members/${member.id}`, body: EXAMPLE }} />
    </Dialog>
  );
}

const EXAMPLE = { roles: [{ id: 'ROLE' }] };
