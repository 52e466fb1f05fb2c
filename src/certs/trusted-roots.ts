/**
 * The root certificates for origins whose certificate is verified: the usual ones, those of the built-in authority, and those
 * of the operator's file. The file and the store are looked at again while the edge runs.
 */
import { rootCertificates } from 'node:tls';
import { type Clock, steadyMs } from '../base/clock.js';

export interface TrustedRoots {
  readonly pem: string[];
  /** Increases when the roots change. */
  readonly generation: number;
}

/** How long what was read is used, milliseconds. */
const USE_MS = 10_000;

/** `read`: the roots beside the usual ones, PEM. If it throws, the roots that were read before stay. */
export function createTrustedRoots(
  clock: Clock,
  read: () => string,
  onFault: (error: unknown) => void,
): () => TrustedRoots {
  let known = read();
  let roots: TrustedRoots = { pem: [...rootCertificates, ...[known].filter(Boolean)], generation: 0 };
  let untilMs = steadyMs(clock) + USE_MS;
  return () => {
    const nowMs = steadyMs(clock);
    if (nowMs < untilMs) return roots;
    untilMs = nowMs + USE_MS;
    try {
      const now = read();
      if (now !== known)
        roots = { pem: [...rootCertificates, ...[now].filter(Boolean)], generation: roots.generation + 1 };
      known = now;
    } catch (error) {
      onFault(error);
    }
    return roots;
  };
}
