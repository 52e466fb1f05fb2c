/** Who did what in an account. */
import { pathWith } from '../../api.js';
import { useLoad } from '../../load.js';
import { AccountChoice, NoAccount, useAccount } from '../../parts/account.js';
import { Curl } from '../../parts/curl.js';
import { Deed, Difference } from '../../parts/deed.js';
import { Empty, ErrorNote, Loading } from '../../parts/notes.js';
import { isPastEnd, Paging, PastEnd } from '../../parts/paging.js';
import { Columns, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { Who } from '../../parts/who.js';
import { go, usePlace, withQuery } from '../../router.js';
import type { AuditLog } from '../../types.js';

const PER_PAGE = 50;
const FILTERS = [
  ['actor', 'actor.email', 'Who', 'admin@localhost'],
  ['action', 'action.type', 'Action', 'record.create'],
  ['zone', 'zone.name', 'Zone', 'example.com'],
] as const;

export function AuditLogs() {
  const { query } = usePlace();
  const chosen = useAccount();
  const { accounts, account } = chosen;
  const asked = Object.fromEntries(FILTERS.map(([name, member]) => [member, query.get(name) ?? undefined]));
  const page = { ...asked, page: query.get('page') ?? undefined, per_page: PER_PAGE };
  const path = account && pathWith(`/accounts/${account.id}/audit_logs`, page);
  const { answer, error, busy, reload } = useLoad<AuditLog[]>(path);
  return (
    <>
      <div class="tools">
        <AccountChoice accounts={accounts} account={account} />
        {FILTERS.map(([name, , label, example]) => (
          <label key={name} class="choice">
            <span>{label}</span>
            <input
              value={query.get(name) ?? ''}
              placeholder={example}
              onChange={(event) => go(withQuery({ [name]: event.currentTarget.value.trim(), page: undefined }))}
            />
          </label>
        ))}
      </div>
      <NoAccount chosen={chosen} what="audit log" />
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && account && <Loading what="the audit log" />}
      {isPastEnd(answer?.info) && <PastEnd />}
      {answer?.result.length === 0 && !isPastEnd(answer.info) && <Empty title="Nothing of that kind was done" />}
      {answer && answer.result.length > 0 && (
        <TableFrame label="Audit log" class="stacked" busy={busy}>
          <Columns names={['When', 'Who', 'What', 'From']} />
          <tbody>
            {answer.result.map((entry) => (
              <tr key={entry.id}>
                <td class="muted">
                  <Time at={entry.when} />
                </td>
                <th scope="row">
                  <Who email={entry.actor.email} credential={entry.metadata.credential_name} />
                </th>
                <td class="long">
                  <Deed entry={entry} /> <Difference entry={entry} />
                </td>
                <td class="muted" data-name="From">
                  <span class="mono">{entry.actor.ip ?? ''}</span> {entry.interface}
                </td>
              </tr>
            ))}
          </tbody>
        </TableFrame>
      )}
      {answer?.info && <Paging info={answer.info} nouns={['entry', 'entries']} />}
      {path && <Curl request={{ method: 'GET', path }} />}
    </>
  );
}
