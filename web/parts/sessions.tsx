/** Who is signed in to the dashboard, and ending that. */

import { ListTable } from '../kit/list.js';
import { useLoad, useSending } from '../load.js';
import type { Session } from '../types.js';
import { Confirm } from './confirm.js';
import { Curl } from './curl.js';
import { ErrorNote, Loading } from './notes.js';
import { Cell } from './table.js';
import { Time } from './time.js';

export function Sessions() {
  const path = '/user/sessions';
  const { answer, error, reload } = useLoad<Session[]>(path);
  const sending = useSending(reload);
  const end = (id: string): void => void sending.send('DELETE', `${path}/${id}`);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return <Loading what="sessions" />;
  return (
    <>
      {sending.error && <ErrorNote error={sending.error} />}
      <ListTable
        label="Sessions"
        columns={['Who', 'From', 'Used', 'Ends']}
        actions
        items={answer.result}
        keyOf={({ id }) => id}
        row={(session) => (
          <tr>
            <th scope="row">
              {session.user.email} {session.current && <span class="chip good">This one</span>}
              <div class="muted small">
                {session.credential
                  ? `${session.credential.type} “${session.credential.name}”`
                  : `signed in with ${session.how.join(', ')}`}
              </div>
            </th>
            <td>
              <span class="mono">{session.address}</span>
              <div class="muted small long">{session.user_agent}</div>
            </td>
            <Cell class="muted" name="Used" value={<Time at={session.last_used_on} />} />
            <Cell class="muted" name="Ends" value={<Time at={session.expires_on} />} />
            <td class="row-actions">
              {!session.current && (
                <Confirm
                  verb="End"
                  what={`the session from ${session.address}`}
                  busy={sending.busy}
                  quiet
                  onConfirm={() => end(session.id)}
                />
              )}
            </td>
          </tr>
        )}
      />
      <p class="hint">A session also ends after 12 hours without use, and when its key or token is revoked.</p>
      <Curl request={{ method: 'GET', path }} others={{ 'End a session': { method: 'DELETE', path: `${path}/ID` } }} />
    </>
  );
}
