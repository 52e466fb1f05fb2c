/** Which account a screen is about: the one in the address, otherwise the first. */
import type { ApiError } from '../api.js';
import { useLoad } from '../load.js';
import { go, usePlace, withQuery } from '../router.js';
import type { Account } from '../types.js';
import { Empty, ErrorNote } from './notes.js';

export interface ChosenAccount {
  readonly accounts: readonly Account[];
  readonly account: Account | undefined;
  /** Whether it is known which accounts there are. */
  readonly known: boolean;
  /** Why it is not known. */
  readonly error: ApiError | undefined;
  readonly reload: () => void;
}

/** What is read of the accounts. */
export const ACCOUNTS = '/accounts?per_page=50';

export function useAccount(): ChosenAccount {
  const { query } = usePlace();
  const { answer, error, reload } = useLoad<Account[]>(ACCOUNTS);
  const accounts = answer?.result ?? [];
  const account = accounts.find(({ id }) => id === query.get('account')) ?? accounts[0];
  return { accounts, account, known: answer !== undefined, error, reload };
}

/** What stands in the place of `what` when there is no account, or none could be asked for. */
export function NoAccount({ chosen, what }: { readonly chosen: ChosenAccount; readonly what: string }) {
  const { account, known, error, reload } = chosen;
  if (error && !known) return <ErrorNote error={error} onRetry={reload} />;
  return known && !account ? <Empty title={`There is no account whose ${what} you may see`} /> : null;
}

/** A choice where there are several. */
export function AccountChoice({ accounts, account }: Pick<ChosenAccount, 'accounts' | 'account'>) {
  if (accounts.length < 2) return null;
  return (
    <label class="choice">
      <span>Account</span>
      <select
        value={account?.id}
        onChange={(event) => go(withQuery({ account: event.currentTarget.value, page: undefined }))}
      >
        {accounts.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
