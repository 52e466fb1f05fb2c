/**
 * Sessions that a process remembers for all accounts. When it has too many, the account that has most loses those that were used least
 * recently: nobody pushes out the sessions of others.
 */
export interface SharedSessions<Session> {
  get(account: number, key: string): Session | undefined;
  set(account: number, key: string, session: Session): void;
}

/** The part of all sessions that goes at once. */
const PART = 100;

export function createSharedSessions<Session>(most: number): SharedSessions<Session> {
  /** Of each account, in the order of their last use. */
  const accounts = new Map<number, Map<string, Session>>();
  let size = 0;
  const makeRoom = (): void => {
    let [largest, own] = accounts.entries().next().value!;
    for (const [account, sessions] of accounts) if (sessions.size > own.size) [largest, own] = [account, sessions];
    let left = Math.ceil(most / PART);
    for (const key of own.keys()) {
      if (left-- === 0) break;
      own.delete(key);
      size--;
    }
    if (own.size === 0) accounts.delete(largest);
  };
  return {
    get(account, key) {
      const own = accounts.get(account);
      const session = own?.get(key);
      if (session === undefined) return undefined;
      own!.delete(key);
      own!.set(key, session);
      return session;
    },
    set(account, key, session) {
      const known = accounts.get(account);
      if (known?.delete(key)) size--;
      else if (size >= most) makeRoom();
      const own = accounts.get(account) ?? new Map<string, Session>();
      own.set(key, session);
      accounts.set(account, own);
      size++;
    },
  };
}
