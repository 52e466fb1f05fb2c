/**
 * Hashes of passwords, in PHC string format: argon2id, or scrypt where Node has no argon2. They are made beside the event loop, few at a
 * time, because each takes a lot of memory; networks take turns, so that a flood of attempts keeps only its own waiting.
 */
import crypto, { scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { MetricSample } from '../base/metrics.js';
import type { Random } from '../base/random.js';
import { createTurns } from '../base/turns.js';
import { signInFailure } from './failures.js';

export interface PasswordHashes {
  /** `network`: whose turn it takes. Throws 503 when too many wait. */
  make(password: string, network: string): Promise<string>;
  /** Whether a password fits a hash; without a hash it takes as long, and none does. Throws 503 when too many wait. */
  check(password: string, hash: string | undefined, network: string): Promise<boolean>;
  /** Whether a hash is weaker than those made today. */
  isWeak(hash: string): boolean;
  samples(): MetricSample[];
}

const AT_ONCE = 2;
const MOST_WAITING = 20;
const MOST_WAITING_OF_NETWORK = 8;
const LONGEST_WAIT_MS = 10_000;
const SALT_OCTETS = 16;
const TAG_OCTETS = 32;

/** OWASP's parameters: 19 MiB, two passes. */
const ARGON2 = { memory: 19 * 1024, passes: 2, parallelism: 1 };
/** 2^17 × 8 × 128 octets = 128 MiB. */
const SCRYPT = { ln: 17, r: 8, p: 1 };

const PHC_ARGON2 = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d)\$([\w+/]{22})\$([\w+/]{43})$/;
const PHC_SCRYPT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d)\$([\w+/]{22})\$([\w+/]{43})$/;

export function createPasswordHashes(clock: Clock, random: Random): PasswordHashes {
  const turns = createTurns(
    {
      all: { places: AT_ONCE, waiting: MOST_WAITING },
      each: [{ places: AT_ONCE, waiting: MOST_WAITING_OF_NETWORK }],
      waitMs: LONGEST_WAIT_MS,
    },
    clock,
  );
  const inTurn = async <T>(network: string, work: () => Promise<T>): Promise<T> => {
    const leave = await turns.enter([network]);
    if (typeof leave === 'string') throw signInFailure('busy', {}, { retryAfterSeconds: 2 });
    try {
      return await work();
    } finally {
      leave();
    }
  };
  const fresh = (password: string): Promise<string> => hashWith(password, random.bytes(SALT_OCTETS));
  return {
    make: (password, network) => inTurn(network, () => fresh(password)),
    check: (password, hash, network) =>
      inTurn(network, async () => {
        if (hash !== undefined) return fits(password, hash);
        await hashWith(password, NO_SALT);
        return false;
      }),
    isWeak,
    samples: () => turns.samples('passwords'),
  };
}

/** Stronger parameters, which a newer version may use, are not weak. */
function isWeak(hash: string): boolean {
  const [, memory, passes] = PHC_ARGON2.exec(hash) ?? [];
  if (memory !== undefined) return Number(memory) < ARGON2.memory || Number(passes) < ARGON2.passes;
  const [, ln] = PHC_SCRYPT.exec(hash) ?? [];
  return ln !== undefined && (hasArgon2() || Number(ln) < SCRYPT.ln);
}

const NO_SALT = new Uint8Array(SALT_OCTETS);

async function hashWith(password: string, salt: Uint8Array): Promise<string> {
  const text = plain(salt);
  if (hasArgon2()) {
    const { memory, passes, parallelism } = ARGON2;
    const tag = await argon2(password, salt, ARGON2);
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${text}$${plain(tag)}`;
  }
  const { ln, r, p } = SCRYPT;
  return `$scrypt$ln=${ln},r=${r},p=${p}$${text}$${plain(await scryptOf(password, salt, SCRYPT))}`;
}

async function fits(password: string, hash: string): Promise<boolean> {
  const [, ...a] = PHC_ARGON2.exec(hash) ?? [];
  if (a.length > 0) {
    const [memory, passes, parallelism] = a.map(Number) as [number, number, number];
    const tag = await argon2(password, Buffer.from(a[3]!, 'base64'), { memory, passes, parallelism });
    return timingSafeEqual(tag, Buffer.from(a[4]!, 'base64'));
  }
  const [, ...s] = PHC_SCRYPT.exec(hash) ?? [];
  if (s.length === 0) return false;
  const [ln, r, p] = s.map(Number) as [number, number, number];
  const tag = await scryptOf(password, Buffer.from(s[3]!, 'base64'), { ln, r, p });
  return timingSafeEqual(tag, Buffer.from(s[4]!, 'base64'));
}

/** Without padding, as PHC strings have it. */
function plain(octets: Uint8Array): string {
  return Buffer.from(octets).toString('base64').replaceAll('=', '');
}

function hasArgon2(): boolean {
  return typeof crypto.argon2 === 'function';
}

async function argon2(password: string, nonce: Uint8Array, parameters: typeof ARGON2): Promise<Uint8Array> {
  // A hash that was made by another node with a newer Node.js.
  if (!hasArgon2()) throw new Error('this Node.js has no argon2: passwords need version 24.7 here');
  const message = Buffer.from(password);
  try {
    return await promisify(crypto.argon2)('argon2id', { message, nonce, tagLength: TAG_OCTETS, ...parameters });
  } catch (error) {
    throw new Error(`a password could not be hashed: ${messageOf(error)}`);
  } finally {
    message.fill(0);
  }
}

function scryptOf(password: string, salt: Uint8Array, { ln, r, p }: typeof SCRYPT): Promise<Buffer> {
  const N = 2 ** ln;
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, tag: Buffer): void => (error ? reject(error) : resolve(tag));
    scrypt(password, salt, TAG_OCTETS, { N, r, p, maxmem: 129 * N * r }, done);
  });
}
