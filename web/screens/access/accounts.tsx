/** The accounts that the session sees, and what their zones begin with. */
import { ACCOUNTS, AccountChoice, useAccount } from '../../parts/account.js';
import { Curl } from '../../parts/curl.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { Columns, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { mayRead, usePermissions } from '../../session.js';
import { AccountDefaults } from './account-defaults.js';

export function Accounts() {
  const { accounts, account, known, error, reload } = useAccount();
  const permissions = usePermissions();
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!known) return <Loading what="accounts" />;
  return (
    <>
      <TableFrame label="Accounts" class="stacked">
        <Columns names={['Name', 'Identifier', 'Made']} />
        <tbody>
          {accounts.map((account) => (
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
      {account && mayRead(permissions, 'account') && (
        <>
          <AccountChoice accounts={accounts} account={account} />
          <AccountDefaults key={account.id} account={account} />
        </>
      )}
      <Curl request={{ method: 'GET', path: ACCOUNTS }} />
    </>
  );
}
