/** The other name servers of an account: keys, networks and catalogs that its zones share. */
import type { ComponentType } from 'preact';
import { AccountChoice, NoAccount, useAccount } from '../../parts/account.js';
import { Empty } from '../../parts/notes.js';
import { Tabs } from '../../parts/tabs.js';
import type { ScreenProps } from '../../screen.js';
import { mayWrite, usePermissions } from '../../session.js';
import { Catalogs } from './catalogs.js';
import { Followed } from './followed.js';
import { Keys } from './keys.js';
import { Networks } from './networks.js';
import { Peers } from './peers.js';

export interface PartProps {
  /** Path of what the account has, below the API's base. */
  readonly base: string;
  readonly writes: boolean;
}

interface Part {
  readonly path: string;
  readonly title: string;
  readonly shown: readonly ComponentType<PartProps>[];
}

const PARTS: readonly Part[] = [
  { path: '', title: 'Servers and keys', shown: [Peers, Keys, Networks] },
  { path: 'catalogs', title: 'Catalogs', shown: [Catalogs, Followed] },
];

export default function Servers({ params }: ScreenProps) {
  const chosen = useAccount();
  const { accounts, account } = chosen;
  const writes = mayWrite(usePermissions(), 'account');
  const part = PARTS.find(({ path }) => path === (params['part'] ?? ''));
  return (
    <>
      <div class="head">
        <h1>Servers</h1>
        <AccountChoice accounts={accounts} account={account} />
      </div>
      <Tabs
        label="Servers"
        tabs={PARTS.map(({ path, title }) => ({
          href: path === '' ? '/servers' : `/servers/${path}`,
          title,
          current: path === part?.path,
        }))}
      />
      <NoAccount chosen={chosen} what="name servers" />
      {account && !part && <Empty title="There is nothing here" />}
      {account &&
        part?.shown.map((Shown, index) => (
          <Shown key={`${account.id} ${index}`} base={`/accounts/${account.id}/secondary_dns`} writes={writes} />
        ))}
    </>
  );
}
