/** The accounts that the session sees. */
import { useLoad } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { Columns, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import type { Account } from '../../types.js';

export function Accounts() {
  const path = '/accounts?per_page=50';
  const { answer, error, reload } = useLoad<Account[]>(path);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return <Loading what="accounts" />;
  return (
    <>
      <TableFrame label="Accounts" class="stacked">
        <Columns names={['Name', 'Identifier', 'Made']} />
        <tbody>
          {answer.result.map((account) => (
            <tr key={account.id}>
              <th scope="row">{account.name}</th>
              <td class="mono muted">{account.id}</td>
              <td class="muted" data-name="Made">
                <Time at={account.created_on} />
              </td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
      <p class="hint">
        <code>zoneplane account create NAME</code> makes another one.
      </p>
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}
