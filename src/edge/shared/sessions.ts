/** Sessions that edge processes of a machine tell each other, so that a client keeps its origin whichever process answers it. */

/** A session by fields. */
export interface ToldSession {
  /** Store number. */
  readonly account: number;
  readonly key: string;
  /** The origin's. */
  readonly token: string;
  /** Milliseconds for which it is good. */
  readonly forMs: number;
}

export interface SessionExchange {
  /** Tells all others. */
  tell(session: ToldSession): void;
  /** Calls `take` with each session that another process tells. */
  hear(take: (session: ToldSession) => void): void;
}
