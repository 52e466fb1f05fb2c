/** Alerts: webhooks, notification policies, and deliveries. */
import { AccountChoice, NoAccount, useAccount } from '../../parts/account.js';
import type { ScreenProps } from '../../screen.js';
import { mayWrite, usePermissions } from '../../session.js';
import { Policies } from './policies.js';
import { Webhooks } from './webhooks.js';

export default function Alerts(_: ScreenProps) {
  const chosen = useAccount();
  const { accounts, account } = chosen;
  const writes = mayWrite(usePermissions(), 'account');
  const base = account && `/accounts/${account.id}/alerting/v3`;
  return (
    <>
      <div class="head">
        <h1>Alerts</h1>
        <AccountChoice accounts={accounts} account={account} />
      </div>
      <NoAccount chosen={chosen} what="alerts" />
      {base && <Webhooks key={base} base={base} writes={writes} />}
      {base && <Policies key={`${base} policies`} base={base} writes={writes} />}
    </>
  );
}
