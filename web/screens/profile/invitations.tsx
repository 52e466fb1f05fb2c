/** The open invitations of the user, and the accounts in which the user is a member. */

import { call } from '../../api.js';
import { Button } from '../../kit/button.js';
import { ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { ErrorNote } from '../../parts/notes.js';
import { Cell, RowHead } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import type { Invite, Membership } from '../../types.js';

const INVITES = '/user/invites';
const MEMBERSHIPS = '/memberships';

/** `onAnswered`: called when the rights of the user may have changed. */
export function Invitations({ onAnswered }: { readonly onAnswered: () => void }) {
  const { answer, reload } = useLoad<Invite[]>(INVITES);
  const sending = useSending();
  const open = (answer?.result ?? []).filter(({ status }) => status === 'pending');
  const reply = (id: string, status: 'accepted' | 'rejected'): void =>
    void sending.run(async () => {
      await call('PATCH', `${INVITES}/${id}`, { body: { status } });
      reload();
      onAnswered();
    });
  if (open.length === 0) return null;
  return (
    <section class="panel">
      <h2>Invitations</h2>
      {sending.error && <ErrorNote error={sending.error} />}
      <ListTable
        label="Invitations"
        columns={['Account', 'Roles', 'Ends']}
        actions
        items={open}
        keyOf={({ id }) => id}
        row={(invite) => (
          <tr>
            <th scope="row">
              <bdi>{invite.organization_name}</bdi>
              <div class="muted small">
                from <bdi>{invite.invited_by}</bdi>
              </div>
            </th>
            <td>{invite.roles.join(', ') || 'as its policies say'}</td>
            <Cell class="muted" name="Ends" value={<Time at={invite.expires_on} />} />
            <td class="row-actions">
              <Button
                class="primary"
                aria-label={`Join ${invite.organization_name}`}
                disabled={sending.busy}
                onClick={() => reply(invite.id, 'accepted')}
                text="Join"
              />
              <Confirm
                verb="Decline"
                what={`the invitation to ${invite.organization_name}`}
                busy={sending.busy}
                quiet
                onConfirm={() => reply(invite.id, 'rejected')}
              />
            </td>
          </tr>
        )}
      />
      <Curl
        request={{ method: 'GET', path: INVITES }}
        others={{ Join: { method: 'PATCH', path: `${INVITES}/ID`, body: { status: 'accepted' } } }}
      />
    </section>
  );
}

export function Memberships({ onLeft }: { readonly onLeft: () => void }) {
  const path = `${MEMBERSHIPS}?per_page=50&status=accepted`;
  const { answer, error, reload } = useLoad<Membership[]>(path);
  const sending = useSending();
  const leave = (id: string): void =>
    void sending.run(async () => {
      await call('DELETE', `${MEMBERSHIPS}/${id}`);
      reload();
      onLeft();
    });
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer || answer.result.length === 0) return null;
  return (
    <section class="panel">
      <h2>Accounts</h2>
      {sending.error && <ErrorNote error={sending.error} />}
      <ListTable
        label="Your accounts"
        columns={['Account', 'Roles']}
        actions
        items={answer.result}
        keyOf={({ id }) => id}
        row={({ id, account, roles, policies }) => (
          <tr>
            <RowHead value={<bdi>{account.name}</bdi>} />
            <td class="muted">{roles.join(', ') || rolesOf(policies)}</td>
            <td class="row-actions">
              <Confirm verb="Leave" what={account.name} busy={sending.busy} quiet onConfirm={() => leave(id)} />
            </td>
          </tr>
        )}
      />
    </section>
  );
}

function rolesOf(policies: Membership['policies']): string {
  return (policies ?? []).flatMap(({ permission_groups: groups }) => groups.map(({ name }) => name)).join(', ');
}
