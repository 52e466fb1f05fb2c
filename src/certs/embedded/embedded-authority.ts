/**
 * The built-in certificate authority, so that everything works without the Internet. It is as strict as a public one:
 * control over names is proved by DNS or HTTP, CAA records apply, requests are checked. Its state is stored in rows, so
 * that a process that was killed continues with the same order. Clients that trust its root trust its certificates.
 */
import { createHash } from 'node:crypto';
import { equalBytes } from '../../base/bytes.js';
import { messageOf } from '../../base/errors.js';
import { makeId, type Random } from '../../base/random.js';
import type { Resolver } from '../../resolver/resolve.js';
import {
  type CertificateRow,
  completeOrder,
  findAuthorization,
  findCertificate,
  findChallenge,
  findOrder,
  insertOrder,
  isReplaced,
  removeEndedOrders,
  revokeCertificate,
  type StoredChallenge,
  type StoredOrder,
  settleChallenge,
  unfinishedOrders,
} from '../../store/certs/authority.js';
import { findMeta } from '../../store/meta.js';
import {
  type Authority,
  type AuthorityName,
  CAA_IDENTITIES,
  type Challenge,
  type Order,
  type OrderOptions,
  type RenewalWindow,
} from '../authority.js';
import { baseName } from '../authority-choice.js';
import type { FetchToken } from '../http-challenge.js';
import { X509Certificate } from '../x509.js';
import { checkCaa } from './caa-check.js';
import { checkRequest } from './certificate-request.js';
import { BACKDATE_MS, type Issuer, type IssuerOptions, intermediateOf } from './issuers.js';
import { signLeaf, type Validity } from './leaf.js';
import { checkOrderNames } from './order-names.js';
import {
  accountUriOf,
  idOf,
  isExpired,
  unknownUrl,
  viewAuthorization,
  viewChallenge,
  viewOrder,
} from './order-view.js';
import { refusal } from './refusal.js';
import { validateByDns, validateByHttp } from './validation.js';

export interface EmbeddedOptions extends IssuerOptions {
  /** Resolves TXT and CAA records. */
  readonly resolver: Resolver;
  readonly fetchToken: FetchToken;
  /** Lifetime of certificates in milliseconds: 90 days by default, no more than a year. */
  readonly lifetimeMs?: number;
}

interface Context extends EmbeddedOptions {
  readonly name: AuthorityName;
  readonly lifetimeMs: number;
}

const DAY_MS = 86_400_000;
const LIFETIME_MS = 90 * DAY_MS;
const MOST_LIFETIME_MS = 365 * DAY_MS;
const ORDER_LIFETIME_MS = 7 * DAY_MS;
/** How long orders and certificates are kept after their end, for later inspection. */
const KEPT_MS = 30 * DAY_MS;
/** The largest number of old orders that are deleted with each new order. */
const FORGOTTEN_AT_ONCE = 100;
const TOKEN_OCTETS = 32;

/** Profiles by name; milliseconds. `shortlived` is the same as at public authorities. */
const PROFILES: ReadonlyMap<string, (lifetimeMs: number) => number> = new Map([
  ['classic', (lifetimeMs: number) => lifetimeMs],
  ['shortlived', (lifetimeMs: number) => Math.min(lifetimeMs, 160 * 3_600_000)],
]);

/** RFC 5280 §5.3.1: the reasons that a subscriber may give. */
const REVOCATION_REASONS: readonly number[] = [0, 1, 3, 4, 5];

/** The authority with one name. All share the root; each has its own intermediate. */
export function createEmbeddedAuthority(name: AuthorityName, options: EmbeddedOptions): Authority {
  const context: Context = {
    ...options,
    name,
    lifetimeMs: Math.min(options.lifetimeMs ?? LIFETIME_MS, MOST_LIFETIME_MS),
  };
  const { store, clock } = options;
  return {
    name,
    caaIdentities: async () => CAA_IDENTITIES[name],
    accountUri: async () => accountUriOf(name),
    createOrder: (names, orderOptions) => createOrder(context, names, orderOptions),
    async unfinishedOrders(names) {
      const nowMs = clock.nowMs();
      const wanted = JSON.stringify(checkOrderNames(names));
      return unfinishedOrders(store, name, wanted, nowMs).flatMap((id) => {
        const row = findOrder(store, name, id);
        return row ? [viewOrder(name, row, nowMs)] : [];
      });
    },
    order: async (url) => viewOrder(name, knownOrder(context, url), clock.nowMs()),
    async authorization(url) {
      const row = findAuthorization(store, name, idOf(name, 'authorization', url));
      if (!row) throw unknownUrl('authorization');
      return viewAuthorization(name, row, clock.nowMs());
    },
    keyAuthorization: (token) => keyAuthorization(context, token),
    respond: (url) => respond(context, url),
    finalize: (order, csr) => finalize(context, order, csr),
    async certificate(url) {
      const order = findOrder(store, name, idOf(name, 'certificate', url));
      const row = order?.certificate ? findCertificate(store, name, order.certificate) : undefined;
      if (!row) throw unknownUrl('certificate');
      return row.chain;
    },
    revoke: (certificate, reason = 0) => revoke(context, certificate, reason),
    async renewalInfo(certificate) {
      const row = issued(context, certificate);
      return row && renewalWindow(row);
    },
  };
}

/**
 * There is one account, that of the installation. The digest of its identifier is used in place of a key's thumbprint.
 */
function keyAuthorization({ store }: Context, token: string): string {
  const thumbprint = createHash('sha256')
    .update(String(findMeta(store, 'installation')))
    .digest('base64url');
  return `${token}.${thumbprint}`;
}

async function createOrder(context: Context, asked: readonly string[], options: OrderOptions = {}): Promise<Order> {
  const { name, store, clock, random } = context;
  const { profile = 'classic', replaces, notAfterMs } = options;
  const names = checkOrderNames(asked);
  if (!PROFILES.has(profile)) {
    throw refusal('invalidProfile', 400, `The profiles are ${[...PROFILES.keys()].join(' and ')}.`);
  }
  if (replaces !== undefined) checkReplaced(context, replaces);
  const nowMs = clock.nowMs();
  if (notAfterMs !== undefined && notAfterMs <= nowMs) throw refusal('malformed', 400, 'notAfter is in the past.');
  const newId = () => makeId(clock.nowUs(), random);
  const id = newId();
  const order = {
    id,
    authority: name,
    names: JSON.stringify(names),
    profile,
    replaces: replaces ?? null,
    not_after: notAfterMs ?? null,
    expires_at: nowMs + ORDER_LIFETIME_MS,
    authorizations: names.map((hostName) => {
      const isWildcard = hostName.startsWith('*.');
      // A web server at a name proves nothing about the names below it (RFC 8555 §8.3).
      const types = isWildcard ? (['dns-01'] as const) : (['http-01', 'dns-01'] as const);
      const challenges = types.map((type) => ({ id: newId(), type, token: makeToken(random) }));
      return { id: newId(), identifier: baseName(hostName), wildcard: Number(isWildcard), challenges };
    }),
  };
  await store.write(() => {
    removeEndedOrders(store, nowMs - KEPT_MS, FORGOTTEN_AT_ONCE);
    insertOrder(store, order);
  });
  return viewOrder(name, findOrder(store, name, id)!, nowMs);
}

function makeToken(random: Random): string {
  return Buffer.from(random.bytes(TOKEN_OCTETS)).toString('base64url');
}

/**
 * RFC 9773 §5: the certificate must be issued here, and no other order may have replaced it. `replaces`: key identifier
 * and serial number.
 */
function checkReplaced({ name, store }: Context, replaces: string): void {
  const [, serial = ''] = replaces.split('.');
  const digits = Buffer.from(serial, 'base64url').toString('hex').replace(/^00/, '');
  if (!findCertificate(store, name, digits)) {
    throw refusal('malformed', 404, 'The certificate to replace was not issued here.');
  }
  if (isReplaced(store, name, replaces)) {
    throw refusal('alreadyReplaced', 409, 'Another order has replaced that certificate.');
  }
}

function knownOrder({ store, name }: Context, url: string): StoredOrder {
  const row = findOrder(store, name, idOf(name, 'order', url));
  if (!row) throw unknownUrl('order');
  return row;
}

/** Validates at once; settled challenges stay unchanged. */
async function respond(context: Context, url: string): Promise<Challenge> {
  const { store, name, clock } = context;
  const id = idOf(name, 'challenge', url);
  const challenge = findChallenge(store, name, id);
  if (!challenge) throw unknownUrl('challenge');
  const { authorization } = challenge;
  if (authorization.status === 'pending') {
    if (isExpired(authorization, clock.nowMs())) {
      throw refusal('malformed', 403, 'The authorization has expired.');
    }
    const problem = await validate(context, challenge);
    await store.write(() => settleChallenge(store, name, id, problem ? JSON.stringify(problem) : null));
  }
  return viewChallenge(name, findChallenge(store, name, id)!);
}

function validate(context: Context, { type, token, authorization: { identifier } }: StoredChallenge) {
  const expected = keyAuthorization(context, token);
  return type === 'dns-01'
    ? validateByDns(context.resolver, identifier, expected)
    : validateByHttp(context.fetchToken, identifier, token, expected);
}

/** RFC 8555 §7.4. After a refusal the order stays ready. */
async function finalize(context: Context, { url }: Order, csr: Uint8Array): Promise<Order> {
  const { store, name, clock, random } = context;
  const order = knownOrder(context, url);
  requireReady(order, clock.nowMs());
  const names: readonly string[] = JSON.parse(order.names);
  const request = await checkRequest(csr, names);
  await checkCaa(context, name, order);
  const issuer = await intermediateOf(context, name);
  const certificate = await signLeaf(issuer, names, request, validityOf(context, order, issuer), random);
  const row = {
    serial: certificate.serialNumber.toLowerCase(),
    authority: name,
    certificate: new Uint8Array(certificate.rawData),
    chain: `${certificate.toString('pem')}\n${issuer.certificate.toString('pem')}\n`,
    not_before: certificate.notBefore.getTime(),
    not_after: certificate.notAfter.getTime(),
  };
  if (!(await store.write(() => completeOrder(store, order.id, row)))) {
    requireReady(knownOrder(context, url), clock.nowMs());
  }
  return viewOrder(name, knownOrder(context, url), clock.nowMs());
}

function requireReady(order: StoredOrder, nowMs: number): void {
  if (isExpired(order, nowMs)) throw refusal('malformed', 403, 'The order has expired.');
  if (order.status !== 'ready') throw refusal('orderNotReady', 403, `The order is ${order.status}, not ready.`);
}

/** No certificate outlives its issuer, or what was asked for. Both ends are included in the validity (RFC 5280 §4.1.2.5). */
function validityOf(
  { clock, lifetimeMs }: Context,
  { profile, not_after: asked }: StoredOrder,
  { certificate }: Issuer,
): Validity {
  const lifetime = PROFILES.get(profile)!(lifetimeMs);
  const startMs = clock.nowMs() - Math.min(BACKDATE_MS, lifetime / 10);
  const endMs = Math.min(startMs + lifetime - 1000, asked ?? Number.POSITIVE_INFINITY, certificate.notAfter.getTime());
  return { startMs, endMs };
}

async function revoke(context: Context, certificate: Uint8Array, reason: number): Promise<void> {
  const { store, clock } = context;
  const row = issued(context, certificate);
  if (!row) throw refusal('malformed', 404, 'The certificate was not issued here.');
  if (!REVOCATION_REASONS.includes(reason)) {
    throw refusal('badRevocationReason', 400, `The reason must be one of ${REVOCATION_REASONS.join(', ')}.`);
  }
  await store.write(() => revokeCertificate(store, row.serial, clock.nowMs(), reason));
}

/** Undefined for certificates of other authorities. Throws an AuthorityError for an invalid certificate. */
function issued({ store, name }: Context, certificate: Uint8Array): CertificateRow | undefined {
  let serial: string;
  try {
    serial = new X509Certificate(new Uint8Array(certificate)).serialNumber.toLowerCase();
  } catch (error) {
    throw refusal('malformed', 400, `The certificate cannot be read: ${messageOf(error)}.`);
  }
  const row = findCertificate(store, name, serial);
  return row && equalBytes(row.certificate, certificate) ? row : undefined;
}

/**
 * The window begins after two thirds of the lifetime and lasts a fiftieth of it. The serial number delays it by up to
 * as much again, so that certificates of one day are not renewed in the same hour. A revoked certificate is due at
 * once.
 */
function renewalWindow({ serial, not_before, not_after, revoked_at }: CertificateRow): RenewalWindow {
  const lifetimeMs = not_after - not_before;
  const width = Math.ceil(lifetimeMs / 50);
  const share = Number.parseInt(serial.slice(0, 8), 16) / 2 ** 32;
  const startMs = revoked_at === null ? Math.floor(not_before + (lifetimeMs * 2) / 3 + share * width) : not_before;
  return {
    startMs,
    endMs: revoked_at ?? startMs + width,
    retryAfterMs: Math.max(60_000, Math.min(6 * 3_600_000, Math.floor(lifetimeMs / 20))),
  };
}
