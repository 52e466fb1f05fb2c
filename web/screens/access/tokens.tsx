/** The user's API tokens: what they may do, from where, until when, and when they were last used. */

import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.js';
import { ListState, ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Empty, ErrorNote } from '../../parts/notes.js';
import { Cell } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { Token, Zone } from '../../types.js';
import { NewToken } from './new-token.js';
import { WORDS } from './token-draft.js';

const PATH = '/user/tokens';

export function Tokens() {
  const { answer, error, reload } = useLoad<Token[]>(`${PATH}?per_page=50`);
  const [making, setMaking] = useState(false);
  const sending = useSending(reload);
  const writes = mayWrite(usePermissions(), 'userTokens');
  const remove = (id: string): void => void sending.send('DELETE', `${PATH}/${id}`);
  const zones = useLoad<Zone[]>('/zones?per_page=50&order=name').answer?.result ?? [];
  const tokens = answer?.result ?? [];
  const make = writes && !making && <Button class="primary" onClick={() => setMaking(true)} text="New token" />;
  return (
    <>
      {making && <NewToken onMade={reload} onClose={() => setMaking(false)} />}
      <ListState loaded={{ answer, error, reload }} what="tokens" />
      {sending.error && <ErrorNote error={sending.error} />}
      {answer && tokens.length === 0 && !making && (
        <Empty title="There are no tokens yet">
          <p>A token is a secret for a program that may do only what you choose. Give each program its own.</p>
          {make}
        </Empty>
      )}
      {tokens.length > 0 && (
        <>
          <div class="tools">{make}</div>
          <ListTable
            label="Tokens"
            columns={['Name', 'Permissions', 'From', 'Used', 'Ends']}
            actions
            items={tokens}
            keyOf={({ id }) => id}
            row={(token) => (
              <tr>
                <th scope="row">
                  {token.name} {token.status !== 'active' && <span class="chip bad">{token.status}</span>}
                </th>
                <td class="long muted">{permissionsOf(token, zones)}</td>
                <Cell class="muted" name="From" value={networksOf(token)} />
                <Cell
                  class="muted"
                  name="Used"
                  value={token.last_used_on === undefined ? 'never' : <Time at={token.last_used_on} />}
                />
                <Cell
                  class="muted"
                  name="Ends"
                  value={token.expires_on === undefined ? 'never' : <Time at={token.expires_on} exact />}
                />
                <td class="row-actions">
                  {writes && <Confirm what={token.name} busy={sending.busy} quiet onConfirm={() => remove(token.id)} />}
                </td>
              </tr>
            )}
          />
        </>
      )}
      {!making && (
        <Curl
          request={{ method: 'GET', path: PATH }}
          {...(writes && { others: { 'Delete a token': { method: 'DELETE', path: `${PATH}/ID` } } })}
        />
      )}
    </>
  );
}

function permissionsOf({ policies }: Token, zones: readonly Zone[]): string {
  return policies
    .map(({ effect, permission_groups: groups, resources, records }) => {
      const names = groups.map(({ id, name }) => lowerFirst(WORDS[name ?? ''] ?? name ?? id)).join(', ');
      const all = Object.keys(resources).some((resource) => resource.endsWith('.*'));
      const ids = Object.keys(resources).flatMap((resource) => /\.zone\.(.*)$/.exec(resource)?.[1] ?? []);
      const named = zones.find(({ id }) => id === ids[0])?.name ?? 'one zone';
      const where = all
        ? 'everywhere'
        : ids.length === 0
          ? 'limited'
          : `in ${ids.length === 1 ? named : `${ids.length} zones`}`;
      const only = records ? `; only ${[...(records.types ?? []), ...(records.names ?? [])].join(', ')}` : '';
      return `${effect === 'deny' ? 'not ' : ''}${names} – ${where}${only}`;
    })
    .join('; ');
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function networksOf({ condition }: Token): string {
  const networks = condition?.request_ip ?? condition?.['request.ip'];
  if (!networks) return 'anywhere';
  const inside = networks.in?.join(', ') ?? 'anywhere';
  return networks.not_in?.length ? `${inside}, but not ${networks.not_in.join(', ')}` : inside;
}
