/** One-time passwords by time (RFC 6238): SHA-1, six digits, 30 seconds, one step early or late, each code once. */
import { Secret, TOTP } from 'otpauth';
import { toHex } from '../base/bytes.js';
import { hashSecret } from '../control/access/keys.js';
import type { Draft } from '../control/kernel/commit.js';
import { useProof } from '../store/access/challenges.js';
import { findTotp } from '../store/access/factors.js';
import type { UserRow } from '../store/access/users.js';
import { TOTP_SECRETS } from '../store/sealed-columns.js';
import { signInFailure } from './failures.js';
import type { SignInServices } from './services.js';

const SECRET_OCTETS = 20;
const STEP_MS = 30_000;
/** How many steps early or late. */
const WINDOW = 1;

export interface TotpSecret {
  readonly octets: Uint8Array;
  /** In base 32, to be typed. */
  readonly text: string;
  /** For a QR code or a link. */
  readonly uri: string;
}

export function makeTotpSecret({ base, settings }: SignInServices, { email }: UserRow): TotpSecret {
  const octets = base.random.bytes(SECRET_OCTETS);
  const issuer = settings.publicUrl === undefined ? 'Zoneplane' : new URL(settings.publicUrl).hostname;
  const totp = totpOf(octets, issuer, email);
  return { octets, text: totp.secret.base32, uri: totp.toString() };
}

function totpOf(octets: Uint8Array, issuer?: string, label?: string): TOTP {
  const secret = new Secret({ buffer: new Uint8Array(octets).buffer });
  return new TOTP({
    secret,
    algorithm: 'SHA1',
    digits: 6,
    period: STEP_MS / 1000,
    ...(issuer && { issuer }),
    ...(label && { label }),
  });
}

/** Uses up the code, inside a write. Throws 403 when it was used before, on whatever node. */
export type UseCode = (draft: Draft) => void;

/** Checks a code. `confirmed` false: also of a secret that is being enrolled. Throws 403, which says what time it is here. */
export function checkTotp(services: SignInServices, { seq }: UserRow, code: string, confirmed = true): UseCode {
  const { store, clock } = services.base;
  const row = findTotp(store, seq);
  const digits = code.replace(/\s/g, '');
  const nowMs = clock.nowMs();
  const delta =
    row && (row.confirmed === 1 || !confirmed) && /^\d{6}$/.test(digits)
      ? totpOf(services.vault.open(TOTP_SECRETS, seq, row.secret)).validate({
          token: digits,
          timestamp: nowMs,
          window: WINDOW,
        })
      : null;
  if (!row || delta === null) throw wrongCode(nowMs);
  const step = Math.floor(nowMs / STEP_MS) + delta;
  // It would be accepted until the end of the step after its own.
  const endsAt = (step + 1 + WINDOW) * STEP_MS * 1000;
  return () => {
    const proof = hashSecret(store, `totp ${seq} ${toHex(row.secret.subarray(0, 32))} ${step}`);
    if (!useProof(store, proof, endsAt)) throw wrongCode(nowMs);
  };
}

function wrongCode(nowMs: number): Error {
  return signInFailure('wrongCodeOrClock', { time: new Date(nowMs).toISOString().replace(/T(.*)\..*/, ' $1 UTC') });
}
