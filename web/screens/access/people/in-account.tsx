/** A part of the screen about the members of one account, with the rights of the user there. */
import type { ComponentType } from 'preact';
import { useLoad } from '../../../load.js';
import { AccountChoice, NoAccount, useAccount } from '../../../parts/account.js';
import { mayWrite } from '../../../session.js';
import type { Permissions } from '../../../types.js';

export interface InAccountProps {
  /** Identifier of the account. */
  readonly account: string;
  /** Whether the user may manage its members. */
  readonly writes: boolean;
}

interface Props {
  readonly what: string;
  readonly shown: ComponentType<InAccountProps>;
}

export function InAccount({ what, shown: Shown }: Props) {
  const chosen = useAccount();
  const { accounts, account } = chosen;
  const permissions = useLoad<Permissions>(account && `/user/permissions?account_id=${account.id}`).answer?.result;
  return (
    <>
      <div class="tools">
        <AccountChoice accounts={accounts} account={account} />
      </div>
      <NoAccount chosen={chosen} what={what} />
      {account && permissions && (
        <Shown key={account.id} account={account.id} writes={mayWrite(permissions, 'members')} />
      )}
    </>
  );
}
