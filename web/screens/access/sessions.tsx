/** Who is signed in to the dashboard, and ending that. */
import { call } from '../../api.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { Columns, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import type { Session } from '../../types.js';

export function Sessions() {
  const path = '/user/sessions';
  const { answer, error, reload } = useLoad<Session[]>(path);
  const sending = useSending();
  const end = (id: string): void =>
    void sending.run(async () => {
      await call('DELETE', `${path}/${id}`);
      reload();
    });
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return <Loading what="sessions" />;
  return (
    <>
      {sending.error && <ErrorNote error={sending.error} />}
      <TableFrame label="Sessions" class="stacked">
        <Columns names={['Who', 'From', 'Used', 'Ends']} actions />
        <tbody>
          {answer.result.map((session) => (
            <tr key={session.id}>
              <th scope="row">
                {session.user.email} {session.current && <span class="chip good">This one</span>}
                <div class="muted small">
                  {session.credential.type} “{session.credential.name}”
                </div>
              </th>
              <td>
                <span class="mono">{session.address}</span>
                <div class="muted small long">{session.user_agent}</div>
              </td>
              <td class="muted" data-name="Used">
                <Time at={session.last_used_on} />
              </td>
              <td class="muted" data-name="Ends">
                <Time at={session.expires_on} />
              </td>
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
          ))}
        </tbody>
      </TableFrame>
      <p class="hint">A session also ends after 12 hours without use, and when its key or token is revoked.</p>
      <Curl request={{ method: 'GET', path }} others={{ 'End a session': { method: 'DELETE', path: `${path}/ID` } }} />
    </>
  );
}
