/**
 * Remembers how signed messages were answered while their signatures are valid, so that one that comes again, from an
 * impatient client or from somebody who recorded it, gets the same answer and does nothing (RFC 8945 §5.2.3). What was
 * applied is also in the store (store/secondary/applied-updates.ts), for the time after a restart.
 */

import { toHex } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { Rcode } from '../../dns/codes.js';
import type { SignedUpdate } from '../../store/secondary/applied-updates.js';

export interface Answers {
  /** The answer to this message: the former one, or that of `run`. A failure of the server is forgotten. */
  once(signed: SignedUpdate, run: () => Promise<number>): Promise<number>;
}

const MOST = 20_000;

export function createAnswers(clock: Clock): Answers {
  const known = new Map<string, { readonly rcode: Promise<number>; readonly expiresAt: number }>();

  const forgetOld = (): void => {
    const now = clock.nowMs() / 1000;
    for (const [name, { expiresAt }] of known) {
      // They come nearly in the order in which they expire.
      if (expiresAt >= now && known.size <= MOST) return;
      known.delete(name);
    }
  };

  return {
    once({ key, mac, expiresAt }, run) {
      const name = `${key} ${toHex(mac)}`;
      const former = known.get(name);
      if (former) return former.rcode;
      forgetOld();
      const rcode = run();
      known.set(name, { rcode, expiresAt });
      void rcode.then((done) => {
        if (done === Rcode.servFail) known.delete(name);
      });
      return rcode;
    },
  };
}
