/** Hands sessions that begin in this edge process to the others, some at once, through the process that has started them. */
import type { SessionExchange, ToldSession } from '../../edge/shared/sessions.js';

export interface SessionMessages {
  /** Resolves when the message is on its way. */
  readonly tellSessions: (sessions: readonly ToldSession[]) => Promise<void>;
  readonly hearSessions: (take: (sessions: readonly ToldSession[]) => void) => void;
}

/** That wait to be told. Of more the others do not hear; they choose an origin for such a client themselves. */
const MOST_WAITING = 1000;

export function createSessionExchange({ tellSessions, hearSessions }: Partial<SessionMessages>): SessionExchange {
  let waiting: ToldSession[] = [];
  let isTelling = false;
  async function tellAll(): Promise<void> {
    while (waiting.length > 0) {
      const told = waiting;
      waiting = [];
      await tellSessions?.(told);
    }
    isTelling = false;
  }
  return {
    tell(session) {
      if (waiting.length < MOST_WAITING) waiting.push(session);
      if (isTelling) return;
      isTelling = true;
      queueMicrotask(() => void tellAll());
    },
    hear(take) {
      hearSessions?.((sessions) => {
        for (const session of sessions) take(session);
      });
    },
  };
}
