/**
 * Signatures and proofs of transfers under way. Those of a zone are verified together, so they stay in memory until the last one has
 * come, and while they are verified. Accounts share the room: where there are too many in all, the account that has most loses its
 * largest transfer that is not being verified, and a part is never taken for what is, so that whoever comes finds room.
 */
import { TransferFailed } from './failure.js';

/** What one transfer holds. */
export interface ProofPlace {
  /** Counts what has come. Throws {@link TransferFailed} when the transfer has lost its room; its proofs are not needed any more. */
  add(proofs: number): void;
  /**
   * All have come: resolves when they can be verified; from then on the transfer keeps them. Rejects with {@link TransferFailed} when it
   * loses its room meanwhile, or at the end of `signal`.
   */
  settle(signal: AbortSignal): Promise<void>;
  release(): void;
}

export interface ProofRoom {
  /** `account`: store number; `drop` frees the proofs at once when the transfer loses its room. */
  enter(account: number, drop: () => void): ProofPlace;
}

/** Parts of the room for what is verified at once: of one account, and of all. */
const [OF_ACCOUNT, OF_ALL] = [1 / 2, 3 / 4];

interface Held {
  readonly account: number;
  readonly drop: () => void;
  proofs: number;
  isSettled: boolean;
  /** Ends its wait. */
  wake: () => void;
}

/** `most`: proofs of all transfers; one has at most half of them. */
export function createProofRoom(most: number): ProofRoom {
  const all = new Set<Held>();
  const sumOf = (some: Iterable<Held>): number => [...some].reduce((sum, { proofs }) => sum + proofs, 0);

  const mayBeVerified = ({ account, proofs }: Held): boolean => {
    const settled = [...all].filter(({ isSettled }) => isSettled);
    const own = settled.filter((one) => one.account === account);
    return sumOf(own) + proofs <= most * OF_ACCOUNT && sumOf(settled) + proofs <= most * OF_ALL;
  };
  const leave = (held: Held): void => {
    if (!all.delete(held)) return;
    held.wake();
    for (const { wake } of [...all]) wake();
  };
  const largest = (): Held | undefined => {
    const accounts = Map.groupBy(all, ({ account }) => account);
    const able = [...all].filter(({ isSettled }) => !isSettled);
    const ofAccount = ({ account }: Held): number => sumOf(accounts.get(account)!);
    return able.sort((a, b) => ofAccount(b) - ofAccount(a) || b.proofs - a.proofs)[0];
  };
  const requireRoom = (held: Held): void => {
    if (all.has(held)) return;
    throw new TransferFailed(
      'limit',
      `transfers have more than ${most} signatures and proofs at once, which is the limit`,
    );
  };

  return {
    enter(account, drop) {
      const held: Held = { account, drop, proofs: 0, isSettled: false, wake: () => {} };
      all.add(held);
      return {
        add(proofs) {
          if (all.has(held)) held.proofs += proofs;
          while (sumOf(all) > most) {
            const lost = largest();
            if (!lost) break;
            leave(lost);
            lost.drop();
          }
          requireRoom(held);
        },
        async settle(signal) {
          const wakeUp = (): void => held.wake();
          signal.addEventListener('abort', wakeUp);
          while (all.has(held) && !mayBeVerified(held)) {
            if (signal.aborted) leave(held);
            else await new Promise<void>((resolve) => (held.wake = resolve));
          }
          signal.removeEventListener('abort', wakeUp);
          requireRoom(held);
          held.isSettled = true;
        },
        release: () => leave(held),
      };
    },
  };
}
