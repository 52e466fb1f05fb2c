/**
 * Signatures and proofs of transfers under way. Those of a zone are verified together, so they stay in memory until the last one has
 * come. Accounts share the room: where there are too many in all, the account that has most loses its largest transfer.
 */
import { TransferFailed } from './failure.js';

/** What one transfer holds. */
export interface ProofPlace {
  /** Counts what has come. Throws {@link TransferFailed} when the transfer has lost its room; its proofs are not needed any more. */
  add(proofs: number): void;
  /** All have come: from now on the transfer keeps them. */
  settle(): void;
  release(): void;
}

export interface ProofRoom {
  /** `account`: store number; `drop` frees the proofs at once when the transfer loses its room. */
  enter(account: number, drop: () => void): ProofPlace;
}

interface Held {
  readonly account: number;
  readonly drop: () => void;
  proofs: number;
  isSettled: boolean;
}

export function createProofRoom(most: number): ProofRoom {
  const all = new Set<Held>();
  let total = 0;

  const leave = (held: Held): void => {
    if (all.delete(held)) total -= held.proofs;
  };
  const largest = (): Held | undefined => {
    const accounts = Map.groupBy(all, ({ account }) => account);
    const sumOf = (account: number): number => accounts.get(account)!.reduce((sum, { proofs }) => sum + proofs, 0);
    const able = [...all].filter(({ isSettled }) => !isSettled);
    return able.sort((a, b) => sumOf(b.account) - sumOf(a.account) || b.proofs - a.proofs)[0];
  };

  return {
    enter(account, drop) {
      const held: Held = { account, drop, proofs: 0, isSettled: false };
      all.add(held);
      return {
        add(proofs) {
          if (all.has(held)) {
            held.proofs += proofs;
            total += proofs;
          }
          while (total > most) {
            const lost = largest();
            if (!lost) break;
            leave(lost);
            lost.drop();
          }
          if (all.has(held)) return;
          throw new TransferFailed(
            'limit',
            `transfers have more than ${most} signatures and proofs at once, which is the limit`,
          );
        },
        settle() {
          held.isSettled = true;
        },
        release: () => leave(held),
      };
    },
  };
}
