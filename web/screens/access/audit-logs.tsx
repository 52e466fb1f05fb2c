/** Who did what in an account. */
import { BASE, pathWith } from '../../api.js';
import { useLoad } from '../../load.js';
import { AccountChoice, NoAccount, useAccount } from '../../parts/account.js';
import { Curl } from '../../parts/curl.js';
import { Deed, Difference } from '../../parts/deed.js';
import { Empty, ErrorNote, Loading } from '../../parts/notes.js';
import { isPastEnd, Paging, PastEnd } from '../../parts/paging.js';
import { Cell, Columns, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { Who } from '../../parts/who.js';
import { go, usePlace, withQuery } from '../../router.js';
import type { AuditLog } from '../../types.js';

const PER_PAGE = 50;
/** Name in the address, in the query for pages, and in the export; then label, placeholder and type. */
const FILTERS = [
  ['actor', 'actor.email', 'actor_email', 'Who', 'admin@localhost', 'text'],
  ['action', 'action.type', 'action', 'Action', 'record.create', 'text'],
  ['zone', 'zone.name', 'zone_name', 'Zone', 'example.com', 'text'],
  ['since', 'since', 'since', 'From', '', 'date'],
  ['before', 'before', 'before', 'Before', '', 'date'],
] as const;

const exportPath = (account: string): string => `/accounts/${account}/logs/audit/export`;

export function AuditLogs() {
  const { query } = usePlace();
  const chosen = useAccount();
  const { accounts, account } = chosen;
  const asked = Object.fromEntries(FILTERS.map(([name, member]) => [member, query.get(name) ?? undefined]));
  const exported = Object.fromEntries(FILTERS.map(([name, , member]) => [member, query.get(name) ?? undefined]));
  const page = { ...asked, page: query.get('page') ?? undefined, per_page: PER_PAGE };
  const path = account && pathWith(`/accounts/${account.id}/audit_logs`, page);
  const { answer, error, busy, reload } = useLoad<AuditLog[]>(path);
  return (
    <>
      <div class="tools">
        <AccountChoice accounts={accounts} account={account} />
        {FILTERS.map(([name, , , label, example, type]) => (
          <label key={name} class="choice">
            <span>{label}</span>
            <input
              type={type as 'text'}
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
      {answer?.result.length === 0 && !isPastEnd(answer.info) && <Empty title="No entries match" />}
      {answer && answer.result.length > 0 && (
        <TableFrame label="Audit log" class="stacked" busy={busy}>
          <Columns names={['When', 'Who', 'What', 'From']} />
          <tbody>
            {answer.result.map((entry) => (
              <tr key={entry.id}>
                <Cell class="muted" value={<Time at={entry.when} />} />
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
      {account && answer && (
        <p>
          Download all of them as{' '}
          <a href={BASE + pathWith(exportPath(account.id), { format: 'jsonl', ...exported })} download>
            JSON lines
          </a>{' '}
          or{' '}
          <a href={BASE + pathWith(exportPath(account.id), { format: 'csv', ...exported })} download>
            CSV
          </a>
        </p>
      )}
      {path && account && (
        <Curl
          request={{ method: 'GET', path }}
          others={{ 'Download them': { method: 'GET', path: pathWith(exportPath(account.id), exported) } }}
        />
      )}
    </>
  );
}
