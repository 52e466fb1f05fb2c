/** The accounts that the session sees, and what their zones begin with. */

import { ListTable } from '../../kit/list.js';
import { ACCOUNTS, AccountChoice, useAccount } from '../../parts/account.js';
import { Curl } from '../../parts/curl.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { Cell } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { mayRead, usePermissions } from '../../session.js';
import { AccountDefaults } from './account-defaults.js';
import { Use } from './use.js';

export function Accounts() {
  const { accounts, account, known, error, reload } = useAccount();
  const permissions = usePermissions();
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!known) return <Loading what="accounts" />;
  return (
    <>
      <ListTable
        label="Accounts"
        columns={['Name', 'Identifier', 'Made']}
        items={accounts}
        keyOf={({ id }) => id}
        row={(account) => (
          <tr>
            <th scope="row">{account.name}</th>
            <td class="mono muted">{account.id}</td>
            <Cell class="muted" name="Made" value={<Time at={account.created_on} />} />
          </tr>
        )}
      />
      <p class="hint">
        <code>zoneplane account create NAME</code> makes another one.
      </p>
      {account && mayRead(permissions, 'account') && (
        <>
          <AccountChoice accounts={accounts} account={account} />
          <Use key={`use ${account.id}`} account={account} />
          <AccountDefaults key={account.id} account={account} />
        </>
      )}
      <Curl request={{ method: 'GET', path: ACCOUNTS }} />
    </>
  );
}
