/** The steps of an existing order: its challenges, proof of control, the CSR, and the certificate. */
import { createPrivateKey } from 'node:crypto';
import { uuidOctets } from '../../base/bytes.js';
import { planCertifiedNames } from '../../control/certificates/certified-names.js';
import { commit } from '../../control/kernel/commit.js';
import type { EventEntry } from '../../control/kernel/event.js';
import { printInstant } from '../../control/rules/instant.js';
import { schedule } from '../../jobs/schedule.js';
import { insertIssued, removeIssued } from '../../store/certs/issued.js';
import {
  challengePlaces,
  challengesOfOrder,
  type NewChallengeRow,
  type OrderUnderWay,
  type StoredChallengeRow,
  setOrderCsr,
  settleChallenges,
  submitChallenge,
} from '../../store/certs/orders.js';
import { findRequestById, type RequestRow, updateRequest } from '../../store/certs/requests.js';
import type { Store } from '../../store/driver.js';
import { CERTIFICATE_KEYS, ORDER_KEYS } from '../../store/sealed-columns.js';
import { findZone } from '../../store/zones/zones.js';
import {
  type Authority,
  type AuthorityName,
  type Authorization,
  type Challenge,
  dnsChallengeValue,
  type Order,
} from '../authority.js';
import type { AuthorityChoice } from '../authority-choice.js';
import { issuedRow } from '../certificates.js';
import { readChain } from '../chain.js';
import { createCsr, generatePrivateKey } from '../csr.js';
import { OWN_CERTIFICATE_JOB } from '../own-certificate.js';
import { placeChallenges, removeOrder, serviceContext } from './challenge-places.js';
import type { CertificateContext } from './context.js';
import { discardOrder, note, noteMeaning } from './notes.js';
import { isUnseenError, lookupError, meaningOfFailed, unseenError } from './problems.js';
import { checkDelayMs, renewalTimeMs } from './schedule.js';
import { lookForChallenge, type Sight } from './self-check.js';

/** The default wait when the authority gives none, milliseconds. */
const POLL_MS = 1_000;
/** A server of ours that lives and does not serve what it should holds an order back no longer than this, milliseconds. */
const MOST_WAIT_MS = 300_000;
/** Checks of what cannot be seen from here, before the authority is asked nevertheless. */
const UNSEEN_CHECKS = 5;

interface Step {
  readonly ctx: CertificateContext;
  readonly row: RequestRow;
  readonly order: OrderUnderWay;
  readonly choice: AuthorityChoice;
  readonly authority: Authority;
}

/**
 * Stores the challenges of an order that has none yet. They are shown before CAA is known, and nothing is proven until then.
 * Returns whether there were any to store. Throws an AuthorityError.
 */
export async function keepTokens(ctx: CertificateContext, row: RequestRow, order: OrderUnderWay): Promise<boolean> {
  if (order.url === '' || order.csr !== null || challengesOfOrder(ctx.store, order.seq).length > 0) return false;
  const authority = await ctx.authorities.of(order.authority as AuthorityName);
  const remote = await authority.order(order.url);
  if (remote.status !== 'pending') return false;
  await keepChallenges(ctx, row, order, authority, remote);
  return true;
}

/** Runs one step. Throws an AuthorityError or a ChainError when the authority refuses or fails. */
export async function continueOrder(
  ctx: CertificateContext,
  row: RequestRow,
  order: OrderUnderWay,
  choice: AuthorityChoice,
): Promise<void> {
  const authority = await ctx.authorities.of(order.authority as AuthorityName);
  const step: Step = { ctx, row, order, choice, authority };
  const challenges = challengesOfOrder(ctx.store, order.seq);
  if (challenges.length > 0 && challenges.some(isOpen)) return prove(step, challenges);
  const remote = await authority.order(order.url);
  switch (remote.status) {
    case 'pending':
      return rest(step, remote.retryAfterMs);
    case 'ready':
      return order.csr === null ? keepCsr(step) : finalize(step, remote, order.csr);
    case 'processing':
      return rest(step, remote.retryAfterMs, 'pending_issuance');
    case 'valid':
      return download(step, remote);
    case 'invalid':
      return fail(step, remote.problem);
  }
}

function isOpen({ status }: StoredChallengeRow): boolean {
  return status !== 'valid';
}

function rest({ ctx, row }: Step, waitMs: number = POLL_MS, status: string = row.status): Promise<void> {
  return note(ctx, row, { status, next_at: ctx.clock.nowMs() + waitMs });
}

async function keepChallenges(
  ctx: CertificateContext,
  row: RequestRow,
  order: OrderUnderWay,
  authority: Authority,
  { authorizations }: Order,
): Promise<void> {
  const offered: NewChallengeRow[] = [];
  for (const url of authorizations) {
    const authorization = await authority.authorization(url);
    for (const challenge of authorization.challenges) {
      if (challenge.type !== 'dns-01' && challenge.type !== 'http-01') continue;
      offered.push(challengeRow(order, authority, authorization, { ...challenge, type: challenge.type }));
    }
  }
  await placeChallenges(ctx, row, offered);
  await note(ctx, row, { status: 'pending_validation' });
}

function challengeRow(
  { seq }: OrderUnderWay,
  authority: Authority,
  { url: authorizationUrl, identifier, wildcard }: Authorization,
  { type, url, token }: Pick<Challenge, 'url' | 'token'> & { readonly type: 'dns-01' | 'http-01' },
): NewChallengeRow {
  const key = authority.keyAuthorization(token);
  const value = type === 'dns-01' ? dnsChallengeValue(key) : key;
  const about = { identifier, wildcard: wildcard ? 1 : 0, token, value };
  return { order_seq: seq, authorization_url: authorizationUrl, url, type, ...about };
}

/**
 * Checks each authorization in turn: submitted challenges are polled, the others are submitted when they are in place.
 */
async function prove(step: Step, challenges: readonly StoredChallengeRow[]): Promise<void> {
  const { ctx, row, order, authority } = step;
  const { store, clock } = ctx;
  const ageMs = clock.nowMs() - order.created_at;
  // An order of the future was made before the clock was set back.
  const isNew = ageMs >= 0 && ageMs < MOST_WAIT_MS;
  const isOutside = ctx.authorities.isOutside(order.authority as AuthorityName);
  if (isNew && isOutside && challenges.some(({ status }) => status === 'pending') && !(await isEverywhere(step))) {
    ctx.log.warn({ names: row.names }, 'a challenge is not served everywhere yet; the authority is told later');
    return rest(step);
  }
  let waitMs: number | undefined;
  const absent: Sight[] = [];
  for (const [url, offered] of byAuthorization(challenges.filter(isOpen))) {
    const submitted = offered.some(({ status }) => status === 'submitted');
    const sight = submitted ? undefined : await submitOne(step, offered);
    if (sight) {
      absent.push(sight);
      continue;
    }
    const state = await authority.authorization(url);
    if (state.status === 'valid') await store.write(() => settleChallenges(store, url));
    else if (state.status === 'pending') waitMs = Math.max(waitMs ?? 0, state.retryAfterMs ?? POLL_MS);
    else return fail(step, state.challenges.find(({ problem }) => problem)?.problem);
  }
  if (waitMs !== undefined) return rest(step, waitMs, 'pending_validation');
  // Everything is proved: the order continues with the next step.
  if (absent.length === 0) return note(ctx, row, { status: 'pending_issuance', errors: '[]' });
  await note(ctx, row, {
    status: 'pending_validation',
    failures: row.failures + 1,
    next_at: clock.nowMs() + checkDelayMs(row.failures),
    errors: errorsOf(row, absent),
  });
}

/** Any server of ours may be asked, on any node. */
function isEverywhere({ ctx, order }: Step): Promise<boolean> {
  const places = challengePlaces(ctx.store, order.seq);
  return ctx.whenEverywhere([...new Set(places.map(({ zone }) => zone))]);
}

/** Why control is not proved yet. An error of the authority stays until then. */
function errorsOf(row: RequestRow, absent: readonly Sight[]): string {
  if (absent.some(({ kind }) => kind === 'unknown')) return JSON.stringify([lookupError()]);
  const unseen = absent.find((sight) => sight.kind === 'unseen');
  if (unseen) return JSON.stringify([unseenError(unseen.reason)]);
  return row.status === 'caa_error' || isUnseenError(row.errors) ? '[]' : row.errors;
}

function byAuthorization(challenges: readonly StoredChallengeRow[]): Map<string, StoredChallengeRow[]> {
  return Map.groupBy(challenges, ({ authorization_url }) => authorization_url);
}

/**
 * Submits the first challenge that is in place, the preferred method first. Returns undefined when it did, otherwise
 * what is in the way.
 */
async function submitOne(step: Step, offered: readonly StoredChallengeRow[]): Promise<Sight | undefined> {
  const { ctx, row, choice, authority } = step;
  const { store } = ctx;
  const wanted = row.method === 'http' ? 'http-01' : 'dns-01';
  const inOrder = [...offered].sort((a, b) => Number(b.type === wanted) - Number(a.type === wanted));
  const sights: Sight[] = [];
  for (const challenge of inOrder) {
    if (!isPermitted(choice, challenge)) continue;
    const sight = await lookForChallenge(ctx, challenge);
    const isWanted = challenge.type === wanted;
    if (isWanted || sight.kind === 'unknown') sights.push(sight);
    if (sight.kind !== 'in place' && !(isWanted && sight.kind === 'unseen' && leavesItToAuthority(step))) continue;
    // A challenge that was submitted just before this process ended is not submitted again.
    const { status, challenges } = await authority.authorization(challenge.authorization_url);
    const untold = status === 'pending' && challenges.every((other) => other.status === 'pending');
    if (untold) await authority.respond(challenge.url);
    await store.write(() => submitChallenge(store, challenge.seq));
    return undefined;
  }
  return sights.find(({ kind }) => kind === 'unknown') ?? sights[0] ?? { kind: 'missing' };
}

/**
 * An authority outside may see what we cannot, for example where this machine reaches the Internet only through a proxy.
 * It is asked after some checks, because its failures count against us.
 */
function leavesItToAuthority({ ctx, row, order }: Step): boolean {
  return row.failures >= UNSEEN_CHECKS && ctx.authorities.isOutside(order.authority as AuthorityName);
}

/** CAA records may permit only some methods (RFC 8657 §4). */
function isPermitted(choice: AuthorityChoice, { type, identifier, wildcard }: StoredChallengeRow): boolean {
  const name = wildcard === 1 ? `*.${identifier}` : identifier;
  return choice.kind === 'use' && (choice.decision.methods.get(name)?.includes(type) ?? false);
}

/** The CSR is stored before it is sent, so that the resulting certificate finds its key. */
async function keepCsr({ ctx, row, order }: Step): Promise<void> {
  const { store, vault } = ctx;
  const key = await generatePrivateKey();
  const csr = await createCsr(key, JSON.parse(row.names));
  const plain = new Uint8Array(key.export({ format: 'der', type: 'pkcs8' }));
  await store.write(() => setOrderCsr(store, order.seq, vault.seal(ORDER_KEYS, order.id, plain), csr));
  plain.fill(0);
}

async function finalize(step: Step, remote: Order, csr: Uint8Array): Promise<void> {
  const { status, retryAfterMs } = await step.authority.finalize(remote, new Uint8Array(csr));
  const waitMs = status === 'valid' ? 0 : (retryAfterMs ?? POLL_MS);
  await rest(step, waitMs, 'pending_issuance');
}

/** The chain is checked before it is stored. From then on it is the newest, and edges read it (../deployment.ts). */
async function download(step: Step, { certificateUrl }: Order): Promise<void> {
  const { ctx, row, order, authority } = step;
  const { store, vault, clock, random } = ctx;
  // Another client finished the order, so its key is not available here.
  if (order.private_key === null || certificateUrl === undefined) return discardOrder(ctx, row, order, {});
  const pem = await authority.certificate(certificateUrl);
  const plain = vault.open(ORDER_KEYS, order.id, new Uint8Array(order.private_key));
  const key = createPrivateKey({ key: Buffer.from(plain), format: 'der', type: 'pkcs8' });
  const chain = readChain(pem, { key, names: JSON.parse(row.names), nowMs: clock.nowMs() });
  const renewAt = renewalTimeMs(chain.notBeforeMs, chain.notAfterMs, random);
  const id = random.uuid();
  const nowMs = clock.nowMs();
  await commit(serviceContext(ctx), (draft) => {
    removeOrder(store, draft, order);
    if (findRequestById(store, row.id)?.version !== row.version) return;
    removeIssued(store, row.seq);
    const private_key = vault.seal(CERTIFICATE_KEYS, id, plain);
    const about = { ...issuedRow(row, chain), names: row.names };
    insertIssued(store, { ...about, id, private_key, authority: order.authority, uploaded: 0, renewal: row.renewal });
    draft.event(issuedEvent(store, row, order.authority, chain.notAfterMs));
    const settled = { status: 'active', renewal: 0, errors: '[]', refused: '[]', failures: 0 };
    updateRequest(store, row.seq, { ...settled, chosen: order.authority, renew_at: renewAt, next_at: clock.nowMs() });
    if (row.owner_kind === 'zone') planCertifiedNames(ctx, row.zone);
    // The listeners of the service take it at once.
    if (row.owner_kind === 'service')
      schedule(store, { kind: OWN_CERTIFICATE_JOB, subject: '', runAtMs: nowMs }, nowMs);
  });
  plain.fill(0);
}

function issuedEvent(store: Store, row: RequestRow, authority: string, notAfterMs: number): EventEntry {
  const { id, zone, names, renewal } = row;
  const hosts = JSON.parse(names) as string[];
  const after = {
    hosts,
    certificate_authority: authority,
    expires_on: printInstant(notAfterMs * 1000),
    renewal: renewal === 1,
  };
  return { kind: 'certificate.issue', zone: findZone(store, zone), id: uuidOctets(id), name: hosts.join(', '), after };
}

/** The order cannot be completed. */
function fail({ ctx, row, order }: Step, problem: Order['problem']): Promise<void> {
  const known = problem ?? { type: 'unexpectedAnswer', detail: 'The order failed.', status: 0, subproblems: [] };
  ctx.log.warn({ problem: known, names: row.names, authority: order.authority }, 'an order has failed');
  return noteMeaning(ctx, row, order, meaningOfFailed(known));
}
